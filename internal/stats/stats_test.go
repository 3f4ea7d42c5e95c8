package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/stats"
)

// peers is what bench/metrics_fixtures.py writes with numpy and scipy.
type peers struct {
	Few                []float64
	Many               []float64
	ExactPFew          float64   `json:"exact_p_few"`
	PMany              float64   `json:"p_many"`
	Mean               float64   `json:"mean_many"`
	Deviation          float64   `json:"deviation_many"`
	Bootstrap          []float64 `json:"bootstrap_many"`
	Percents           []float64
	NearestRank        []float64 `json:"nearest_rank_many"`
	Linear             []float64 `json:"linear_many"`
	SmallestDetectable float64   `json:"smallest_detectable_many"`
	Nineteen           []float64
	ExactPNineteen     float64 `json:"exact_p_nineteen"`
	Wilcoxon           []struct {
		Diffs []float64
		P     float64
	}
}

func readPeers(t *testing.T) peers {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p peers
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Many) == 0 || len(p.Few) == 0 {
		t.Fatal("no values")
	}
	return p
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestPeers_descriptive(t *testing.T) {
	t.Parallel()
	p := readPeers(t)
	near(t, "mean", stats.Mean(p.Many), p.Mean, 0)
	near(t, "deviation", stats.Deviation(p.Many), p.Deviation, 1e-15)
	near(t, "smallest detectable", stats.SmallestDetectable(p.Many, 0.05, 0.8), p.SmallestDetectable, 1e-12)
	sorted := slices.Sorted(slices.Values(p.Many))
	ranks := stats.NearestRanks(p.Many, p.Percents...)
	for i, percent := range p.Percents {
		near(t, "nearest rank", ranks[i], p.NearestRank[i], 0)
		near(t, "linear", stats.Quantile(sorted, percent/100), p.Linear[i], 1e-12)
	}
}

// against pairs the values with a system that has 0 everywhere.
func against(values []float64) [][]float64 {
	return [][]float64{values, make([]float64, len(values))}
}

func TestPeers_resampling(t *testing.T) {
	t.Parallel()
	p := readPeers(t)
	near(t, "exact p", stats.NewRandomisation(against(p.Few), 1000, 1).P(0, 1), p.ExactPFew, 1e-15)
	near(t, "exact p of 19", stats.NewRandomisation(against(p.Nineteen), 1000, 1).P(0, 1), p.ExactPNineteen, 1e-15)
	near(t, "p", stats.NewRandomisation(against(p.Many), 50_000, 1).P(0, 1), p.PMany, 0.003)
	low, high := stats.NewBootstrap(against(p.Many), 50_000, 1).Difference(0, 1, 0.95)
	near(t, "low", low, p.Bootstrap[0], 0.002)
	near(t, "high", high, p.Bootstrap[1], 0.002)
}

// The cases have ties and zeros or not, in sizes for the exact and the normal value.
func TestPeers_wilcoxon(t *testing.T) {
	t.Parallel()
	cases := readPeers(t).Wilcoxon
	if len(cases) < 15 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		near(t, fmt.Sprintf("p of %d differences", len(c.Diffs)), stats.Wilcoxon(c.Diffs, 1e-12), c.P, 1e-12)
	}
}

func TestWilcoxon_properties(t *testing.T) {
	t.Parallel()
	if p := stats.Wilcoxon([]float64{0, 1e-15}, 1e-12); !math.IsNaN(p) {
		t.Errorf("nothing differs: %v", p)
	}
	rapid.Check(t, func(t *rapid.T) {
		diffs := rapid.SliceOfN(rapid.SampledFrom([]float64{-1, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1}), 1, 60).Draw(t, "differences")
		p := stats.Wilcoxon(diffs, 1e-12)
		mirrored := make([]float64, len(diffs))
		for i, d := range diffs {
			mirrored[len(diffs)-1-i] = -d
		}
		if q := stats.Wilcoxon(mirrored, 1e-12); q != p && !(math.IsNaN(p) && math.IsNaN(q)) {
			t.Fatalf("%v, turned round %v", p, q)
		}
		if p <= 0 || p > 1 {
			t.Fatal(p)
		}
	})
}

