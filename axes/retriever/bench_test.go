package retriever

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
	"raglab/internal/pg"
)

// chunks4000 are about what an experiment of a few thousand pages has: 262 words
// each, of which half are different.
func chunks4000() *memory {
	const n, dim = 4000, 384
	r, c := rand.New(rand.NewPCG(3, 0)), &memory{rows: normals(1, n, dim), dim: dim}
	for range n {
		var s strings.Builder
		for range 262 {
			u := r.Float64()
			fmt.Fprintf(&s, "слово%d ", int(20_000*u*u*u*u*u))
		}
		c.texts = append(c.texts, s.String())
	}
	return c
}

// BenchmarkSearch compares a search with the same statement through the driver
// alone: what raglab adds to the median.
func BenchmarkSearch(b *testing.B) {
	env, c := connected(b), chunks4000()
	simple, err := text.Kinds[0].New(text.Kinds[0].Params(), axes.Env{})
	if err != nil {
		b.Fatal(err)
	}
	leaves := map[string]Resident{
		"hnsw":     newVectorLeaf(b, env, nil),
		"ivfflat":  newVectorLeaf(b, env, func(p *PGVectorParams) { p.Index = "ivfflat" }),
		"exact":    newVectorLeaf(b, env, func(p *PGVectorParams) { p.Index = "exact" }),
		"tsvector": newTextLeaf(b, env, nil),
	}
	const depth = 30
	for _, name := range []string{"hnsw", "ivfflat", "exact", "tsvector"} {
		s, _ := buildAndOpen(b, leaves[name], name, c, simple)
		q := axes.Query{Text: "слово3 слово170 слово1700 unheard", Vector: normals(9, 1, c.dim)}
		var ask func() ([]axes.Hit, error)
		var tab *table
		var sql string
		var args []any
		switch s := s.(type) {
		case *vectorSearcher:
			tab, sql, args = &s.table, s.statement, []any{s.vectors.Argument(q.Vector), depth}
		case *textSearcher:
			query, _ := s.query(q)
			tab, sql, args = &s.table, s.statement, []any{query, depth}
		}
		ask = func() ([]axes.Hit, error) { return s.Search(b.Context(), q, depth, nil) }
		b.Run(name, func(b *testing.B) {
			var with, bare []time.Duration
			err := tab.connections.Do(b.Context(), "", "", func(on pgindex.Querier) error {
				for range 10 { // warm up
					if _, err := plain(b.Context(), on, sql, args); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				start := time.Now()
				if _, err := ask(); err != nil {
					b.Fatal(err)
				}
				with = append(with, time.Since(start))
				err := tab.connections.Do(b.Context(), "", "", func(on pgindex.Querier) error {
					start := time.Now()
					_, err := plain(b.Context(), on, sql, args)
					bare = append(bare, time.Since(start))
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(median(with).Microseconds()), "p50-µs")
			b.ReportMetric(float64(median(bare).Microseconds()), "p50-bare-µs")
			b.ReportMetric(float64((median(with) - median(bare)).Microseconds()), "p50-added-µs")
		})
	}
}

// plain reads a statement's rows and does nothing with them.
func plain(ctx context.Context, on pgindex.Querier, sql string, args []any) (int, error) {
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	n := 0
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkCopy compares a build without an index, and the copying in it, with psql's
// \copy of the same rows from a file into a table of the same definition, in a
// transaction that makes it. A build's time has text handling in it, and whatever
// keeps the manifest.
func BenchmarkCopy(b *testing.B) {
	env, c := connected(b), chunks4000()
	simple, err := text.Kinds[0].New(text.Kinds[0].Params(), axes.Env{})
	if err != nil {
		b.Fatal(err)
	}
	whole := newVectorLeaf(b, env, func(p *PGVectorParams) { p.Index = "exact" })
	half := newVectorLeaf(b, env, func(p *PGVectorParams) { p.Index, p.Type = "exact", "halfvec" })
	words := newTextLeaf(b, env, func(p *TSVectorParams) { p.Index = "none" })
	copying{"vector", whole, c, nil}.run(b, env)
	copying{"halfvec", half, c, nil}.run(b, env)
	copying{"tsvector", words, c, simple}.run(b, env)
	copying{"vector 100k", whole, &memory{rows: normals(1, 100_000, 384), dim: 384}, nil}.run(b, env)
}

// copying is one comparison with psql.
type copying struct {
	name     string
	leaf     Resident
	corpus   *memory
	analyzer text.Analyzer
}

func (c copying) run(b *testing.B, env axes.Env) {
	db, err := env.Postgres(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run(c.name, func(b *testing.B) {
		c.build(b, c.name)
		table, _ := db.Table(keyOf(c.name))
		file := filepath.Join(b.TempDir(), "rows")
		runPsql(b, db, fmt.Sprintf(`\copy %s to '%s' (format binary)`, table.Sanitize(), file))
		var copies, builds, psqlCopies, psqlBuilds []time.Duration
		for i := 0; b.Loop(); i++ {
			// Taking turns at who is first, lest one always finds the disk busy.
			for _, own := range []bool{i%2 == 0, i%2 != 0} {
				if !own {
					copied, whole := copyByPsql(b, db, table, file)
					psqlCopies, psqlBuilds = append(psqlCopies, copied), append(psqlBuilds, whole)
					continue
				}
				copied, whole := c.build(b, fmt.Sprint(c.name, i))
				copies, builds = append(copies, copied), append(builds, whole)
				if err := db.Drop(b.Context(), []string{keyOf(fmt.Sprint(c.name, i))}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(median(copies).Seconds()*1e3, "copy-ms")
		b.ReportMetric(median(copies).Seconds()/median(psqlCopies).Seconds(), "copy/psql")
		b.ReportMetric(median(builds).Seconds()*1e3, "build-ms")
		b.ReportMetric(median(builds).Seconds()/median(psqlBuilds).Seconds(), "build/psql")
		b.ReportMetric(0, "ns/op") // of both together
	})
}

// build builds a table and returns how long its copying and all of it took.
func (c copying) build(b *testing.B, key string) (copied, whole time.Duration) {
	start := time.Now()
	m, err := c.leaf.BuildAs(b.Context(), keyOf(key), c.corpus, c.analyzer, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	return m.Copy, time.Since(start)
}

// copyByPsql copies a file in a transaction that makes the table, and returns psql's
// own measure of \copy, and of the statements of that transaction together.
func copyByPsql(b *testing.B, db *pg.DB, like pgx.Identifier, file string) (copied, whole time.Duration) {
	b.Helper()
	table := pgx.Identifier{like[0], "copied"}.Sanitize()
	out := runPsql(b, db, "begin", `\timing on`, fmt.Sprintf("create table %s (like %s)", table, like.Sanitize()),
		fmt.Sprintf(`\copy %s from '%s' (format binary)`, table, file), "commit", `\timing off`, "drop table "+table)
	var took []time.Duration
	for _, line := range out {
		var ms float64
		if _, err := fmt.Sscanf(line, "Time: %f ms", &ms); err == nil {
			took = append(took, time.Duration(ms*1e6))
		}
	}
	if len(took) != 3 {
		b.Fatalf("psql wrote %q", out)
	}
	return took[1], took[0] + took[1] + took[2]
}

// runPsql runs commands in one session of psql and returns the lines it writes.
func runPsql(b *testing.B, db *pg.DB, commands ...string) []string {
	b.Helper()
	args := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	var cmd *exec.Cmd
	var err error
	if lease := db.Lease(); lease != nil {
		cmd, err = lease.Psql(b.Context(), args...)
	} else {
		b.Skip("the server of the tests is not a private one")
	}
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %s", err, out)
	}
	return strings.Split(string(out), "\n")
}

// BenchmarkBuild100k reports what raglab itself holds in memory, besides the vectors
// that it is given, while it builds an index over 100,000 chunks.
func BenchmarkBuild100k(b *testing.B) {
	const n, dim = 100_000, 384
	env := connected(b)
	c := &memory{rows: normals(1, n, dim), dim: dim}
	before := heap()
	l := newVectorLeaf(b, env, func(p *PGVectorParams) { p.Index = "ivfflat" })
	for i := 0; b.Loop(); i++ {
		_, m := buildAndOpen(b, l, fmt.Sprint(i), c, nil)
		b.ReportMetric(m.Copy.Seconds(), "copy-s")
		b.ReportMetric(m.Index.Seconds(), "index-s")
	}
	b.ReportMetric(float64(heap()-before)/(1<<20), "MB-more")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
