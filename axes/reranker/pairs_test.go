package reranker_test

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/reranker"
	"raglab/internal/testdata"
)

func same(raw float32) float64 { return float64(raw) }

func sigmoid(raw float32) float64 { return 1 / (1 + math.Exp(-float64(raw))) }

// firstStage is a ranking of that many chunks in an order that is not that of their
// ordinals.
func firstStage(n int) []axes.Hit {
	hits := make([]axes.Hit, n)
	for i := range hits {
		hits[i] = axes.Hit{Ordinal: uint32((i*7919 + 13) % 100_003), Score: -float64(i) / 3}
	}
	return hits
}

func order(hits []axes.Hit) []uint32 {
	out := make([]uint32, len(hits))
	for i, h := range hits {
		out[i] = h.Ordinal
	}
	return out
}

// inOrder reports a ranking that its own scores and ordinals would put otherwise.
func inOrder(t rapid.TB, hits []axes.Hit) {
	t.Helper()
	for i := range hits {
		if i > 0 && !hits[i-1].Before(hits[i]) {
			t.Errorf("hit %d, %v, stands before %v", i-1, hits[i-1], hits[i])
		}
	}
}

func TestReorder_table(t *testing.T) {
	t.Parallel()
	hits := []axes.Hit{{Ordinal: 9, Score: 4}, {Ordinal: 5, Score: 3}, {Ordinal: 7, Score: 2}, {Ordinal: 1, Score: 1}, {Ordinal: 2, Score: 0.5}}
	tests := map[string]struct {
		raw  []float32
		show func(float32) float64
		want []axes.Hit
	}{
		"nothing scored": {nil, same, hits},
		"the first two": {[]float32{-1, 1}, same, []axes.Hit{
			{Ordinal: 5, Score: 1}, {Ordinal: 9, Score: -1}, {Ordinal: 7, Score: -2}, {Ordinal: 1, Score: -3}, {Ordinal: 2, Score: -4},
		}},
		"all": {[]float32{1, 2, 3, 4, 5}, same, []axes.Hit{
			{Ordinal: 2, Score: 5}, {Ordinal: 1, Score: 4}, {Ordinal: 7, Score: 3}, {Ordinal: 5, Score: 2}, {Ordinal: 9, Score: 1},
		}},
		"equal scores keep the first stage's order": {[]float32{2, 2, 2, 2, 3}, same, []axes.Hit{
			{Ordinal: 2, Score: 3},
			{Ordinal: 9, Score: 2},
			{Ordinal: 5, Score: math.Nextafter(2, 0)},
			{Ordinal: 7, Score: math.Nextafter(2, 0)}, // 5 stands before 7 by itself
			{Ordinal: 1, Score: math.Nextafter(math.Nextafter(2, 0), 0)},
		}},
		"a sigmoid that has no more numbers": {[]float32{40, 50, 60}, sigmoid, []axes.Hit{
			{Ordinal: 7, Score: 1},
			{Ordinal: 5, Score: math.Nextafter(1, 0)},
			{Ordinal: 9, Score: math.Nextafter(1, 0)},
			{Ordinal: 1, Score: math.Nextafter(1, 0) - 1},
			{Ordinal: 2, Score: math.Nextafter(1, 0) - 2},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := reranker.Reorder(hits, test.raw, test.show)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v\nwant %v", got, test.want)
			}
			inOrder(t, got)
		})
	}
}

// The new ranking is the study's: numpy's stable argsort of the negative scores of
// the first d, the rest as it was. What the scores are like does not matter.
func TestReorder_isTheStableArgsort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hits := firstStage(rapid.IntRange(0, 60).Draw(t, "hits"))
		for i := range hits {
			hits[i].Ordinal ^= uint32(rapid.IntRange(0, 3).Draw(t, "ordinal")) << 20
		}
		d := rapid.IntRange(0, len(hits)).Draw(t, "depth")
		few := rapid.SampledFrom([]float32{-1e38, -30, -1, 0, 1, 1.5, 36, 40, 3e38})
		raw := rapid.SliceOfN(rapid.OneOf(few, rapid.Float32Range(-20, 20)), d, d).Draw(t, "scores")
		show := rapid.SampledFrom([]func(float32) float64{same, sigmoid}).Draw(t, "activation")
		got := reranker.Reorder(hits, raw, show)
		inOrder(t, got)

		type placed struct {
			rank int // of the first stage
			raw  float32
		}
		var want []placed
		for i, s := range raw {
			want = append(want, placed{i, s})
		}
		slices.SortFunc(want, func(a, b placed) int { return cmp.Or(cmp.Compare(b.raw, a.raw), a.rank-b.rank) })
		for i := range hits {
			at := i
			if i < d {
				at = want[i].rank
			}
			if got[i].Ordinal != hits[at].Ordinal {
				t.Fatalf("rank %d holds chunk %d, expected the one that had rank %d", i+1, got[i].Ordinal, at+1)
			}
		}
	})
}