func TestDecisive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		diffs []float64
		want  []int
	}{
		{[]float64{1, 0, 0}, []int{0}},
		{[]float64{0.5, 0.5}, nil},
		{[]float64{0, 0}, nil},
		{[]float64{1, -0.5, -0.25}, []int{0}},
		{[]float64{-1, 0.9, -0.2, 0}, []int{0}},
		{[]float64{0.3, 0.3, -0.5}, []int{0, 1}},
		{[]float64{0.1, 0.2, -0.3}, nil},
	} {
		if got := stats.Decisive(c.diffs, 1e-12); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.diffs, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		diffs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 20).Draw(t, "differences")
		sum := stats.Sum(diffs)
		for _, i := range stats.Decisive(diffs, 1e-12) {
			if rest := stats.Sum(slices.Delete(slices.Clone(diffs), i, i+1)); math.Abs(rest) > 1e-9 && rest*sum > 0 {
				t.Fatalf("without %v of %v: %v", diffs[i], diffs, rest)
			}
		}
	})
}

func TestSum_losesNoDigits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0},
		{[]float64{1, 1e100, 1, -1e100}, 2},
		{slices.Repeat([]float64{0.1}, 10), 1},
		{[]float64{math.Inf(1), 1}, math.Inf(1)},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.Inf(1)},
	} {
		if got := stats.Sum(c.xs); got != c.want {
			t.Errorf("sum of %v: got %v, want %v", c.xs, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "values")
		exact := new(big.Float).SetPrec(2000)
		for _, x := range xs {
			exact.Add(exact, big.NewFloat(x))
		}
		want, _ := exact.Float64()
		if got := stats.Sum(xs); math.Abs(got-want) > want*0x1p-52 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestMean_ofNothingIsNotANumber(t *testing.T) {
	t.Parallel()
	for what, got := range map[string]float64{
		"mean": stats.Mean(nil), "deviation of one": stats.Deviation([]float64{1}),
		"nearest rank": stats.NearestRank(nil, 50), "quantile": stats.Quantile(nil, 0.5),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func TestNearestRank(t *testing.T) {
	t.Parallel()
	values := []float64{50, 15, 40, 20, 35}
	for percent, want := range map[float64]float64{5: 15, 20: 15, 30: 20, 40: 20, 50: 35, 95: 50, 100: 50} {
		if got := stats.NearestRank(values, percent); got != want {
			t.Errorf("%v %%: got %v, want %v", percent, got, want)
		}
	}
	if values[0] != 50 {
		t.Error("the argument was sorted")
	}
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, percent := range []float64{7, 14, 28, 55, 56, 57, 95, 99, 99.9} { // some are not exact in binary
		if got := stats.NearestRank(hundred, percent); got != math.Ceil(percent) {
			t.Errorf("%v %% of 1 to 100: got %v", percent, got)
		}
	}
}

func TestNearestRank_isTheSmallestValueThatCoversTheShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 60).Draw(t, "values")
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		got := stats.NearestRank(values, float64(percent))
		atMost, below := 0, 0
		for _, v := range values {
			if v <= got {
				atMost++
			}
			if v < got {
				below++
			}
		}
		if atMost*100 < percent*len(values) || below*100 >= percent*len(values) {
			t.Fatalf("%v: %d of %d are no larger, %d smaller", got, atMost, len(values), below)
		}
	})
}

func TestHolm(t *testing.T) {
	t.Parallel()
	// Ordered .005 .01 .03 .04, times 4 3 2 1, never falling.
	got := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "adjusted", got[i], want, 1e-15)
	}
	if got := stats.Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		adjusted := stats.Holm(ps)
		for i := range ps {
			if adjusted[i] < ps[i] || adjusted[i] > 1 || adjusted[i] > min(1, ps[i]*float64(len(ps)))+1e-15 {
				t.Fatalf("%v became %v among %v", ps[i], adjusted[i], ps)
			}
			for j := range ps {
				if ps[i] < ps[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("the order of %v and %v is lost", ps[i], ps[j])
				}
			}
		}
	})
}
