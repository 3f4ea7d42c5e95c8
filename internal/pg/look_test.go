package pg_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// look connects as a plan does; the test closes it.
func look(t *testing.T, c pg.Config) *pg.DB {
	t.Helper()
	db, err := pg.Look(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestLook_makesNothing(t *testing.T) {
	t.Parallel()
	admin := pgtest.Connect(t)
	c := pgtest.Config(t)
	db := look(t, c)
	if ready, err := db.Ready(); ready || err != nil {
		t.Errorf("ready %v, %v: nothing was made yet", ready, err)
	}
	if err := db.Lacks(); err != nil {
		t.Errorf("lacks %v", err)
	}
	var there bool
	if err := admin.Pool().QueryRow(t.Context(), "select exists (select from pg_namespace where nspname = $1)", c.Schema).Scan(&there); err != nil || there {
		t.Errorf("schema %v, %v", there, err)
	}
	if err := db.DropSchema(t.Context()); err != nil {
		t.Errorf("drop what is not there: %v", err)
	}
}

func TestLook_seesWhatWasBuilt(t *testing.T) {
	t.Parallel()
	made := pgtest.Connect(t)
	build(t, made, vectorIndex("one", 4), fillHNSW(vectors(5, 4)))
	build(t, made, vectorIndex("two", 4), fillHNSW(vectors(5, 4)))
	run(t, made, "truncate "+made.Schema()+"."+tableOf(t, "two"))

	c := pgtest.Config(t)
	c.Schema = made.Schema()
	db := look(t, c)
	if ready, err := db.Ready(); !ready || err != nil {
		t.Fatalf("ready %v, %v", ready, err)
	}
	all, err := db.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	problems := map[string]string{}
	for k, f := range all {
		problems[k] = f.Problem
	}
	want := map[string]string{key("one"): "", key("two"): "its table was emptied"}
	if !maps.Equal(problems, want) {
		t.Errorf("problems %v, want %v", problems, want)
	}
	run(t, made, "update "+made.Schema()+".schema_version set version = 1000")
	var newer *pg.NewerSchemaError
	if _, err := look(t, c).Ready(); !errors.As(err, &newer) {
		t.Errorf("%v, want that a newer raglab made it", err)
	}
	run(t, made, "update "+made.Schema()+".schema_version set version = 1")
}

// TestAll_tellsWhenATableWasRead makes tables look old, reads one, and expects
// that one to be young again.
func TestAll_tellsWhenATableWasRead(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	if db.Server().VersionNum < 160000 {
		t.Skipf("Postgres %s does not remember that a table was read", db.Server().Version)
	}
	begun := time.Now().Add(-time.Minute)
	build(t, db, vectorIndex("read", 4), fillHNSW(vectors(5, 4)))
	build(t, db, vectorIndex("unread", 4), fillHNSW(vectors(5, 4)))
	run(t, db, "update "+db.Schema()+".index_manifests set created_at = now() - interval '40 days'")
	conn, err := db.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// What this session has read and not told yet is told before all is forgotten.
	for _, sql := range []string{
		"select pg_stat_force_next_flush()",
		"select pg_stat_reset_single_table_counters(c.oid) from pg_class c where relname in ('" + tableOf(t, "read") + "', '" + tableOf(t, "unread") + "')",
		"select count(*) from " + db.Schema() + "." + tableOf(t, "read"),
		"select pg_stat_force_next_flush()",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	conn.Release()
	eventually(t, func() bool {
		all, err := db.All(t.Context())
		return err == nil && all[key("read")].UsedAt.After(begun)
	})
}

func tableOf(t *testing.T, name string) string {
	t.Helper()
	table, err := pg.TableName(key(name))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestLook_startsNoServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "postgres")
	c := pg.Config{
		Getenv:  func(string) string { return "" },
		Private: &private.Config{Dir: dir, Programs: filepath.Join(t.TempDir(), "none")},
	}
	if _, err := pg.Look(t.Context(), c); !errors.Is(err, private.ErrNotRunning) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("looking made the folder: %v", err)
	}
}

func TestDSN_secretsAreNoCommonWords(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[pg.DSN]string{
		"": "",
		"postgres://anna:hunter22@db.example/raglab":    "hunter22",
		"host=db user=anna password='two words'":        "two words",
		"postgres://raglab:raglab@127.0.0.1:5460/tests": "",
	} {
		found := dsn.Secrets()
		has := func(s string) bool {
			for _, f := range found {
				if f == s {
					return true
				}
			}
			return false
		}
		if want != "" && !has(want) || has("raglab") || has("anna") || dsn != "" && !has(string(dsn)) {
			t.Errorf("the secrets of one with the password %q number %d", want, len(found))
		}
		if err := dsn.Check(); err != nil {
			t.Errorf("%v", err)
		}
	}
	if err := pg.DSN("postgres://u:p/w@h:x/d").Check(); err == nil || strings.Contains(err.Error(), "p/w") {
		t.Errorf("%v", err)
	}
	if got := pg.Redact(`dns = "postgres://u:hunter22@h/d" # password=x`); strings.Contains(got, "hunter22") || strings.Contains(got, "=x") {
		t.Error(got)
	}
}
