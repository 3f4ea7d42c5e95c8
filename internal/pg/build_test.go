package pg_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// key makes a content key from a name.
func key(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// vectors returns n random vectors.
func vectors(n, dimensions int) [][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]float32, n)
	for i := range all {
		all[i] = make([]float32, dimensions)
		for j := range all[i] {
			all[i][j] = float32(r.NormFloat64())
		}
	}
	return all
}

// vectorIndex describes a table of vectors.
func vectorIndex(name string, dimensions int) pg.Index {
	return pg.Index{
		Key: key(name), Kind: "pgvector",
		Definition: fmt.Sprintf("(id integer not null, embedding vector(%d) not null)", dimensions),
		Params:     map[string]any{"m": 8, "ef_construction": 32},
		Settings:   map[string]string{"maintenance_work_mem": "64MB", "max_parallel_maintenance_workers": "0"},
	}
}

// fillHNSW copies vectors and builds an index on them.
func fillHNSW(all [][]float32) func(context.Context, *pg.Building) error {
	return func(ctx context.Context, b *pg.Building) error {
		n, err := b.CopyFrom(ctx, []string{"id", "embedding"}, pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
			return []any{int32(i), pgvector.NewVector(all[i])}, nil
		}))
		if err != nil {
			return err
		}
		if n != int64(len(all)) {
			return fmt.Errorf("copied %d rows", n)
		}
		return b.Exec(ctx, "create index "+b.Name+"_hnsw on "+b.Table+" using hnsw (embedding vector_cosine_ops) with (m = 8, ef_construction = 32)")
	}
}

// build builds an index that must be new.
func build(t *testing.T, db *pg.DB, ix pg.Index, fill func(context.Context, *pg.Building) error) pg.Manifest {
	t.Helper()
	m, built, err := db.Build(t.Context(), ix, fill)
	if err != nil || !built {
		t.Fatalf("built %v, %v", built, err)
	}
	return m
}

// exists returns what is known of a key.
func exists(t *testing.T, db *pg.DB, k string) (pg.Found, bool) {
	t.Helper()
	found, err := db.Exists(t.Context(), []string{k, key("never built")})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := found[k]
	if len(found) > 1 {
		t.Errorf("found %v", found)
	}
	return f, ok
}

