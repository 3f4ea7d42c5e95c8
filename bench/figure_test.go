package main

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSeries_median(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values series
		want   float64
	}{
		{series{3}, 3},
		{series{9, 1, 4}, 4},
		{series{4, 1, 3, 2}, 2.5},
	} {
		if got := test.values.median(); got != test.want {
			t.Errorf("median of %v is %v, want %v", []float64(test.values), got, test.want)
		}
	}
	if !math.IsNaN((series{}).median()) {
		t.Error("the median of nothing is a number")
	}
}

func TestSeries_medianLiesBetweenTheEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := series(rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 20).Draw(t, "values"))
		before := append(series(nil), s...)
		least, greatest := s.ends()
		m := s.median()
		if m < least || m > greatest {
			t.Fatalf("median %v of %v", m, []float64(s))
		}
		below, above := 0, 0
		for i, v := range s {
			if v != before[i] {
				t.Fatal("the turns were reordered")
			}
			if v <= m {
				below++
			}
			if v >= m {
				above++
			}
		}
		if 2*below < len(s) || 2*above < len(s) {
			t.Fatalf("median %v of %v does not halve it", m, []float64(s))
		}
	})
}

func TestUnit_aheadIsAboveOneWhereRaglabIsBetter(t *testing.T) {
	t.Parallel()
	if got := perSecond("docs").ahead(300, 100); got != 3 {
		t.Errorf("three times the rate is a ratio of %v", got)
	}
	if got := seconds.ahead(2, 6); got != 3 {
		t.Errorf("a third of the time is a ratio of %v", got)
	}
	if got := megabytes.ahead(6, 2); math.Abs(got-1.0/3) > 1e-15 {
		t.Errorf("three times the size is a ratio of %v", got)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value float64
		want  string
	}{
		{1234567.8, "1,234,568"},
		{-1234, "-1,234"},
		{999.6, "1000"},
		{123.45, "123"},
		{12.345, "12.3"},
		{1.2345, "1.23"},
		{0.012345, "0.0123"},
		{math.NaN(), "–"},
		{math.Inf(1), "∞"},
	} {
		if got := show(test.value); got != test.want {
			t.Errorf("%v is shown as %q, want %q", test.value, got, test.want)
		}
	}
	if got := (series{2, 1, 4}).String(); got != "2.00 (1.00–4.00)" {
		t.Errorf("a series is shown as %q", got)
	}
}

func TestGoal_verdict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		goal goal
		got  figures
		text string
		want string
	}{
		{goal{}, figures{raglab: series{1}}, "", ""},
		{under(0.05, seconds), figures{raglab: series{0.04, 9, 0.03}}, "< 0.05 s", "holds"},
		{under(0.05, seconds), figures{raglab: series{0.05}}, "< 0.05 s", "missed"},
		{reach(1e6, perSecond("tokens")), figures{raglab: series{1e6}}, "≥ 1,000,000 tokens/s", "holds"},
		{reach(1e6, perSecond("tokens")), figures{raglab: series{9e5}}, "≥ 1,000,000 tokens/s", "missed"},
		{ahead(3), figures{raglab: series{1}, ratio: series{2.9}}, "ratio ≥ 3", "missed"},
		{ahead(3), figures{raglab: series{1}, ratio: series{3.1}}, "ratio ≥ 3", "holds"},
		{ahead(3), figures{raglab: series{1}}, "ratio ≥ 3", ""}, // the peer did not run
	} {
		if test.goal.text != test.text {
			t.Errorf("the goal reads %q, want %q", test.goal.text, test.text)
		}
		if got := test.goal.verdict(test.got); got != test.want {
			t.Errorf("%s with %+v: %q, want %q", test.text, test.got, got, test.want)
		}
	}
}
