package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/workspace"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/spec"
)

// database returns the way to the database that RAGLAB_DSN names, or to raglab's
// own when it is empty.
func database(t *testing.T, dir, dsn string, exp *spec.Experiment) *workspace.Database {
	t.Helper()
	w, err := workspace.Open(workspace.Options{
		CacheDir: dir, Threads: 2, Command: "test", Version: "test", Log: hclog.NewNullLogger(),
		Warn: func(s string) { t.Error("warning:", s) },
		Getenv: func(name string) string {
			if name == pg.EnvDSN {
				return dsn
			}
			return ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Database(exp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestDatabase_ownThatWasNeverStartedHoldsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := database(t, dir, "", nil)
	if !d.Own() {
		t.Errorf("the server is that of %s", d.Origin())
	}
	if wrong, err := d.Whole(t.Context(), nil); err != nil || len(wrong) != 0 {
		t.Errorf("%v, %v", wrong, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres")); !os.IsNotExist(err) {
		t.Errorf("looking made a folder: %v", err)
	}
}

func TestDatabase_thatCannotBeReachedIsNotAsked(t *testing.T) {
	t.Parallel()
	d := database(t, t.TempDir(), "postgres://anna:S3CRET@127.0.0.1:9/raglab", nil)
	for range 2 {
		_, err := d.Whole(t.Context(), nil)
		if !errors.Is(err, engine.ErrNotAsked) || !errors.Is(err, pg.ErrConnection) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	d = database(t, t.TempDir(), "postgres://anna:S3CRET@127.0.0.1:9/raglab", nil)
	if _, err := d.Whole(ctx, nil); !errors.Is(err, gone) || errors.Is(err, engine.ErrNotAsked) {
		t.Errorf("%v, want that the context ended", err)
	}
}

func TestDatabase_wholeTellsWhatBecameOfTables(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Named(t)
	key := func(name string) cache.Key { return cache.Key(cache.DigestOf([]byte(name))) }
	planner := database(t, t.TempDir(), dsn, nil)
	if wrong, err := planner.Whole(t.Context(), nil); err != nil || len(wrong) != 0 {
		t.Errorf("an empty database: %v, %v", wrong, err)
	}

	runner := database(t, t.TempDir(), dsn, nil)
	db, err := runner.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"whole", "emptied", "dropped"} {
		ix := pg.Index{Key: key(name).String(), Kind: "test", Definition: "(id integer)", Params: struct{}{}}
		_, _, err := db.Build(t.Context(), ix, func(ctx context.Context, b *pg.Building) error {
			return b.Exec(ctx, "insert into "+b.Table+" select generate_series(1, 1000)")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, sql := range map[string]string{"emptied": "truncate %s", "dropped": "drop table %s"} {
		table, err := db.Table(key(name).String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pool().Exec(t.Context(), fmt.Sprintf(sql, table.Sanitize())); err != nil {
			t.Fatal(err)
		}
	}
	want := map[cache.Key]string{
		key("whole"): "", key("emptied"): "its table was emptied", key("dropped"): "its table was dropped",
	}
	// The planner's connection found no schema when it was made; a planner that
	// comes now does.
	for _, d := range []*workspace.Database{runner, database(t, t.TempDir(), dsn, nil)} {
		if wrong, err := d.Whole(t.Context(), nil); err != nil || !maps.Equal(wrong, want) {
			t.Errorf("%v, %v, want %v", wrong, err, want)
		}
		wrong, err := d.Whole(t.Context(), []cache.Key{key("whole"), key("never")})
		if err != nil || !maps.Equal(wrong, map[cache.Key]string{key("whole"): ""}) {
			t.Errorf("%v, %v", wrong, err)
		}
	}
}

func TestDatabase_planDoesNotWaitForALock(t *testing.T) {
	t.Parallel()
	d := database(t, t.TempDir(), pgtest.Named(t), nil)
	db, err := d.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ix := pg.Index{Key: strings.Repeat("ab", 32), Kind: "test", Definition: "(id integer)"}
	m, _, err := db.Build(t.Context(), ix, func(context.Context, *pg.Building) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), "lock table "+pgx.Identifier{db.Schema(), m.Table}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	_, err = d.Whole(t.Context(), nil)
	if !errors.Is(err, engine.ErrNotAsked) || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("%v, want that it was not asked since it did not answer", err)
	}
}

func TestDatabase_connectsOnceForAll(t *testing.T) {
	t.Parallel()
	d := database(t, t.TempDir(), pgtest.Named(t), nil)
	var wg sync.WaitGroup
	all := make([]*pg.DB, 8)
	for i := range all {
		wg.Go(func() {
			db, err := d.Connect(t.Context())
			if err != nil {
				t.Error(err)
			}
			all[i] = db
		})
	}
	wg.Wait()
	for _, db := range all {
		if db != all[0] {
			t.Fatal("two callers have two connections")
		}
	}
}

// withStore is a spec with a store.
func withStore(t *testing.T, store string) *spec.Experiment {
	t.Helper()
	text := `experiment "e" {}
corpus "files" { path = "docs" }
golden { file = "golden.jsonl" }
fixed "retriever" { use = "bm25" }
score { metrics = ["ndcg@10"] }
` + store + "\n"
	exp, diags := spec.LoadSources(t.TempDir(), []spec.Source{{Name: "e.hcl", Bytes: []byte(text)}}, spec.LoadOptions{Catalog: workspace.Catalog()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return exp
}

func TestStore_addressIsNoPartOfWhatASpecMeans(t *testing.T) {
	t.Parallel()
	one := withStore(t, `store "postgres" { dsn = "postgres://anna:S3CRET-one@db.example/raglab" }`)
	two := withStore(t, `store "postgres" { dsn = "host=127.0.0.1 password=S3CRET-two dbname=raglab" }`)
	if one.Digest != two.Digest {
		t.Error("the digests differ")
	}
	for _, exp := range []*spec.Experiment{one, two} {
		hide := exp.Redact()
		for _, text := range []string{
			"-var dsn=postgres://anna:S3CRET-one@db.example/raglab", "-var pw=S3CRET-one",
			"dsn is host=127.0.0.1 password=S3CRET-two dbname=raglab", "-var pw=S3CRET-two",
		} {
			number := "one"
			if exp == two {
				number = "two"
			}
			if strings.Contains(text, number) && strings.Contains(hide(text), "S3CRET") {
				t.Errorf("%s is shown", text)
			}
		}
		// Keys are made of what Hide leaves: they must not depend on the store.
		if text := "S3CRET-one S3CRET-two"; exp.Hide()(text) != text {
			t.Error("the store's secrets would enter keys")
		}
	}
}

func TestStore_comesBeforeTheVariable(t *testing.T) {
	t.Parallel()
	elsewhere := "postgres://127.0.0.1:9/raglab"
	for store, want := range map[string]pg.Origin{
		`store "postgres" { dsn = "host=db.example" }`: pg.FromSpec,
		`store "postgres" { schema = "other" }`:        pg.FromEnv,
		"":                                             pg.FromEnv,
	} {
		if d := database(t, t.TempDir(), elsewhere, withStore(t, store)); d.Origin() != want {
			t.Errorf("%s: the server is that of %s, want %s", store, d.Origin(), want)
		}
	}
	if d := database(t, t.TempDir(), "", withStore(t, `store "postgres" { max_connections = 3 }`)); !d.Own() {
		t.Errorf("the server is that of %s", d.Origin())
	}
}

// A schema that somebody drops while raglab works is made again, and what was there
// is gone, not a failure.
func TestDatabase_schemaDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Named(t)
	planner, runner := database(t, t.TempDir(), dsn, nil), database(t, t.TempDir(), dsn, nil)
	first, err := runner.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := cache.Key(cache.DigestOf([]byte("index")))
	ix := pg.Index{Key: key.String(), Kind: "test", Definition: "(id integer)", Params: struct{}{}}
	build := func(ctx context.Context, b *pg.Building) error {
		return b.Exec(ctx, "insert into "+b.Table+" select generate_series(1, 1000)")
	}
	if _, _, err := first.Build(t.Context(), ix, build); err != nil {
		t.Fatal(err)
	}
	if wrong, err := planner.Whole(t.Context(), nil); err != nil || len(wrong) != 1 {
		t.Fatalf("%v, %v", wrong, err)
	}
	if _, err := first.Pool().Exec(t.Context(), "drop schema raglab cascade"); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*workspace.Database{planner, runner} {
		if wrong, err := d.Whole(t.Context(), nil); err != nil || len(wrong) != 0 {
			t.Errorf("%v, %v", wrong, err)
		}
	}
	if err := first.Await(t.Context()); !errors.Is(err, pg.ErrNoTable) {
		t.Errorf("%v", err)
	}
	// Whoever looks after another made the schema again may go on with what there was.
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := runner.Connect(t.Context())
			if err != nil {
				t.Error(err)
			} else if _, _, err := db.Build(t.Context(), ix, build); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wrong, err := planner.Whole(t.Context(), nil); err != nil || len(wrong) != 1 {
		t.Errorf("%v, %v", wrong, err)
	}
}

func TestDatabase_removes(t *testing.T) {
	t.Parallel()
	d := database(t, t.TempDir(), pgtest.Named(t), nil)
	db, err := d.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := cache.Key(cache.DigestOf([]byte("index")))
	ix := pg.Index{Key: key.String(), Kind: "test", Definition: "(id integer)", Params: struct{}{}}
	for range 2 {
		_, built, err := db.Build(t.Context(), ix, func(context.Context, *pg.Building) error { return nil })
		if err != nil || !built {
			t.Fatalf("built %v, %v", built, err)
		}
		for range 2 { // what is not there is removed
			if err := d.Remove(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := database(t, t.TempDir(), "postgres://anna:S3CRET@127.0.0.1:9/raglab", nil)
	if err := gone.Remove(t.Context(), key); !engine.IsTransient(err) || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("%v", err)
	}
}
