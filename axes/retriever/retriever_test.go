package retriever_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/internal/param"
)

func leaf(tb testing.TB, name string) axes.Kind[retriever.Leaf] {
	tb.Helper()
	k, ok := axes.Find(retriever.Leaves, name)
	if !ok {
		tb.Fatalf("no leaf %q", name)
	}
	return k
}

func fuser(tb testing.TB, name string) axes.Kind[retriever.Fuser] {
	tb.Helper()
	k, ok := axes.Find(retriever.Fusers, name)
	if !ok {
		tb.Fatalf("no fuser %q", name)
	}
	return k
}

func analyzer(tb testing.TB, name, language string, set func(params any)) text.Analyzer {
	tb.Helper()
	k, ok := axes.Find(text.Kinds, name)
	if !ok {
		tb.Fatalf("no text kind %q", name)
	}
	p := k.Params()
	if set != nil {
		set(p)
	}
	a, err := k.New(p, axes.Env{Language: language})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// bm25 scores every chunk, with maps and no index.
func bm25(okapi bool, k1, b, epsilon float64) func(c *axestest.Corpus, q axes.Query) []axes.Hit {
	return func(c *axestest.Corpus, q axes.Query) []axes.Hit {
		n, total, df := float64(len(c.Chunks)), 0.0, map[string]float64{}
		for _, s := range c.Chunks {
			total += float64(len(strings.Fields(s)))
			for term := range counts(s) {
				df[term]++
			}
		}
		idf, scale := map[string]float64{}, 1.0
		for term, df := range df {
			idf[term] = math.Log(1 + (n-df+0.5)/(df+0.5))
		}
		if okapi {
			idf, scale = okapiIDF(df, n, epsilon), k1+1
		}
		asked := counts(q.Text)
		order := slices.SortedFunc(maps.Keys(asked), func(x, y string) int {
			return cmp.Or(cmp.Compare(df[x], df[y]), strings.Compare(x, y))
		})
		var hits []axes.Hit
		for i, s := range c.Chunks {
			tfs, score, found := counts(s), 0.0, false
			norm := k1 * (1 - b + float64(b*float64(len(strings.Fields(s))))/(total/n))
			for _, term := range order {
				if tf := tfs[term]; tf > 0 {
					score, found = score+float64(float64(asked[term]*idf[term])*(float64(tf*scale)/(tf+norm))), true
				}
			}
			if found {
				hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: score})
			}
		}
		return hits
	}
}

// okapiIDF sums the mean in the order of the terms' bytes, as the index does.
func okapiIDF(df map[string]float64, n, epsilon float64) map[string]float64 {
	idf, sum := map[string]float64{}, 0.0
	for _, term := range slices.Sorted(maps.Keys(df)) {
		idf[term] = math.Log(n-df[term]+0.5) - math.Log(df[term]+0.5)
		sum += idf[term]
	}
	for term, v := range idf {
		if v < 0 {
			idf[term] = epsilon * (sum / float64(len(df)))
		}
	}
	return idf
}

func counts(s string) map[string]float64 {
	n := map[string]float64{}
	for _, term := range strings.Fields(s) {
		n[term]++
	}
	return n
}

func TestBM25(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params retriever.BM25Params
		oracle func(*axestest.Corpus, axes.Query) []axes.Hit
		golden string
	}{
		"lucene":               {retriever.BM25Params{Variant: "lucene", K1: -1, B: 0.75}, bm25(false, 1.2, 0.75, 0), "a7ff47b828347547"},
		"okapi":                {retriever.BM25Params{Variant: "okapi", K1: -1, B: 0.75, Epsilon: 0.25}, bm25(true, 1.5, 0.75, 0.25), "3c896bee897984ce"},
		"other parameters":     {retriever.BM25Params{Variant: "lucene", K1: 0.9, B: 0.4}, bm25(false, 0.9, 0.4, 0), "8f36464a35d136ac"},
		"terms count once":     {retriever.BM25Params{Variant: "lucene", K1: 0, B: 1}, bm25(false, 0, 1, 0), "8591f8da74aa4a77"},
		"frequent terms are 0": {retriever.BM25Params{Variant: "okapi", K1: 1.5, B: 0, Epsilon: 0}, bm25(true, 1.5, 0, 0), "9c00e76bc14e302f"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			axestest.RunRetriever(t, axestest.Retriever{
				Kind: leaf(t, "bm25"), Env: axes.Env{Threads: 2}, Analyzer: analyzer(t, "simple", "", nil),
				Set: func(p any) { *p.(*retriever.BM25Params) = test.params }, Oracle: test.oracle,
				Golden: map[string]string{"1": test.golden},
			})
		})
	}
}

