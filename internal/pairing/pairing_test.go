package pairing

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/report"
)

func row(key string, options map[string]string, values map[string]float64) report.Configuration {
	c := report.Configuration{Key: key, Options: options, PerQuestion: map[string]map[string]*float64{}}
	for _, f := range slices.Sorted(maps.Keys(options)) {
		c.Name += options[f] + " "
	}
	for id, v := range values {
		c.PerQuestion[id] = map[string]*float64{"ndcg@10": &v}
	}
	return c
}

func results(factors []string, rows ...report.Configuration) *report.Report {
	r := &report.Report{Primary: "ndcg@10", Metrics: []string{"ndcg@10"}, Configurations: rows}
	for _, f := range factors {
		r.Factors = append(r.Factors, report.Factor{Name: f})
	}
	return r
}

func TestMatch_byOptions(t *testing.T) {
	t.Parallel()
	old := results([]string{"a", "b"},
		row("1", map[string]string{"a": "x", "b": "1"}, nil),
		row("2", map[string]string{"a": "y", "b": "1"}, nil),
		row("3", map[string]string{"a": "gone", "b": "1"}, nil))
	// The order is another, a factor is new and the same for all rows.
	new := results([]string{"a", "b", "c"},
		row("5", map[string]string{"a": "y", "b": "1", "c": "k"}, nil),
		row("4", map[string]string{"a": "x", "b": "1", "c": "k"}, nil),
		row("6", map[string]string{"a": "come", "b": "1", "c": "k"}, nil))
	m := Match(old, new)
	if len(m.Pairs) != 2 || m.Pairs[0].Old.Key != "2" || m.Pairs[0].New.Key != "5" || m.Pairs[1].Old.Key != "1" {
		t.Errorf("pairs %+v", m.Pairs)
	}
	if len(m.OnlyOld) != 1 || m.OnlyOld[0].Key != "3" || len(m.OnlyNew) != 1 || m.OnlyNew[0].Key != "6" || m.Ambiguous {
		t.Errorf("only old %v, only new %v, ambiguous %v", m.OnlyOld, m.OnlyNew, m.Ambiguous)
	}
}

func TestMatch_axisThatOneSideLacks(t *testing.T) {
	t.Parallel()
	old := results([]string{"a"}, row("1", map[string]string{"a": "x"}, nil))
	new := results([]string{"a", "depth"}, row("2", map[string]string{"a": "x", "depth": "5"}, nil), row("3", map[string]string{"a": "x", "depth": "9"}, nil))
	m := Match(old, new)
	if len(m.Pairs) != 0 || !m.Ambiguous || len(m.OnlyNew) != 2 || len(m.OnlyOld) != 1 {
		t.Errorf("got %+v", m)
	}
}

func many(n int, value func(i int) float64) map[string]float64 {
	values := map[string]float64{}
	for i := range n {
		values[fmt.Sprintf("q%03d", i)] = value(i)
	}
	return values
}

func one(old, new map[string]float64) Comparison {
	a, b := row("a", nil, old), row("b", nil, new)
	return Compare([]Pair{{&a, &b}}, "ndcg@10")[0]
}

func TestCompare_byHand(t *testing.T) {
	t.Parallel()
	c := one(map[string]float64{"a": 1, "b": 0.5, "c": 0, "gone": 1}, map[string]float64{"a": 0, "b": 0.75, "c": 0, "come": 0})
	if c.Questions != 3 || math.Abs(c.Old-0.5) > 1e-15 || math.Abs(c.New-0.25) > 1e-15 || math.Abs(c.Difference+0.25) > 1e-15 {
		t.Errorf("got %+v", c)
	}
	if c.Wins != 1 || c.Ties != 1 || c.Losses != 1 || len(c.Changes) != 2 || c.Changes[0] != (Change{"a", 1, 0}) {
		t.Errorf("got %+v", c)
	}
	// Two questions differ, by -1 and 0.25: with any signs the sum is at least as far
	// from 0.
	if c.P != 1 || c.Tell || c.Verdict != report.Level {
		t.Errorf("p %v, %v, %s", c.P, c.Tell, c.Verdict)
	}
	if c := one(map[string]float64{"a": 1}, map[string]float64{"a": 0}); c.Verdict != report.NotTested || c.Tell {
		t.Errorf("one question is tested: %+v", c)
	}
}

