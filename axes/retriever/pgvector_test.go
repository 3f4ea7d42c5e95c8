package retriever

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
	"raglab/internal/param"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// memory is a corpus of texts and vectors in memory.
type memory struct {
	texts []string
	rows  []float32
	dim   int
}

func (c *memory) Len() int {
	if c.dim > 0 {
		return len(c.rows) / c.dim
	}
	return len(c.texts)
}
func (c *memory) Vectors() ([]float32, int) { return c.rows, c.dim }
func (c *memory) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range c.texts {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// normals are vectors of normally distributed numbers, of length 1.
func normals(seed uint64, n, dim int) []float32 {
	r, rows := rand.New(rand.NewPCG(seed, 0)), make([]float32, 0, n*dim)
	for range n {
		v, sum := make([]float64, dim), 0.0
		for i := range v {
			v[i] = r.NormFloat64()
			sum += v[i] * v[i]
		}
		for _, x := range v {
			rows = append(rows, float32(x/math.Sqrt(sum)))
		}
	}
	return rows
}

func keyOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// connected returns an environment with a database of the test's own.
func connected(tb testing.TB) axes.Env {
	db := pgtest.Connect(tb)
	return axes.Env{Threads: 2, Postgres: func(context.Context) (*pg.DB, error) { return db, nil }}
}

// newVectorLeaf makes one with default parameters, changed by set.
func newVectorLeaf(tb testing.TB, env axes.Env, set func(*PGVectorParams)) *vectors {
	tb.Helper()
	var p PGVectorParams
	param.SetDefaults(&p)
	if set != nil {
		set(&p)
	}
	l, err := pgVector.New(&p, env)
	if err != nil {
		tb.Fatal(err)
	}
	return l.(*vectors)
}

// buildAndOpen builds under a key of the test's and the name, and opens.
func buildAndOpen(tb testing.TB, l Resident, name string, c Corpus, a text.Analyzer) (Searcher, Measures) {
	tb.Helper()
	var manifest bytes.Buffer
	m, err := l.BuildAs(tb.Context(), keyOf(name), c, a, &manifest)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := l.Open(tb.Context(), &manifest, int64(manifest.Len()), a)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, m
}

func find(tb testing.TB, s Searcher, v []float32, depth int) []axes.Hit {
	tb.Helper()
	hits, err := s.Search(tb.Context(), axes.Query{ID: "q", Vector: v}, depth, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return hits
}

// readBack reads a setting in the very session that searches.
func readBack(t *testing.T, s *vectorSearcher, name string) (value string) {
	t.Helper()
	err := s.connections.Do(t.Context(), "", "", func(on pgindex.Querier) error {
		rows, err := on.Query(t.Context(), "select current_setting($1)", name)
		if err == nil {
			value, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// recall counts how many of the true nearest are found.
func recall(t *testing.T, s, exact Searcher, questions []float32, dim, depth int) int {
	t.Helper()
	n := 0
	for ; len(questions) > 0; questions = questions[dim:] {
		truth := map[uint32]bool{}
		for _, h := range find(t, exact, questions[:dim], depth) {
			truth[h.Ordinal] = true
		}
		for _, h := range find(t, s, questions[:dim], depth) {
			if truth[h.Ordinal] {
				n++
			}
		}
	}
	return n
}

// TestPGVector_settingsReachTheIndex reads them back from the session that
// searches, and sees what they do.
func TestPGVector_settingsReachTheIndex(t *testing.T) {
	t.Parallel()
	const n, dim, depth, questions = 3000, 64, 10, 20
	env, c := connected(t), &memory{rows: normals(1, n, dim), dim: dim}
	exact, _ := buildAndOpen(t, newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index = "exact" }), "exact", c, nil)
	tests := []struct {
		name      string
		set       func(p *PGVectorParams, v int)
		setting   string
		low, high int
	}{
		{"hnsw", func(p *PGVectorParams, v int) { p.M, p.EFConstruction, p.EFSearch = 8, 32, v }, "hnsw.ef_search", 10, 900},
		{"ivfflat", func(p *PGVectorParams, v int) { p.Index, p.Lists, p.Probes = "ivfflat", 50, v }, "ivfflat.probes", 1, 50},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := map[int]int{}
			for _, v := range []int{test.low, test.high} {
				s, _ := buildAndOpen(t, newVectorLeaf(t, env, func(p *PGVectorParams) { test.set(p, v) }), test.name, c, nil)
				found[v] = recall(t, s, exact, normals(2, questions, dim), dim, depth)
				vs := s.(*vectorSearcher)
				if got := readBack(t, vs, test.setting); got != fmt.Sprint(v) {
					t.Errorf("%s is %s in the session that searched, want %d", test.setting, got, v)
				}
				if len(vs.connections.Idle()) != 1 {
					t.Errorf("%d sessions searched one after the other", len(vs.connections.Idle()))
				}
			}
			t.Logf("of %d true neighbours: %v by %s", questions*depth, found, test.setting)
			if found[test.low] > found[test.high]-20 || found[test.high] < questions*depth-3 {
				t.Errorf("of %d true neighbours: %v by %s", questions*depth, found, test.setting)
			}
		})
	}
}

// explain returns the plan of a search's statement in the session that searches.
func explain(t *testing.T, tab *table, statement string, args ...any) string {
	t.Helper()
	var lines []string
	err := tab.connections.Do(t.Context(), "", "", func(on pgindex.Querier) error {
		rows, err := on.Query(t.Context(), "explain (costs off) "+statement, args...)
		if err == nil {
			lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPGVector_usesItsIndex also where a scan of all rows would be cheaper.
func TestPGVector_usesItsIndex(t *testing.T) {
	t.Parallel()
	env := connected(t)
	for _, n := range []int{0, 3, 1500} {
		for _, distance := range []string{"cosine", "ip", "l2"} {
			for _, kind := range []string{"vector", "halfvec"} {
				for _, index := range []string{"hnsw", "ivfflat", "exact"} {
					name := fmt.Sprint(n, distance, kind, index)
					c := &memory{rows: normals(3, n, 8), dim: 8}
					l := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index, p.Distance, p.Type, p.Probes = index, distance, kind, 0 })
					s, _ := buildAndOpen(t, l, name, c, nil)
					vs := s.(*vectorSearcher)
					plan := explain(t, &vs.table, vs.statement, vs.vectors.Argument(normals(4, 1, 8)), 10)
					if uses := strings.Contains(plan, "Index Scan using ix_"+keyOf(name)[:40]+"_"+index); uses != (index != "exact") {
						t.Errorf("%s:\n%s", name, plan)
					}
					if got, want := len(find(t, s, normals(4, 1, 8), 10)), min(n, 10); got != want {
						t.Errorf("%s: %d hits, want %d", name, got, want)
					}
				}
			}
		}
	}
}

func TestPGVector_candidatesAndDepth(t *testing.T) {
	t.Parallel()
	const n, dim = 1500, 8
	env, c := connected(t), &memory{rows: normals(5, n, dim), dim: dim}
	tests := []struct {
		name      string
		set       func(*PGVectorParams)
		depth     int
		ef        string // in the session, empty when the search is refused
		attribute string // of the error
	}{
		{"default", func(*PGVectorParams) {}, 10, "40", ""},
		{"default, deep", func(*PGVectorParams) {}, 300, "300", ""},
		{"default, too deep", func(*PGVectorParams) {}, 1001, "", "iterative_scan"},
		{"explicit", func(p *PGVectorParams) { p.EFSearch = 20 }, 20, "20", ""},
		{"explicit, too deep", func(p *PGVectorParams) { p.EFSearch = 20 }, 21, "", "ef_search"},
		{"strict", func(p *PGVectorParams) { p.EFSearch, p.IterativeScan = 20, "strict_order" }, 200, "20", ""},
		{"relaxed", func(p *PGVectorParams) { p.EFSearch, p.IterativeScan = 20, "relaxed_order" }, 1400, "20", ""},
		{"relaxed, default", func(p *PGVectorParams) { p.IterativeScan = "relaxed_order" }, 1400, "1000", ""},
	}
	for _, test := range tests {
		l := newVectorLeaf(t, env, test.set)
		s, _ := buildAndOpen(t, l, "depth", c, nil)
		for range 2 {
			hits, err := s.Search(t.Context(), axes.Query{ID: "q", Vector: normals(6, 1, dim)}, test.depth, nil)
			var wrong *param.Error
			switch {
			case test.attribute != "":
				if !errors.As(err, &wrong) || wrong.Attribute != test.attribute || l.CheckDepth(test.depth) == nil {
					t.Errorf("%s: %v, want an error of %s", test.name, err, test.attribute)
				}
			case err != nil || l.CheckDepth(test.depth) != nil:
				t.Errorf("%s: %v", test.name, err)
			case len(hits) != test.depth && test.name != "strict": // which drops what comes late
				t.Errorf("%s: %d hits, want %d", test.name, len(hits), test.depth)
			}
			for i := 1; i < len(hits); i++ {
				if !hits[i-1].Before(hits[i]) {
					t.Errorf("%s: %v stands before %v", test.name, hits[i-1], hits[i])
				}
			}
			if got := readBack(t, s.(*vectorSearcher), "hnsw.ef_search"); test.ef != "" && got != test.ef {
				t.Errorf("%s: hnsw.ef_search is %s, want %s", test.name, got, test.ef)
			}
		}
		// One session serves all depths.
		if find(t, s, normals(6, 1, dim), 5); test.ef != "" && readBack(t, s.(*vectorSearcher), "hnsw.iterative_scan") != l.params.IterativeScan {
			t.Errorf("%s: iterative_scan is not %s", test.name, l.params.IterativeScan)
		}
	}
}

func TestPGVector_iterativeLists(t *testing.T) {
	t.Parallel()
	env, c := connected(t), &memory{rows: normals(7, 1000, 8), dim: 8}
	for scan, want := range map[string]bool{"off": false, "relaxed_order": true} {
		l := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index, p.Lists, p.Probes, p.IterativeScan = "ivfflat", 40, 1, scan })
		s, _ := buildAndOpen(t, l, "lists", c, nil)
		if n := len(find(t, s, normals(8, 1, 8), 900)); (n == 900) != want {
			t.Errorf("%s: %d hits of 900", scan, n)
		}
	}
}

func TestPGVector_refusesParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		attribute string
		set       func(*PGVectorParams)
	}{
		{"m", func(p *PGVectorParams) { p.Index, p.M = "ivfflat", 8 }},
		{"ef_construction", func(p *PGVectorParams) { p.Index, p.EFConstruction = "exact", 65 }},
		{"ef_construction", func(p *PGVectorParams) { p.M = 33 }},
		{"lists", func(p *PGVectorParams) { p.Lists = 10 }},
		{"maintenance_work_mem", func(p *PGVectorParams) { p.Index, p.MaintenanceWorkMem = "exact", "1GB" }},
		{"maintenance_work_mem", func(p *PGVectorParams) { p.MaintenanceWorkMem = "1000" }},
		{"maintenance_work_mem", func(p *PGVectorParams) { p.MaintenanceWorkMem = "1kB" }},
		{"maintenance_work_mem", func(p *PGVectorParams) { p.MaintenanceWorkMem = "2TB" }},
		{"maintenance_work_mem", func(p *PGVectorParams) { p.MaintenanceWorkMem = "1GB'; drop" }},
		{"workers", func(p *PGVectorParams) { p.Index, p.Workers = "exact", 1 }},
		{"ef_search", func(p *PGVectorParams) { p.Index, p.EFSearch = "ivfflat", 50 }},
		{"probes", func(p *PGVectorParams) { p.Probes = 3 }},
		{"iterative_scan", func(p *PGVectorParams) { p.Index, p.IterativeScan = "exact", "relaxed_order" }},
		{"iterative_scan", func(p *PGVectorParams) { p.Index, p.IterativeScan = "ivfflat", "strict_order" }},
		{"max_scan_tuples", func(p *PGVectorParams) { p.MaxScanTuples = 7 }},
		{"max_probes", func(p *PGVectorParams) { p.Index, p.MaxProbes = "ivfflat", 7 }},
		{"max_probes", func(p *PGVectorParams) {
			p.Index, p.IterativeScan, p.Probes, p.MaxProbes = "ivfflat", "relaxed_order", 8, 7
		}},
	}
	for i, test := range tests {
		var p PGVectorParams
		param.SetDefaults(&p)
		test.set(&p)
		_, err := pgVector.New(&p, axes.Env{})
		var wrong *param.Error
		if !errors.As(err, &wrong) || wrong.Attribute != test.attribute {
			t.Errorf("case %d: %v, want an error of %s", i, err, test.attribute)
		}
	}
}

