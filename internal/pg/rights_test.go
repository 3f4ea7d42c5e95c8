package pg_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// address returns the DSN of the server of a DB, whose connections get options.
func address(t *testing.T, db *pg.DB, options string) pg.DSN {
	t.Helper()
	s := db.Server()
	config := db.Pool().Config().ConnConfig
	return pg.DSN(fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable options='%s'",
		s.Host, s.Port, config.User, config.Password, s.Database, options))
}

// role makes a role that may do nothing yet; the test drops it.
func role(t *testing.T, db *pg.DB) string {
	t.Helper()
	name := "role_" + strings.ToLower(rand.Text())
	run(t, db, "create role "+name)
	return name
}

// adminMust requires an AdminError with the SQL, which it returns.
func adminMust(t *testing.T, err error, sql string) string {
	t.Helper()
	admin, ok := errors.AsType[*pg.AdminError](err)
	if !ok || len(admin.SQL) == 0 || admin.SQL[0] != sql || !strings.HasSuffix(err.Error(), strings.Join(admin.SQL, "\n  ")) {
		t.Fatalf("%v\nwant an administrator to run %s", err, sql)
	}
	return strings.Join(admin.SQL, "")
}

func TestRights_eachLackNamesTheSQLThatHelps(t *testing.T) {
	t.Parallel()
	admin := pgtest.Connect(t)
	name := role(t, admin)
	c := pgtest.Config(t)
	c.Private, c.DSN = nil, address(t, admin, "-c role="+name)
	t.Cleanup(func() {
		run(t, admin, "drop schema if exists "+c.Schema+" cascade; drop owned by "+name+"; drop role "+name)
	})

	_, err := pg.Connect(t.Context(), c)
	run(t, admin, adminMust(t, err, fmt.Sprintf(`CREATE SCHEMA "%s" AUTHORIZATION "%s";`, c.Schema, name)))
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	build(t, db, vectorIndex("mine", 4), fillHNSW(vectors(5, 4)))
	db.Close()

	// A schema that another role made.
	run(t, admin, fmt.Sprintf("alter schema %[1]s owner to current_user; reassign owned by %[2]s to current_user; drop owned by %[2]s", c.Schema, name))
	_, err = pg.Connect(t.Context(), c)
	run(t, admin, adminMust(t, err, fmt.Sprintf(`GRANT USAGE, CREATE ON SCHEMA "%s" TO "%s";`, c.Schema, name)))
	db, err = pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if f, ok := exists(t, db, key("mine")); !ok || f.Problem != "" {
		t.Errorf("%v, %q", ok, f.Problem)
	}
	build(t, db, vectorIndex("another", 4), fillHNSW(vectors(5, 4)))
	run(t, admin, fmt.Sprintf("revoke all on schema %s from %s", c.Schema, name))
	if _, err := db.Exists(t.Context(), nil); !errors.Is(err, pg.ErrPermission) || pg.IsTransient(err) {
		t.Errorf("%v", err)
	}
}

func TestRights_extensionThatOnlyASuperuserMayCreate(t *testing.T) {
	t.Parallel()
	admin := pgtest.Connect(t)
	name := role(t, admin)
	database := "db_" + strings.ToLower(rand.Text())
	run(t, admin, "create database "+database+" owner "+name)
	t.Cleanup(func() {
		run(t, admin, "drop database "+database+" with (force)")
		run(t, admin, "drop role "+name)
	})
	c := pgtest.Config(t)
	dsn := address(t, admin, "-c role="+name)
	c.Private, c.DSN = nil, pg.DSN(strings.Replace(string(dsn), "dbname="+admin.Server().Database, "dbname="+database, 1))
	_, err := pg.Connect(t.Context(), c)
	sql := adminMust(t, err, "CREATE EXTENSION vector;")
	if !strings.Contains(err.Error(), "in database "+database) {
		t.Errorf("%v", err)
	}
	asAdmin := c
	asAdmin.DSN = pg.DSN(strings.Replace(string(c.DSN), "-c role="+name, "", 1))
	looked, err := pg.Look(t.Context(), asAdmin)
	if err != nil {
		t.Fatal(err)
	}
	server, from := looked.Server(), looked.Origin()
	looked.Close()
	if server.Vector != "" || server.VectorAvailable == "" || server.SchemaThere || !server.Superuser || from != pg.FromSpec {
		t.Errorf("%+v, %s", server, from)
	}
	other, err := pg.Connect(t.Context(), asAdmin)
	if err != nil {
		t.Fatal(err)
	}
	run(t, other, "drop schema "+c.Schema+" cascade; drop extension vector")
	run(t, other, sql)
	other.Close()
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
}

func TestRights_readOnlyRole(t *testing.T) {
	t.Parallel()
	admin := pgtest.Connect(t)
	c := pgtest.Config(t)
	c.Private, c.DSN = nil, address(t, admin, "-c default_transaction_read_only=on")
	_, err := pg.Connect(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "may only read") {
		t.Errorf("without a schema: %v", err)
	}
	c.Schema = admin.Schema()
	build(t, admin, vectorIndex("there", 4), fillHNSW(vectors(5, 4)))
	db, err := pg.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if f, ok := exists(t, db, key("there")); !ok || f.Problem != "" || !db.Server().ReadOnly {
		t.Errorf("%v, %q, %+v", ok, f.Problem, db.Server())
	}
	_, _, err = db.Build(t.Context(), vectorIndex("new", 4), fillHNSW(vectors(5, 4)))
	if !errors.Is(err, pg.ErrReadOnly) || pg.IsTransient(err) {
		t.Errorf("%v", err)
	}
}

func TestServerNeeds(t *testing.T) {
	t.Parallel()
	good := pg.Server{
		Version: "16.3", VersionNum: 160003, Vector: "0.8.1", VectorAvailable: "0.8.1", Database: "db", User: "me",
		MayCreate: true, SchemaThere: true, Migration: 1,
	}
	tests := map[string]struct {
		change func(*pg.Server)
		want   string
	}{
		"nothing":           {func(*pg.Server) {}, ""},
		"not created yet":   {func(s *pg.Server) { s.Vector = "" }, ""},
		"old server":        {func(s *pg.Server) { s.Version, s.VersionNum = "13.4", 130004 }, "the server is Postgres 13.4, and raglab needs 14 or later: upgrade it"},
		"no pgvector":       {func(s *pg.Server) { s.Vector, s.VectorAvailable = "", "" }, "the server does not have the extension vector: install the package pgvector for Postgres 16 on the server, then: an administrator must run in database db\n  CREATE EXTENSION vector;"},
		"old in database":   {func(s *pg.Server) { s.Vector = "0.5.1" }, "the database has version 0.5.1 of the extension vector, and raglab needs 0.8.0 or later: an administrator must run in database db\n  ALTER EXTENSION vector UPDATE;"},
		"old on server":     {func(s *pg.Server) { s.Vector, s.VectorAvailable = "", "0.7.4" }, "in a later version, then: an administrator must run in database db\n  CREATE EXTENSION vector;"},
		"old everywhere":    {func(s *pg.Server) { s.Vector, s.VectorAvailable = "0.7.4", "0.7.4" }, "in a later version, then: an administrator must run in database db\n  ALTER EXTENSION vector UPDATE;"},
		"ten is after nine": {func(s *pg.Server) { s.Vector = "0.10.0" }, ""},
		"only reads":        {func(s *pg.Server) { s.Vector, s.ReadOnly = "", true }, "role me may only read"},
	}
	for name, test := range tests {
		s := good
		test.change(&s)
		err := s.Needs("raglab")
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
	}
}
