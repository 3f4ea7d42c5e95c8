package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
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

// The best of ten equal systems against the worst of them must not be called
// different more often than two of them.
func TestRange_levelIsKeptForPickedExtremes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 1))
	const trials = 500
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	rejected, naive := 0, 0
	for trial := range trials {
		systems := make([][]float64, len(all))
		for s := range systems {
			for range 30 {
				systems[s] = append(systems[s], rng.NormFloat64())
			}
		}
		signs := stats.NewRandomisation(systems, 199, uint64(trial))
		if signs.Range(all) <= 0.05 {
			rejected++
		}
		best, worst := extremes(systems)
		if signs.P(best, worst) <= 0.05 {
			naive++
		}
	}
	if rejected > 42 || rejected < 10 || naive < 150 { // 3.5 standard deviations about 25
		t.Errorf("rejected %d of %d, and %d when the extremes are tested as if not picked", rejected, trials, naive)
	}
}

func extremes(systems [][]float64) (best, worst int) {
	for s := range systems {
		if stats.Mean(systems[s]) > stats.Mean(systems[best]) {
			best = s
		}
		if stats.Mean(systems[s]) < stats.Mean(systems[worst]) {
			worst = s
		}
	}
	return best, worst
}

// The sampled p must be near the exact one, which is taken below 20 questions.
func TestRandomisation_sampledIsNearExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 1))
	systems := make([][]float64, 3)
	for s := range systems {
		for range 19 {
			systems[s] = append(systems[s], rng.NormFloat64()+0.4*float64(s))
		}
	}
	all := []int{0, 1, 2}
	exact := stats.NewRandomisation(systems, 10, 1).Range(all)
	// A twentieth question that differs by nothing to speak of takes the exact way away.
	for s := range systems {
		systems[s] = append(systems[s], 1e-9*float64(s))
	}
	sampled := stats.NewRandomisation(systems, 40_000, 1).Range(all)
	if exact == sampled || math.Abs(exact-sampled) > 0.01 || exact > 0.9 {
		t.Errorf("exact %v, sampled %v", exact, sampled)
	}
	if a, b := stats.NewRandomisation(systems, 500, 1).Range([]int{0, 2}), stats.NewRandomisation(systems, 500, 1).P(2, 0); a != b {
		t.Errorf("the range of two is %v, their difference %v", a, b)
	}
}

// What one core makes is what many make, and what was made when this was written.
func TestResampling_coresChangeNothing(t *testing.T) {
	systems := made(5, 203)
	want := stats.Compare(systems, stats.DefaultOptions())
	before := runtime.GOMAXPROCS(1)
	one := stats.Compare(systems, stats.DefaultOptions())
	runtime.GOMAXPROCS(5)
	five := stats.Compare(systems, stats.DefaultOptions())
	runtime.GOMAXPROCS(before)
	if !slices.Equal(want, one) || !slices.Equal(want, five) {
		t.Errorf("the result depends on the number of cores:\n%+v\n%+v\n%+v", want, one, five)
	}
	if got := fmt.Sprint(want[3].Low, want[3].High, want[3].P); got != "-0.05828999987488979 0.0348352310665914 0.6311368863113689" {
		t.Errorf("the draws are not those of old: %s", got)
	}
}

// The order of the questions decides which are drawn together, and nothing else.
func TestCompare_orderOfQuestionsIsNoise(t *testing.T) {
	t.Parallel()
	systems := made(2, 200)
	o := stats.DefaultOptions()
	there := stats.Compare(systems, o)[0]
	for s := range systems {
		slices.Reverse(systems[s])
	}
	back := stats.Compare(systems, o)[0]
	near(t, "difference", back.Difference, there.Difference, 1e-15)
	near(t, "Wilcoxon", back.Wilcoxon, there.Wilcoxon, 1e-12)
	near(t, "p", back.P, there.P, 0.03)
	near(t, "low", back.Low, there.Low, 0.003)
	near(t, "high", back.High, there.High, 0.003)
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

// sizes are those that reports must be quick at: 10,000 resamples, all pairs.
var sizes = []struct{ systems, questions int }{{12, 10_000}, {180, 500}}

func benchmarkPairs(b *testing.B, run func(systems [][]float64) func(i, j int)) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dx%d", size.systems, size.questions), func(b *testing.B) {
			systems := made(size.systems, size.questions)
			for b.Loop() {
				pair := run(systems)
				for i := range systems {
					for j := range i {
						pair(i, j)
					}
				}
			}
		})
	}
}

func BenchmarkBootstrap(b *testing.B) {
	benchmarkPairs(b, func(systems [][]float64) func(i, j int) {
		boot := stats.NewBootstrap(systems, 10_000, 1)
		for i := range systems {
			boot.Mean(i, 0.95)
		}
		return func(i, j int) { boot.Difference(i, j, 0.95) }
	})
}

func BenchmarkRandomisation(b *testing.B) {
	benchmarkPairs(b, func(systems [][]float64) func(i, j int) {
		signs := stats.NewRandomisation(systems, 10_000, 1)
		return func(i, j int) { signs.P(i, j) }
	})
}

func BenchmarkCompare(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dx%d", size.systems, size.questions), func(b *testing.B) {
			systems := made(size.systems, size.questions)
			for b.Loop() {
				stats.Compare(systems, stats.DefaultOptions())
			}
		})
	}
}
