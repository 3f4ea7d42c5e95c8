package retriever_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
)

// summed adds up what each leg gives to a chunk, in the order of the legs.
func summed(legs [][]axes.Hit, part func(leg []axes.Hit, i int) float64) []axes.Hit {
	at := map[uint32]int{}
	var hits []axes.Hit
	for _, leg := range legs {
		for i, h := range leg {
			if _, ok := at[h.Ordinal]; !ok {
				at[h.Ordinal] = len(hits)
				hits = append(hits, axes.Hit{Ordinal: h.Ordinal})
			}
			hits[at[h.Ordinal]].Score += part(leg, i)
		}
	}
	return hits
}

func TestRRF(t *testing.T) {
	t.Parallel()
	axestest.RunFuser(t, axestest.Fuser{
		Kind:   fuser(t, "rrf"),
		Set:    func(p any, legs []string) { p.(*retriever.RRFParams).Legs = legs },
		Golden: map[string]string{"1": "bf09cd522464b1be"},
		Oracle: func(legs [][]axes.Hit) []axes.Hit {
			return summed(legs, func(_ []axes.Hit, i int) float64 { return 1 / (60 + float64(i+1)) })
		},
	})
}

func TestWeighted(t *testing.T) {
	t.Parallel()
	axestest.RunFuser(t, axestest.Fuser{
		Kind: fuser(t, "weighted"), Golden: map[string]string{"1": "58bb67527c4b5069"},
		Set: func(p any, legs []string) {
			w := p.(*retriever.WeightedParams)
			if w.Legs = legs; len(legs) != 2 {
				w.Weights = []float64{0.5, 0.5, 0.5, 0.5}[:len(legs)]
			}
		},
		Oracle: func(legs [][]axes.Hit) []axes.Hit {
			return summed(legs, func(leg []axes.Hit, i int) float64 {
				high, low := leg[0].Score, leg[len(leg)-1].Score
				if high == low {
					return 0.5
				}
				return 0.5 * ((leg[i].Score - low) / (high - low))
			})
		},
	})
}

func TestFuse(t *testing.T) {
	t.Parallel()
	first := []axes.Hit{{Ordinal: 4, Score: 9}, {Ordinal: 2, Score: 5}, {Ordinal: 7, Score: 1}}
	second := []axes.Hit{{Ordinal: 2, Score: 0.5}, {Ordinal: 1, Score: 0.5}}
	legs := [][]axes.Hit{first, second}
	two := []string{"a", "b"}
	over := func(n float64) float64 { return 1 / n } // at run time: constants are exact
	tests := map[string]struct {
		kind   string
		params any
		legs   [][]axes.Hit
		want   []axes.Hit
	}{
		"rrf": {"rrf", &retriever.RRFParams{Legs: two, K: 60}, legs, []axes.Hit{
			{Ordinal: 2, Score: over(62) + over(61)}, {Ordinal: 4, Score: over(61)}, {Ordinal: 1, Score: over(62)}, {Ordinal: 7, Score: over(63)},
		}},
		"rrf with weights": {"rrf", &retriever.RRFParams{Legs: two, Weights: []float64{0.25, 2}}, legs, []axes.Hit{
			{Ordinal: 2, Score: 0.25/2 + 2}, {Ordinal: 1, Score: 1}, {Ordinal: 4, Score: 0.25}, {Ordinal: 7, Score: 0.25 / 3},
		}},
		"equal scores count 1": {"weighted", &retriever.WeightedParams{Legs: two, Alpha: 0.25}, legs, []axes.Hit{
			{Ordinal: 2, Score: 0.25*0.5 + 0.75}, {Ordinal: 1, Score: 0.75}, {Ordinal: 4, Score: 0.25}, {Ordinal: 7},
		}},
		"alpha 1 is the first leg":  {"weighted", &retriever.WeightedParams{Legs: two, Alpha: 1}, legs, []axes.Hit{{Ordinal: 4, Score: 1}, {Ordinal: 2, Score: 0.5}, {Ordinal: 7}}},
		"alpha 0 is the second leg": {"weighted", &retriever.WeightedParams{Legs: two, Alpha: 0}, legs, []axes.Hit{{Ordinal: 1, Score: 1}, {Ordinal: 2, Score: 1}}},
		"a chunk twice counts once": {
			"rrf", &retriever.RRFParams{Legs: two[:1], K: 1},
			[][]axes.Hit{{{Ordinal: 3, Score: 2}, {Ordinal: 3, Score: 1}, {Ordinal: 5}}},
			[]axes.Hit{{Ordinal: 3, Score: 0.5}, {Ordinal: 5, Score: 0.25}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := fuser(t, test.kind).New(test.params, axes.Env{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, f.Fuse(test.legs, 10)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