// study is what the Italian study publishes: the ranks of the gold passages of
// twelve questions under several first stages, and means at several depths. The
// scores of its rerankers it does not, so that their means cannot be made again
// here; what holds for any reranker can.
type study struct {
	Ranks []struct {
		Schemes map[string]struct {
			Gold     []int   `json:"gold_ranks"`
			Recall10 float64 `json:"recall@10"`
			Recall50 float64 `json:"recall@50"`
			Recall99 float64 `json:"recall@100"`
		}
	} `json:"per_query"`
}

const studyFolder = "data/rag-decision-lab/esperimenti/studio-embedding-retrieval/output/"

func readStudy(t *testing.T, file string, out any) {
	t.Helper()
	raw, err := os.ReadFile(testdata.Shared(t, studyFolder+file))
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rerankGold returns the ranks of gold passages after the first d of a ranking got
// scores.
func rerankGold(gold []int, d int, score func(rank int) float32) []int {
	hits := firstStage(600)
	raw := make([]float32, d)
	for i := range raw {
		raw[i] = score(i + 1)
	}
	after := order(reranker.Reorder(hits, raw, same))
	ranks := make([]int, len(gold))
	for i, g := range gold {
		ranks[i] = slices.Index(after, hits[g-1].Ordinal) + 1
	}
	return ranks
}

func recall(ranks []int, k int) float64 {
	n := 0
	for _, r := range ranks {
		if r <= k {
			n++
		}
	}
	return float64(n) / float64(len(ranks))
}

// On the study's own gold ranks: gold beyond the depth keeps its rank; reranking
// the first ten changes no recall@10; and the best that a reranker of depth d can do
// is the first stage's recall@d, which the study calls the ceiling.
func TestReorder_studyRanks(t *testing.T) {
	t.Parallel()
	var s study
	readStudy(t, "fusione_rrf.json", &s)
	checked := 0
	for _, q := range s.Ranks {
		for name, scheme := range q.Schemes {
			checked++
			oracle := func(rank int) float32 {
				if slices.Contains(scheme.Gold, rank) {
					return 1
				}
				return 0
			}
			worst := func(rank int) float32 { return -oracle(rank) }
			if got := recall(rerankGold(scheme.Gold, 10, worst), 10); got != scheme.Recall10 {
				t.Errorf("%s: recall@10 after reranking the first 10 is %v, before it %v", name, got, scheme.Recall10)
			}
			for d, ceiling := range map[int]float64{50: scheme.Recall50, 100: scheme.Recall99} {
				ranks := rerankGold(scheme.Gold, d, oracle)
				if got := recall(ranks, 10); got != ceiling {
					t.Errorf("%s: the best recall@10 at depth %d is %v, expected recall@%d, %v", name, d, got, d, ceiling)
				}
				for i, g := range scheme.Gold {
					if g > d && ranks[i] != g {
						t.Errorf("%s: gold at rank %d beyond depth %d is now at %d", name, g, d, ranks[i])
					}
				}
			}
		}
	}
	if checked != 12*3 {
		t.Errorf("%d rankings, expected three for each of 12 questions", checked)
	}
}

// The study's published means obey the rule that this package follows.
func TestStudy_meansAreWithinTheRule(t *testing.T) {
	t.Parallel()
	var strategies struct {
		Results map[string]struct {
			Recall float64 `json:"recall@10"`
			Depth  *int    `json:"depth"`
		} `json:"risultati"`
	}
	readStudy(t, "strategie_reranking_complete.json", &strategies)
	none := strategies.Results["nessun reranking (ordine della fusione)"].Recall
	tens := 0
	for name, r := range strategies.Results {
		if r.Depth != nil && *r.Depth == 10 {
			tens++
			if r.Recall != none {
				t.Errorf("%s: recall@10 %v, expected %v as without reranking", name, r.Recall, none)
			}
		}
	}
	if tens != 3 {
		t.Errorf("%d results at depth 10, expected 3", tens)
	}
	var final struct {
		Ceilings map[string]float64 `json:"tetti"`
		Results  map[string]struct {
			Recall float64 `json:"recall@10"`
		} `json:"risultati"`
	}
	readStudy(t, "configurazione_finale.json", &final)
	last := 0.0
	for _, d := range []string{"20", "30", "50", "60"} {
		if final.Ceilings[d] < last {
			t.Errorf("the ceiling at depth %s, %v, is below that of a smaller depth", d, final.Ceilings[d])
		}
		last = final.Ceilings[d]
		for name, r := range final.Results {
			if strings.Contains(name, "sui primi "+d+" ") && r.Recall > last {
				t.Errorf("%s: recall@10 %v is above the ceiling %v", name, r.Recall, last)
			}
		}
	}
}
