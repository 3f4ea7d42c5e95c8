package report

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/internal/stats"
)

// randomSystems are values of some systems for the same questions.
func randomSystems(n, questions int) [][]float64 {
	rng := rand.New(rand.NewPCG(5, 5))
	systems := make([][]float64, n)
	for i := range systems {
		for range questions {
			systems[i] = append(systems[i], rng.Float64())
		}
	}
	return systems
}

func TestMemory_secondReportComparesNothingAnew(t *testing.T) {
	t.Parallel()
	systems := randomSystems(4, 30)
	first := ParseMemory(nil)
	want := first.againstFirst(systems)
	kept := first.Encode()
	if kept == nil {
		t.Fatal("nothing to keep")
	}
	second := ParseMemory(kept)
	if diff := cmp.Diff(want, second.againstFirst(systems)); diff != "" {
		t.Errorf("remembered otherwise (-first +second):\n%s", diff)
	}
	if second.Encode() != nil {
		t.Error("known comparisons were made again")
	}
	systems[2][7] += 0.25
	if diff := cmp.Diff(correct(versusFirst(newDraws(), systems)), second.againstFirst(systems)); diff != "" || second.Encode() == nil {
		t.Errorf("a changed value was not noticed:\n%s", diff)
	}
	if ParseMemory([]byte("{damaged")).againstFirst(systems) == nil {
		t.Error("damaged memory gives no comparisons")
	}
}

func TestAgainstFirst_blocksChangeNothing(t *testing.T) {
	t.Parallel()
	systems := randomSystems(block+20, 25)
	o := stats.DefaultOptions()
	bootstrap := stats.NewBootstrap(systems, o.Resamples, o.Seed)
	random := stats.NewRandomisation(systems, o.Permutations, o.Seed)
	var ps []float64
	for i := range systems[1:] {
		ps = append(ps, random.P(i+1, 0))
	}
	holm := stats.Holm(ps)
	for i, c := range correct(versusFirst(newDraws(), systems)) {
		low, high := bootstrap.Difference(i+1, 0, o.Level)
		if c.Low != low || c.High != high || c.P != holm[i] {
			t.Fatalf("system %d: %+v, want %v…%v and p = %v", i+1, c, low, high, holm[i])
		}
	}
}
