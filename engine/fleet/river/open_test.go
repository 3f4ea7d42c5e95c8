package river_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"raglab/engine"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// guest is a role that may use a schema and what is in it, but owns nothing.
func guest(t testing.TB, db *pg.DB) (name string) {
	t.Helper()
	name = "role_" + strings.ToLower(rand.Text())
	alter(t, db, "create role "+name)
	admit(t, db, name)
	t.Cleanup(func() {
		if _, err := db.Pool().Exec(context.Background(), fmt.Sprintf("drop owned by %[1]s; drop role %[1]s", name)); err != nil {
			t.Errorf("drop the role of the test: %v", err)
		}
	})
	return name
}

// admit lets a role use all that is in a schema by now.
func admit(t testing.TB, db *pg.DB, role string) {
	t.Helper()
	alter(t, db, fmt.Sprintf(`grant usage on schema {s} to %[1]s; grant select, insert, update, delete, truncate on all tables in schema {s} to %[1]s;
		grant usage, select, update on all sequences in schema {s} to %[1]s`, role))
}

// as says how to connect to a schema as another role.
func as(db *pg.DB, role string) pg.Config {
	s, c := db.Server(), db.Pool().Config().ConnConfig
	return pg.Config{
		DSN: pg.DSN(fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname='%s' sslmode=disable options='-c role=%s'",
			s.Host, s.Port, c.User, c.Password, s.Database, role)),
		Schema: db.Schema(), Version: "test", Getenv: func(string) string { return "" },
	}
}

func connect(t testing.TB, c pg.Config) *pg.DB {
	t.Helper()
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// migrator is River's for a schema.
func migrator(t testing.TB, db *pg.DB) *rivermigrate.Migrator[pgx.Tx] {
	t.Helper()
	m, err := rivermigrate.New(riverpgxv5.New(db.Pool()), &rivermigrate.Config{Schema: db.Schema(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// latestOfRiver is the last of River's migrations.
func latestOfRiver(t testing.TB, db *pg.DB) int {
	t.Helper()
	all := migrator(t, db).AllVersions()
	return all[len(all)-1].Version
}

// firstWithLines is the first of River's migrations that tells what a table's version is
// of.
const firstWithLines = 5

// The tables of an older raglab's River are brought up to date by who owns them. To
// others a sentence says so, and nothing is changed.
func TestOpen_olderRiver(t *testing.T) {
	t.Parallel()
	for version := firstWithLines; version < latestOfRiver(t, pgtest.Connect(t)); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Connect(t)
			if _, err := migrator(t, db).Migrate(t.Context(), rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version}); err != nil {
				t.Fatal(err)
			}
			role := guest(t, db)
			other := connect(t, as(db, role))
			_, err := river.Open(t.Context(), river.Options{DB: other, Slots: slots(1)})
			older, ok := errors.AsType[*river.VersionError](err)
			if !ok || older.Found != version || older.Want != latestOfRiver(t, db) || older.Role != role || older.Schema != db.Schema() {
				t.Fatalf("open: %v, want a VersionError of %d", err, version)
			}
			if text := err.Error(); !strings.Contains(text, "older raglab") || !strings.Contains(text, role) || strings.Contains(text, "\n") {
				t.Errorf("open: %v", err)
			}
			if found := ask[int](t, db, `select max(version) from {s}.river_migration`); found != version {
				t.Errorf("the tables are at %d now, want %d as before", found, version)
			}
			open(t, db, func(o *river.Options) { o.Slots = nil })
			if found := ask[int](t, db, `select max(version) from {s}.river_migration`); found != older.Want {
				t.Errorf("their owner has brought them to %d, want %d", found, older.Want)
			}
			// What the sentence says helps.
			admit(t, db, role)
			q := open(t, other, nil)
			run := submit(t, q, layers(2, 1))
			finish(t, q, one(t, q))
			finish(t, q, one(t, q))
			if got := kinds(await(t, q, run)); got[engine.EventComplete] != 2 {
				t.Errorf("notices %v", got)
			}
		})
	}
}

// A schema of before there was a queue is brought up to date by who may; to others a
// sentence says what is lacking.
func TestOpen_olderSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	latest := ask[int](t, db, `select version from {s}.schema_version`)
	alter(t, db, `do $$ declare x text; begin
		for x in select c.oid::regclass from pg_class c where relnamespace = '{s}'::regnamespace and relname like 'fleet%' and relkind = 'r' loop
			execute 'drop table ' || x || ' cascade'; end loop; end $$;
		drop sequence {s}.fleet_notice_id;
		update {s}.schema_version set version = 1`)
	role := guest(t, db)
	_, err := pg.Connect(t.Context(), as(db, role))
	_, ok := errors.AsType[*pg.AdminError](err)
	want := fmt.Sprintf("the schema %s was made by an older raglab (it is at migration 1, this raglab needs %d), and role %s may not change it: "+
		"run raglab worker once as the role that owns it", db.Schema(), latest, role)
	if !ok || err.Error() != want {
		t.Errorf("connect: %v\nwant %s", err, want)
	}
	if found := ask[int](t, db, `select version from {s}.schema_version`); found != 1 {
		t.Errorf("the schema is at %d now, want 1 as before", found)
	}
	c := pgtest.Config(t)
	c.Schema = db.Schema()
	owner := connect(t, c)
	if found := ask[int](t, db, `select version from {s}.schema_version`); found != latest {
		t.Errorf("its owner has brought it to %d, want %d", found, latest)
	}
	q := open(t, owner, nil)
	run := submit(t, q, layers(1, 1))
	finish(t, q, one(t, q))
	await(t, q, run)
}

// Processes that begin with an empty schema at once all succeed, and work together.
func TestOpen_emptySchemaAtOnce(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	var s said
	var all []*process
	for i := range 4 {
		all = append(all, startWorker(t, &s, shiftJob{
			Name: fmt.Sprint("worker", i), Private: c.Private, DSN: string(c.DSN), Schema: c.Schema, Slots: 2, Sleep: 20 * time.Millisecond,
		}))
	}
	for _, p := range all {
		p.awaitReady()
	}
	q, _ := atSchema(t, c, shiftJob{})
	const nodes = 40
	run, err := q.Submit(t.Context(), layers(nodes, 20))
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(await(t, q, run)); got[engine.EventComplete] != nodes || len(got) != 1 {
		t.Errorf("notices %v, want %d complete", got, nodes)
	}
	for _, p := range all {
		p.stop()
	}
}

// A pool of one connection would wait for itself.
func TestOpen_oneConnection(t *testing.T) {
	t.Parallel()
	c := pgtest.Config(t)
	atSchema(t, c, shiftJob{}) // the schema is dropped with it
	c.MaxConns = 1
	_, err := river.Open(t.Context(), river.Options{DB: connect(t, c), Slots: slots(1)})
	if err == nil || !strings.Contains(err.Error(), "at least 2 connections") {
		t.Errorf("open: %v", err)
	}
	c.MaxConns = 2
	two := open(t, connect(t, c), nil)
	run := submit(t, two, layers(2, 1))
	finish(t, two, one(t, two))
	finish(t, two, one(t, two))
	await(t, two, run)
}