func TestCompare_clearDropIsTold(t *testing.T) {
	t.Parallel()
	c := one(many(60, func(int) float64 { return 0.9 }), many(60, func(i int) float64 { return 0.9 - 0.3*float64(i%2) }))
	if !c.Tell || c.Verdict != report.Separated || c.High >= 0 || c.P > 0.001 {
		t.Errorf("got %+v", c)
	}
}

// The correction is over the rows that changed, each measurement once.
func TestCompare_family(t *testing.T) {
	t.Parallel()
	// Six questions lose: p = 2/64 alone.
	old, lost := many(40, func(int) float64 { return 1 }), many(40, func(i int) float64 { return min(1, float64(i/6)) })
	pair := func(was, is string, new map[string]float64) Pair {
		a, b := row(was, nil, old), row(is, nil, new)
		return Pair{&a, &b}
	}
	for name, tc := range map[string]struct {
		pairs  []Pair
		family int
		tell   bool
	}{
		"alone":                   {[]Pair{pair("a", "b", lost)}, 1, true},
		"beside what is equal":    {[]Pair{pair("a", "b", lost), pair("c", "c", old), pair("d", "e", old)}, 1, true},
		"beside its own double":   {[]Pair{pair("a", "b", lost), pair("a", "b", lost)}, 1, true},
		"beside another that did": {[]Pair{pair("a", "b", lost), pair("c", "d", lost)}, 2, false},
		"keys that nobody knows":  {[]Pair{pair("", "", lost), pair("", "", lost)}, 2, false},
	} {
		got := Compare(tc.pairs, "ndcg@10")
		if c := got[0]; c.Family != tc.family || c.Tell != tc.tell {
			t.Errorf("%s: family %d, tell %v, p %v", name, c.Family, c.Tell, c.P)
		}
		for _, c := range got {
			if len(c.Changes) == 0 && (c.P != 1 || c.Low != 0 || c.High != 0 || c.Verdict != report.Level) {
				t.Errorf("%s: a row that did not change: %+v", name, c)
			}
		}
		if double := got[len(got)-1]; name == "beside its own double" && (double.P != got[0].P || double.Low != got[0].Low) {
			t.Errorf("the double has p %v, %v", double.P, got[0].P)
		}
	}
}

// Turning old and new around turns the signs, whatever the questions are.
func TestCompare_turnedAround(t *testing.T) {
	t.Parallel()
	values := rapid.MapOf(rapid.StringMatching(`q[0-9]{1,2}`), rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "old"), values.Draw(t, "new")
		x, y := one(a, b), one(b, a)
		if x.Questions != y.Questions || x.Wins != y.Losses || x.Ties != y.Ties || math.Abs(x.Difference+y.Difference) > 1e-12 || x.Tell != y.Tell {
			t.Fatalf("%+v\n%+v", x, y)
		}
		if x.Wins+x.Ties+x.Losses != x.Questions || len(x.Won())+len(x.Lost()) != len(x.Changes) {
			t.Fatalf("counts do not add up: %+v", x)
		}
	})
}

func TestQuestionsOf(t *testing.T) {
	t.Parallel()
	old := results(nil, row("1", nil, map[string]float64{"a": 1, "b": 0}), row("2", nil, map[string]float64{"c": 1}))
	new := results(nil, row("1", nil, map[string]float64{"b": 1, "d": 0}))
	new.Configurations[0].PerQuestion["e"] = map[string]*float64{"ndcg@10": nil} // left out of the means
	q := QuestionsOf(old, new, "ndcg@10")
	if q.Old != 3 || q.New != 2 || q.Both != 1 || q.Same() || !slices.Equal(q.OnlyOld, []string{"a", "c"}) || !slices.Equal(q.OnlyNew, []string{"d"}) {
		t.Errorf("got %+v", q)
	}
}

// 180 rows of 500 questions, the largest that a gate is meant for.
func BenchmarkCompare(b *testing.B) {
	pairs := make([]Pair, 180)
	for i := range pairs {
		old := row(fmt.Sprint("a", i), nil, many(500, func(q int) float64 { return float64((q*7+i)%10) / 10 }))
		new := row(fmt.Sprint("b", i), nil, many(500, func(q int) float64 { return float64((q*7+i+q%3)%10) / 10 }))
		pairs[i] = Pair{&old, &new}
	}
	for b.Loop() {
		Compare(pairs, "ndcg@10")
	}
}