func TestExact(t *testing.T) {
	t.Parallel()
	for dim, golden := range map[int]string{1: "a8c0f054216df1cb", 2: "34747b3b3ea2a730", 7: "ebe5ada6cb5c3ff4", 16: "5baf340c1b5b8ed8", 33: "3dceb5caa36ab104", 96: "af1f7b91fefe98b7"} {
		t.Run(fmt.Sprintf("%d dimensions", dim), func(t *testing.T) {
			t.Parallel()
			axestest.RunRetriever(t, axestest.Retriever{
				Kind: leaf(t, "exact"), Env: axes.Env{Threads: 2}, Dim: dim,
				Oracle: innerProducts, Golden: map[string]string{"1": golden},
			})
		})
	}
}

// innerProducts is the definition of exact: sixteen partial sums by place,
// folded in halves.
func innerProducts(c *axestest.Corpus, q axes.Query) []axes.Hit {
	var hits []axes.Hit
	for i := range c.Chunks {
		var sums [16]float64
		row := c.Rows[i*c.Dim : (i+1)*c.Dim]
		for j, x := range row {
			sums[j%16] += float64(x) * float64(q.Vector[j])
		}
		for half := 8; half > 0; half /= 2 {
			for j := range half {
				sums[j] += sums[j+half]
			}
		}
		hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: sums[0]})
	}
	return hits
}

func TestExact_refusesVectors(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	tests := map[string]struct {
		rows []float32
		want string
	}{
		"NaN":          {[]float32{1, 0, 0, nan, 0, 1}, "row 1: number 1 is NaN"},
		"infinite":     {[]float32{1, 0, 0, 1, inf, 1}, "row 2: number 0 is -Inf"},
		"cut off":      {[]float32{1, 0, 0, 1, 0}, "5 numbers of 2 dimensions, which are not those of 3 chunks"},
		"none at all":  {nil, "0 numbers of 2 dimensions"},
		"too many":     {make([]float32, 8), "8 numbers of 2 dimensions"},
		"zero is fine": {make([]float32, 6), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := leaf(t, "exact").New(leaf(t, "exact").Params(), axes.Env{})
			if err != nil {
				t.Fatal(err)
			}
			c := &axestest.Corpus{Chunks: make([]string, 3), Rows: test.rows, Dim: 2}
			err = l.Build(t.Context(), c, nil, new(bytes.Buffer))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestExact_refusesQuestions(t *testing.T) {
	t.Parallel()
	l, err := leaf(t, "exact").New(leaf(t, "exact").Params(), axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := l.Build(t.Context(), &axestest.Corpus{Chunks: []string{"a"}, Rows: []float32{1, 0}, Dim: 2}, nil, &index); err != nil {
		t.Fatal(err)
	}
	s, err := l.Open(t.Context(), &index, int64(index.Len()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, v := range map[string][]float32{
		"no vector":                 nil,
		"3 dimensions, the index 2": {1, 2, 3},
		"number 1 is NaN":           {1, float32(math.NaN())},
	} {
		if _, err := s.Search(t.Context(), axes.Query{ID: "q7", Vector: v}, 1, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "q7") {
			t.Errorf("vector %v: %v, want %q", v, err, want)
		}
	}
}

func TestKinds_refuseParameters(t *testing.T) {
	t.Parallel()
	two := []string{"a", "b"}
	tests := []struct {
		attribute string
		make      func() error
	}{
		{"k1", func() error {
			_, err := leaf(t, "bm25").New(&retriever.BM25Params{K1: -0.5}, axes.Env{})
			return err
		}},
		{"legs", func() error { return newFuser(t, "rrf", &retriever.RRFParams{K: 60}) }},
		{"weights", func() error { return newFuser(t, "rrf", &retriever.RRFParams{Legs: two, Weights: []float64{1}}) }},
		{"weights", func() error {
			return newFuser(t, "rrf", &retriever.RRFParams{Legs: two, Weights: []float64{1, -1}})
		}},
		{"weights", func() error {
			return newFuser(t, "rrf", &retriever.RRFParams{Legs: two, Weights: []float64{0, 0}})
		}},
		{"legs", func() error { return newFuser(t, "weighted", &retriever.WeightedParams{Alpha: 0.5}) }},
		{"weights", func() error {
			return newFuser(t, "weighted", &retriever.WeightedParams{Legs: []string{"a", "b", "c"}, Alpha: 0.5})
		}},
		{"alpha", func() error {
			return newFuser(t, "weighted", &retriever.WeightedParams{Legs: two, Alpha: 0.3, Weights: []float64{1, 1}})
		}},
		{"weights", func() error {
			return newFuser(t, "weighted", &retriever.WeightedParams{Legs: two, Alpha: 0.5, Weights: []float64{1, math.NaN()}})
		}},
	}
	for i, test := range tests {
		err := test.make()
		var wrong *param.Error
		if !errors.As(err, &wrong) || wrong.Attribute != test.attribute {
			t.Errorf("case %d: %v, want an error of %s", i, err, test.attribute)
		}
	}
}

func newFuser(t *testing.T, name string, params any) error {
	t.Helper()
	_, err := fuser(t, name).New(params, axes.Env{})
	return err
}
