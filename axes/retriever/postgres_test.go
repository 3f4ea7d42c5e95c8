package retriever_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// inPostgres returns an environment with a schema of the test's own.
func inPostgres(tb testing.TB) (axes.Env, *pg.DB) {
	tb.Helper()
	db := pgtest.Connect(tb)
	return axes.Env{Threads: 2, Postgres: func(context.Context) (*pg.DB, error) { return db, nil }}, db
}

// similarities is the definition of pgvector's scores, in double precision.
func similarities(distance string) func(c *axestest.Corpus, q axes.Query) []axes.Hit {
	return func(c *axestest.Corpus, q axes.Query) []axes.Hit {
		var hits []axes.Hit
		for i := range c.Chunks {
			var dot, aa, bb, apart float64
			for j, x := range c.Rows[i*c.Dim : (i+1)*c.Dim] {
				a, b := float64(x), float64(q.Vector[j])
				dot, aa, bb, apart = dot+a*b, aa+a*a, bb+b*b, apart+(a-b)*(a-b)
			}
			score := map[string]float64{"cosine": dot / math.Sqrt(aa*bb), "ip": dot, "l2": -math.Sqrt(apart)}[distance]
			hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: score})
		}
		return hits
	}
}

func TestPGVector(t *testing.T) {
	t.Parallel()
	type test struct {
		set    func(*retriever.PGVectorParams)
		dim    int
		golden string
	}
	tests := map[string]test{
		"hnsw":    {func(p *retriever.PGVectorParams) {}, 16, "7beaf5775fb90ea5"},
		"ivfflat": {func(p *retriever.PGVectorParams) { p.Index, p.Lists = "ivfflat", 5 }, 7, "faaadaf3621519ed"},
	}
	for _, exact := range []struct {
		distance string
		dim      int
		golden   string
	}{
		{"cosine", 1, "ee181e7135ce1a4c"},
		{"cosine", 33, "7b1f5169f000a4d5"},
		{"ip", 1, "90d63136c78280fa"},
		{"ip", 33, "6d72c7ba1f7bab13"},
		{"l2", 1, "1181cc74f0b421cc"},
		{"l2", 33, "31c08b9980e1187f"},
	} {
		tests[fmt.Sprintf("exact %s %d", exact.distance, exact.dim)] = test{
			func(p *retriever.PGVectorParams) { p.Index, p.Distance = "exact", exact.distance }, exact.dim, exact.golden,
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, _ := inPostgres(t)
			var p retriever.PGVectorParams
			k := axestest.Retriever{
				Kind: leaf(t, "pgvector"), Env: env, Dim: test.dim, Tolerance: 1e-6,
				Set:    func(p any) { test.set(p.(*retriever.PGVectorParams)) },
				Golden: map[string]string{"1": test.golden},
			}
			if test.set(&p); p.Index == "exact" {
				k.Oracle = similarities(p.Distance)
			}
			axestest.RunRetriever(t, k)
		})
	}
}

// coverDensity is what ts_rank_cd gives for terms that are joined by or: each
// occurrence of a term of the question is a cover by itself, which counts the weight
// D (calc_rank_cd in tsrank.c).
func coverDensity(c *axestest.Corpus, q axes.Query) []axes.Hit {
	weight := 1 / (1 / float64(float32(0.1)))
	asked := counts(q.Text)
	var hits []axes.Hit
	for i, s := range c.Chunks {
		sum := 0.0
		for _, term := range strings.Fields(s) {
			if asked[term] > 0 {
				sum += weight
			}
		}
		if sum > 0 {
			hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: float64(float32(sum))})
		}
	}
	return hits
}

func TestTSVector(t *testing.T) {
	t.Parallel()
	for index, golden := range map[string]string{"gin": "700299427537141c", "none": "f07e6d9b90cfd84a"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			env, _ := inPostgres(t)
			axestest.RunRetriever(t, axestest.Retriever{
				Kind: leaf(t, "tsvector"), Env: env, Analyzer: analyzer(t, "simple", "", nil),
				Set:    func(p any) { p.(*retriever.TSVectorParams).Index = index },
				Oracle: coverDensity, Golden: map[string]string{"1": golden},
			})
		})
	}
}
