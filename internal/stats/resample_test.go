package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/stats"
	"raglab/internal/testdata"
)

func made(systems, questions int) [][]float64 {
	rng := rand.New(rand.NewPCG(3, 9))
	out := make([][]float64, systems)
	for s := range out {
		out[s] = make([]float64, questions)
	}
	for q := range questions {
		hard := rng.Float64()
		for s := range out {
			out[s][q] = min(1, max(0, hard+0.3*rng.NormFloat64()+0.01*float64(s)))
		}
	}
	return out
}

func drawSystems(t *rapid.T) [][]float64 {
	n := rapid.IntRange(1, 40).Draw(t, "questions")
	row := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n)
	return rapid.SliceOfN(row, 2, 4).Draw(t, "systems")
}

func TestCompare_properties(t *testing.T) {
	t.Parallel()
	o := stats.Options{Resamples: 200, Permutations: 199, Seed: 5, Level: 0.95, Power: 0.8, Equal: 1e-12}
	rapid.Check(t, func(t *rapid.T) {
		systems := drawSystems(t)
		got := stats.Compare(systems, o)
		if want := len(systems) * (len(systems) - 1) / 2; len(got) != want {
			t.Fatalf("%d comparisons of %d systems", len(got), len(systems))
		}
		for i, c := range got {
			if c.Low > c.High || c.P <= 0 || c.P > 1 || c.Adjusted < c.P || c.Adjusted > 1 || c.Wins+c.Ties+c.Losses != len(systems[0]) {
				t.Fatalf("%+v", c)
			}
			swapped := stats.Compare([][]float64{systems[c.B], systems[c.A]}, o)[0]
			if swapped.P != got[i].P || swapped.Wins != c.Losses || math.Abs(swapped.Low+c.High) > 1e-12 {
				t.Fatalf("%+v, and the other way round %+v", c, swapped)
			}
		}
	})
}

func TestCompare_equalSystemsDoNotDiffer(t *testing.T) {
	t.Parallel()
	row := made(1, 300)[0]
	c := stats.Compare([][]float64{row, row}, stats.DefaultOptions())[0]
	if c.P != 1 || c.Low != 0 || c.High != 0 || c.Difference != 0 || c.Ties != 300 || c.Detectable != 0 {
		t.Errorf("%+v", c)
	}
}

func TestCompare_clearDifferenceIsFound(t *testing.T) {
	t.Parallel()
	systems := made(2, 300)
	for i := range systems[0] {
		systems[0][i] += 0.2
	}
	c := stats.Compare(systems, stats.DefaultOptions())[0]
	if c.P != 1.0/10_001 || c.Low <= 0 || c.Difference < c.Detectable {
		t.Errorf("%+v", c)
	}
}

func TestCompare_questionNotMeasuredIsLeftOut(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	c := stats.Compare([][]float64{{1, nan, 0.5, 0.25}, {0.5, 1, 0.25, nan}}, stats.DefaultOptions())[0]
	if c.Questions != 2 || c.Wins != 2 || c.Difference != 0.375 {
		t.Errorf("%+v", c)
	}
	if got := stats.Compare([][]float64{{nan}, {1}}, stats.DefaultOptions()); got != nil {
		t.Errorf("nothing in common: %+v", got)
	}
}

// With one question that differs, half of the arrangements look like the one
// seen and half are its mirror image: all are as large.
func TestRandomisation_exactForFewDifferences(t *testing.T) {
	t.Parallel()
	for diffs, want := range map[[3]float64]float64{
		{0, 0, 0}: 1, {0.5, 0, 0}: 1, {0.5, 0.5, 0}: 0.5, {0.1, 0.2, 0.3}: 0.25, {0.3, -0.1, 0.1}: 0.75,
	} {
		if got := stats.NewRandomisation(against(diffs[:]), 10_000, 1).P(0, 1); got != want {
			t.Errorf("%v: got %v, want %v", diffs, got, want)
		}
	}
}

func TestResampling_seedDecides(t *testing.T) {
	t.Parallel()
	systems := made(3, 100)
	o := stats.DefaultOptions()
	first, again := stats.Compare(systems, o), stats.Compare(systems, o)
	o.Seed = 2
	other := stats.Compare(systems, o)
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("the same seed: %+v, then %+v", first[i], again[i])
		}
		if first[i].Low == other[i].Low {
			t.Errorf("another seed changes nothing: %+v", other[i])
		}
	}
}

// Under the hypothesis that two systems are equal, p below 0.05 must come up in
// about 5 of 100 cases.
func TestRandomisation_levelIsKept(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	const trials = 1000
	rejected := 0
	for trial := range trials {
		diffs := make([]float64, 40)
		for i := range diffs {
			diffs[i] = rng.NormFloat64()
		}
		if stats.NewRandomisation(against(diffs), 199, uint64(trial)).P(0, 1) <= 0.05 {
			rejected++
		}
	}
	if rejected < 30 || rejected > 75 { // 3.5 standard deviations
		t.Errorf("rejected %d of %d", rejected, trials)
	}
}

// The intervals that numpy's generator gives for the twelve configurations of
// turkish-rag-eval, with as many resamples.
func TestBootstrap_publishedIntervals(t *testing.T) {
	t.Parallel()
	var published struct {
		Intervals map[string]struct {
			Mean float64
			CI   [2]float64 `json:"ci95"`
		}
	}
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/derived/bootstrap-ndcg10.json"), &published)
	if len(published.Intervals) != 12 {
		t.Fatalf("%d configurations", len(published.Intervals))
	}
	for config, want := range published.Intervals {
		values := ndcg10(t, config)
		low, high := stats.NewBootstrap([][]float64{values}, 10_000, 1).Mean(0, 0.95)
		near(t, config+" mean", stats.Mean(values), want.Mean, 1e-12)
		near(t, config+" low", low, want.CI[0], 0.006)
		near(t, config+" high", high, want.CI[1], 0.006)
	}
}

func ndcg10(t *testing.T, config string) []float64 {
	t.Helper()
	var questions []struct {
		TotalRelevant int `json:"total_relevant"`
		Relevance     []bool
	}
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/results/perquery_"+config+".json"), &questions)
	values := make([]float64, len(questions))
	for i, q := range questions {
		var gain, ideal float64
		for rank, relevant := range q.Relevance {
			if relevant {
				gain += 1 / math.Log2(float64(rank+2))
			}
			if rank < q.TotalRelevant {
				ideal += 1 / math.Log2(float64(rank+2))
			}
		}
		values[i] = gain / ideal
	}
	return values
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// All pairs of 12 systems over 10,000 questions, 1,000 resamples.
func BenchmarkBootstrap(b *testing.B) {
	systems := made(12, 10_000)
	for b.Loop() {
		boot := stats.NewBootstrap(systems, 1000, 1)
		for i := range systems {
			for j := range i {
				boot.Difference(i, j, 0.95)
			}
		}
	}
}

func BenchmarkRandomisation(b *testing.B) {
	systems := made(12, 10_000)
	for b.Loop() {
		signs := stats.NewRandomisation(systems, 1000, 1)
		for i := range systems {
			for j := range i {
				signs.P(i, j)
			}
		}
	}
}
