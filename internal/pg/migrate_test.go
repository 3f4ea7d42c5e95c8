package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/migrations"
)

// dropLater drops the schema of a configuration when the test ends.
func dropLater(t *testing.T, c pg.Config) {
	t.Helper()
	t.Cleanup(func() {
		db, err := pg.Connect(context.Background(), c)
		if err == nil {
			err = db.DropSchema(context.Background())
			db.Close()
		}
		if err != nil {
			t.Errorf("drop the schema: %v", err)
		}
	})
}

func TestConnect_manyAtOnceMakeOneSchema(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	dropLater(t, c)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			db, err := pg.Connect(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if s := db.Server(); s.Migration != latest(t) || s.Vector == "" || !s.MayCreate || s.Pooler.Mode != "" {
				t.Errorf("%+v", s)
			}
		})
	}
	wg.Wait()
}

func TestConnect_newerSchemaIsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.DropSchema(context.Background()); db.Close() })
	run(t, db, "update "+c.Schema+".schema_version set version = 99")
	_, err = pg.Connect(t.Context(), c)
	newer, ok := errors.AsType[*pg.NewerSchemaError](err)
	if !ok || newer.Found != 99 || newer.Want != latest(t) || strings.ContainsAny(err.Error(), "\n.") {
		t.Errorf("%v", err)
	}
}

func TestConnect_schemaThatLostItsTables(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run(t, db, "drop table "+c.Schema+".index_manifests")
	_, err = pg.Connect(t.Context(), c)
	admin, ok := errors.AsType[*pg.AdminError](err)
	if !ok || len(admin.SQL) != 1 {
		t.Fatalf("%v", err)
	}
	run(t, db, admin.SQL[0])
	// Somebody emptied the database: all begins anew.
	dropLater(t, c)
	again, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if found, err := again.Exists(t.Context(), []string{key("a")}); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestMigrate_failureLeavesTheStepBefore(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	// Connecting applies raglab's own steps: the one that fails comes after them.
	files, next := fstest.MapFS{}, fmt.Sprintf("%03d_next.sql", latest(t)+1)
	if err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.Files, path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	files[next] = &fstest.MapFile{Data: []byte("create table {{.schema}}.more (n int); select 1 / 0")}
	err := pg.MigrateWith(t.Context(), c, files)
	if err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Fatalf("%v", err)
	}
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var more bool
	var version int
	err = db.Pool().QueryRow(t.Context(), "select to_regclass('more') is not null, version from schema_version").Scan(&more, &version)
	if err != nil || more || version != latest(t) {
		t.Errorf("table of the last step %v, version %d, %v", more, version, err)
	}
	files[next] = &fstest.MapFile{Data: []byte("create table {{.schema}}.more (n int)")}
	if err := pg.MigrateWith(t.Context(), c, files); err != nil {
		t.Error(err)
	}
	run(t, db, "drop schema "+c.Schema+" cascade")
}

func TestConnect_refusesNamesThatNeedQuotes(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"Raglab", "a-b", `a"b`, "a.b", "1a", strings.Repeat("a", 64)} {
		_, err := pg.Connect(t.Context(), pg.Config{Schema: schema})
		if err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// latest is the number of the last migration.
func latest(t *testing.T) int {
	t.Helper()
	files, err := migrations.Files.ReadDir(".")
	if err != nil {
		t.Error(err)
	}
	return len(files)
}