func run(t *testing.T, db *pg.DB, sql string, args ...any) {
	t.Helper()
	// Clean-up functions run when the context of the test has ended.
	if _, err := db.Pool().Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestBuild_writesTableAndManifestOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	ix, all := vectorIndex("a", 32), vectors(500, 32)
	m := build(t, db, ix, fillHNSW(all))
	f, ok := exists(t, db, ix.Key)
	if diff := cmp.Diff(m, f.Manifest, cmpopts.EquateApproxTime(0)); !ok || f.Problem != "" || diff != "" {
		t.Errorf("%v, problem %q, %s", ok, f.Problem, diff)
	}
	want := pg.Manifest{
		Key: ix.Key, Table: "ix_" + ix.Key[:40], Kind: "pgvector", Rows: 500, RaglabVersion: "test",
		Params:        []byte(`{"m": 8, "ef_construction": 32}`),
		BuildSettings: map[string]string{"maintenance_work_mem": "64MB", "max_parallel_maintenance_workers": "0"},
	}
	ignored := cmpopts.IgnoreFields(pg.Manifest{}, "HeapBytes", "IndexBytes", "CreatedAt")
	if diff := cmp.Diff(want, m, ignored); diff != "" {
		t.Error(diff)
	}
	if since := time.Since(m.CreatedAt); since < -time.Minute || since > time.Hour {
		t.Errorf("made %s ago", since)
	}
	again, built, err := db.Build(t.Context(), ix, func(context.Context, *pg.Building) error {
		t.Error("built again")
		return nil
	})
	if diff := cmp.Diff(m, again); err != nil || built || diff != "" {
		t.Errorf("again: %v, %v, %s", built, err, diff)
	}
	sizes, err := db.Sizes(t.Context(), m.Table)
	if err != nil || sizes.Heap != m.HeapBytes || sizes.Index != m.IndexBytes || sizes.Indexes[m.Table+"_hnsw"] != m.IndexBytes {
		t.Errorf("%+v, %v", sizes, err)
	}
	// 500 rows of 4 × 32 bytes and their headers, in pages of 8 KiB.
	if m.HeapBytes < 500*128 || m.HeapBytes > 500*300 || m.IndexBytes < 500*128 {
		t.Errorf("heap of %d bytes, index of %d", m.HeapBytes, m.IndexBytes)
	}
	if problem, err := db.CheckRows(t.Context(), m); err != nil || problem != "" {
		t.Errorf("%q, %v", problem, err)
	}
	list, err := db.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Key != ix.Key {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestBuild_movedValuesCountAsHeap(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	m := build(t, db, vectorIndex("long", 1024), fillHNSW(vectors(20, 1024)))
	if m.HeapBytes < 20*4096 {
		t.Errorf("20 vectors of 4096 bytes take %d", m.HeapBytes)
	}
}

func TestBuild_failureLeavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	boom := errors.New("boom")
	all := vectors(50, 8)
	stops := map[string]func(context.Context, *pg.Building) error{
		"before copy": func(context.Context, *pg.Building) error { return boom },
		"after index": func(ctx context.Context, b *pg.Building) error {
			if err := fillHNSW(all)(ctx, b); err != nil {
				return err
			}
			return boom
		},
	}
	for name, fill := range stops {
		ix := vectorIndex(name, 8)
		_, built, err := db.Build(t.Context(), ix, fill)
		if !errors.Is(err, boom) || built {
			t.Errorf("%s: %v, %v", name, built, err)
		}
		if f, ok := exists(t, db, ix.Key); ok {
			t.Errorf("%s: left %+v", name, f)
		}
	}
	slip := vectorIndex("slip", 8)
	slip.Settings = map[string]string{"hnsw.ef_serch": "1"}
	if _, _, err := db.Build(t.Context(), slip, fillHNSW(all)); err == nil || !contains(err.Error(), "hnsw.ef_serch") {
		t.Errorf("a setting that there is not: %v", err)
	}
	_, _, err := db.Build(t.Context(), vectorIndex("wrong", 8), fillHNSW(vectors(3, 9)))
	if err == nil || pg.IsTransient(err) {
		t.Errorf("vectors of another length: %v", err)
	}
	names, err := db.Clean(t.Context())
	if err != nil || len(names) != 0 {
		t.Errorf("there was something to clean: %v, %v", names, err)
	}
}

func TestBuild_cancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	cause := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ix := vectorIndex("cancelled", 8)
	_, _, err := db.Build(ctx, ix, func(ctx context.Context, b *pg.Building) error {
		if err := fillHNSW(vectors(50, 8))(ctx, b); err != nil {
			return err
		}
		cancel(cause)
		return b.Exec(ctx, "select pg_sleep(100)")
	})
	if !errors.Is(err, cause) || pg.IsTransient(err) {
		t.Errorf("%v", err)
	}
	build(t, db, ix, fillHNSW(vectors(50, 8)))
}

func TestBuild_manyAtOnceBuildOnce(t *testing.T) {
	t.Parallel()
	config := pgtest.Config(t)
	first, err := pg.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.DropSchema(context.Background()); first.Close() })
	var fills, made atomic.Int32
	ix, all := vectorIndex("shared", 8), vectors(200, 8)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			// Another pool is, to the server, another process.
			db, err := pg.Connect(t.Context(), config)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			m, built, err := db.Build(t.Context(), ix, func(ctx context.Context, b *pg.Building) error {
				fills.Add(1)
				return fillHNSW(all)(ctx, b)
			})
			if err != nil || m.Rows != 200 {
				t.Errorf("%+v, %v", m, err)
			}
			if built {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if fills.Load() != 1 || made.Load() != 1 {
		t.Errorf("filled %d times, built %d times", fills.Load(), made.Load())
	}
}