func TestPGVector_refusesVectors(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		set  func(*PGVectorParams)
		c    *memory
		want string
	}{
		{nil, &memory{rows: []float32{1, 0, 0, nan}, dim: 2}, "chunk 1: its vector has NaN in dimension 1"},
		{nil, &memory{rows: []float32{inf, 0}, dim: 2}, "chunk 0: its vector has +Inf in dimension 0"},
		{nil, &memory{rows: []float32{1e19, 1e19}, dim: 2}, "chunk 0: its vector has a length of 1.41e+19"},
		{func(p *PGVectorParams) { p.Type = "halfvec" }, &memory{rows: []float32{0, 65520}, dim: 2}, "goes up to 65504"},
		{nil, &memory{rows: make([]float32, 2001), dim: 2001}, `set type = "halfvec"`},
		{func(p *PGVectorParams) { p.Type = "halfvec" }, &memory{rows: make([]float32, 4001), dim: 4001}, `set index = "exact"`},
		{func(p *PGVectorParams) { p.Index = "exact" }, &memory{rows: make([]float32, 16001), dim: 16001}, "stores at most 16000"},
		{nil, &memory{texts: []string{"a"}}, "which are not those of 1 chunks"},
	}
	for _, test := range tests {
		_, err := newVectorLeaf(t, axes.Env{}, test.set).BuildAs(t.Context(), keyOf("x"), test.c, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestPGVector_refusesQuestions(t *testing.T) {
	t.Parallel()
	s, _ := buildAndOpen(t, newVectorLeaf(t, connected(t), nil), "x", &memory{rows: normals(1, 10, 3), dim: 3}, nil)
	for want, v := range map[string][]float32{
		"it has no vector":           nil,
		"2 dimensions, the index 3":  {1, 2},
		"has NaN in dimension 2":     {1, 2, float32(math.NaN())},
		"is beyond single precision": {1e19, 1e19, 1e19},
	} {
		_, err := s.Search(t.Context(), axes.Query{ID: "q7", Vector: v}, 5, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"q7"`) {
			t.Errorf("%v: %v, want %q", v, err, want)
		}
	}
}

// TestPGVector_zeroVectors have no cosine, but a product and a distance.
func TestPGVector_zeroVectors(t *testing.T) {
	t.Parallel()
	env := connected(t)
	c := &memory{rows: []float32{0, 0, 1, 0, 0, 1, 1e-20, 0, 0, 0}, dim: 2} // 1e-20 squared is 0 in single precision
	for _, index := range []string{"hnsw", "ivfflat", "exact"} {
		for _, kind := range []string{"vector", "halfvec"} {
			for distance, want := range map[string]string{"cosine": "[1 2]", "ip": "[1 0 2 3 4]", "l2": "[1 0 3 4 2]"} {
				name := index + kind + distance
				l := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index, p.Distance, p.Type = index, distance, kind })
				s, m := buildAndOpen(t, l, name, c, nil)
				var got []uint32
				for _, h := range find(t, s, []float32{1, 0}, 5) {
					got = append(got, h.Ordinal)
				}
				skipped := map[string]int{"cosine": 3}[distance]
				if distance == "ip" && kind == "vector" {
					want = "[1 3 0 2 4]" // by 1e-20
				}
				if fmt.Sprint(got) != want || m.Skipped != skipped {
					t.Errorf("%s: %v, want %s; skipped %d, want %d", name, got, want, m.Skipped, skipped)
				}
				zero := axes.Query{Vector: []float32{0, 0}}
				hits := find(t, s, zero.Vector, 5)
				if blank := s.(Blanker).Blank(zero); blank != (distance == "cosine") || (len(hits) == 0) != blank {
					t.Errorf("%s: a question of zeros finds %v, blank is %v", name, hits, blank)
				}
			}
		}
	}
}

func TestPGVector_settingsOfTheMachine(t *testing.T) {
	t.Parallel()
	for threads, want := range map[int]string{0: "map[workers:0]", 1: "map[workers:0]", 4: "map[workers:3]"} {
		l := newVectorLeaf(t, axes.Env{Threads: threads}, nil)
		if got := fmt.Sprint(l.Settings()); got != want {
			t.Errorf("%d threads: %s, want %s", threads, got, want)
		}
	}
	fixed := newVectorLeaf(t, axes.Env{Threads: 4}, func(p *PGVectorParams) { p.Workers = 1 })
	flat := newVectorLeaf(t, axes.Env{Threads: 4}, func(p *PGVectorParams) { p.Index = "exact" })
	if len(fixed.Settings())+len(flat.Settings()) > 0 {
		t.Errorf("nothing is left to the machine: %v, %v", fixed.Settings(), flat.Settings())
	}
	if d, ok := flat.Approximate(); ok || d != "cosine" {
		t.Errorf("exact is approximate: %v, %v", d, ok)
	}
	if d, ok := fixed.Approximate(); !ok || d != "cosine" {
		t.Errorf("hnsw is not approximate: %v, %v", d, ok)
	}
}

// TestPGVector_cutConnection: a search whose connection was cut may be tried again,
// and then has another one with the same settings.
func TestPGVector_cutConnection(t *testing.T) {
	t.Parallel()
	env, c := connected(t), &memory{rows: normals(1, 50, 4), dim: 4}
	s, _ := buildAndOpen(t, newVectorLeaf(t, env, func(p *PGVectorParams) { p.EFSearch = 77 }), "cut", c, nil)
	find(t, s, c.rows[:4], 5)
	vs := s.(*vectorSearcher)
	pid := vs.connections.Idle()[0].Conn.PgConn().PID()
	if _, err := vs.db.Pool().Exec(t.Context(), "select pg_terminate_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
	_, err := s.Search(t.Context(), axes.Query{ID: "q", Vector: c.rows[:4]}, 5, nil)
	if !pg.IsTransient(err) || !errors.Is(err, pg.ErrConnection) || errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if hits := find(t, s, c.rows[:4], 5); len(hits) != 5 || hits[0].Ordinal != 0 {
		t.Errorf("%v", hits)
	}
	if got := readBack(t, vs, "hnsw.ef_search"); got != "77" {
		t.Errorf("hnsw.ef_search is %s in the new session", got)
	}
}