// runAndTell runs a statement and has the server count what it did now, not a
// second later.
func runAndTell(t *testing.T, db *pg.DB, sql string) {
	t.Helper()
	conn, err := db.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, statement := range []string{sql, "select pg_stat_force_next_flush()"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestExists_tellsWhatSomebodyDidToATable(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	tests := map[string]struct{ sql, problem string }{
		"dropped":    {"drop table %s", "its table was dropped"},
		"emptied":    {"truncate %s", "its table was emptied"},
		"unindexed":  {"drop index %s_hnsw", "its index was dropped"},
		"more rows":  {"insert into %s select g, array_fill(1, array[8])::vector from generate_series(1, 500) g", "bytes and was built with"},
		"deleted":    {"delete from %s where id = 7", "1 of its rows were changed or deleted"},
		"changed":    {"update %s set id = id where id < 3", "3 of its rows were changed or deleted"},
		"vacuumed":   {"vacuum %s", ""},
		"not at all": {"analyze %s", ""},
	}
	for name, test := range tests {
		ix := vectorIndex(name, 8)
		m := build(t, db, ix, fillHNSW(vectors(100, 8)))
		runAndTell(t, db, fmt.Sprintf(test.sql, pgx.Identifier{db.Schema()}.Sanitize()+"."+m.Table))
		f, ok := exists(t, db, ix.Key)
		if !ok || (test.problem == "") != (f.Problem == "") || !contains(f.Problem, test.problem) {
			t.Errorf("%s: %v, %q", name, ok, f.Problem)
		}
		problem, err := db.CheckRows(t.Context(), m)
		wrong := !slices.Contains([]string{"not at all", "unindexed", "vacuumed", "changed"}, name)
		if err != nil || (problem != "") != wrong {
			t.Errorf("%s: counting finds %q, %v", name, problem, err)
		}
		if f.Problem == "" {
			continue
		}
		again := build(t, db, ix, fillHNSW(vectors(100, 8)))
		if again.Rows != 100 {
			t.Errorf("%s: built anew with %d rows", name, again.Rows)
		}
		if f, ok := exists(t, db, ix.Key); !ok || f.Problem != "" {
			t.Errorf("%s: after it was built anew: %v, %q", name, ok, f.Problem)
		}
	}
}

// COPY makes a table longer by many pages at once, and vacuum gives back those
// that stay empty.
func TestExists_vacuumLeavesTheSize(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	ix := pg.Index{Key: key("long"), Kind: "test", Definition: "(id integer not null, word text not null)"}
	m := build(t, db, ix, func(ctx context.Context, b *pg.Building) error {
		_, err := b.CopyFrom(ctx, []string{"id", "word"}, pgx.CopyFromSlice(20_000, func(i int) ([]any, error) {
			return []any{i, strings.Repeat("слово ", i%30)}, nil
		}))
		return err
	})
	runAndTell(t, db, "vacuum (freeze, analyze) "+pgx.Identifier{db.Schema(), m.Table}.Sanitize())
	if f, ok := exists(t, db, ix.Key); !ok || f.Problem != "" {
		t.Errorf("after vacuum: %v, %q", ok, f.Problem)
	}
}

func TestDrop_andClean(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	var keys []string
	for _, name := range []string{"a", "b", "c"} {
		keys = append(keys, build(t, db, vectorIndex(name, 4), fillHNSW(vectors(10, 4))).Key)
	}
	if err := db.Drop(t.Context(), append(keys[:1:1], key("never built"))); err != nil {
		t.Fatal(err)
	}
	if _, ok := exists(t, db, keys[0]); ok {
		t.Error("the dropped index is there")
	}
	// What only somebody at psql could leave behind.
	schema := pgx.Identifier{db.Schema()}.Sanitize()
	name, err := pg.TableName(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, "delete from "+schema+".index_manifests where key = $1", keys[1])
	run(t, db, "create table "+schema+".of_the_user (n int)")
	cleaned, err := db.Clean(t.Context())
	if diff := cmp.Diff([]string{name}, cleaned); err != nil || diff != "" {
		t.Errorf("%s, %v", diff, err)
	}
	if f, ok := exists(t, db, keys[2]); !ok || f.Problem != "" {
		t.Errorf("cleaning took what is whole: %v, %q", ok, f.Problem)
	}
	run(t, db, "select * from "+schema+".of_the_user")
	if err := db.Drop(t.Context(), []string{"not a key"}); err == nil {
		t.Error("dropped what is no key")
	}
}

func TestClean_leavesBuildsThatAreUnderWay(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	build(t, db, vectorIndex("under way", 4), func(ctx context.Context, b *pg.Building) error {
		if names, err := db.Clean(ctx); err != nil || len(names) > 0 {
			t.Errorf("cleaned %v, %v", names, err)
		}
		return fillHNSW(vectors(10, 4))(ctx, b)
	})
}

func TestTableName(t *testing.T) {
	t.Parallel()
	k := key("x")
	if name, err := pg.TableName(k); err != nil || name != "ix_"+k[:40] {
		t.Errorf("%s, %v", name, err)
	}
	for _, bad := range []string{"", "x", k[:63], k + "0", "../" + k[:61], k[:63] + "G"} {
		if _, err := pg.TableName(bad); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}
