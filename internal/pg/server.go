package pg

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The oldest versions that raglab works with: pgvector 0.8 brought iterative index
// scans, and Postgres 14 the setting that ends the work of clients that died.
const (
	minServer      = 140000
	minServerText  = "14"
	minVector      = "0.8.0"
	vectorPackages = "pgvector"
)

// Server is what is known of a server and of the role that raglab has on it.
type Server struct {
	// Version and VersionNum are Postgres's, as 18.4 and 180004.
	Version    string
	VersionNum int
	// Vector is the version of pgvector in the database, VectorSchema where it is;
	// empty when it was not created there. VectorAvailable is the version that could
	// be created, empty when the server has none.
	Vector, VectorSchema, VectorAvailable string
	// Database and User are names, Host and Port where the connection goes.
	Database, User, Host string
	Port                 uint16
	// Superuser, MayCreate and ReadOnly are what the role may do: everything, make
	// tables in raglab's schema, nothing but read.
	Superuser, MayCreate, ReadOnly bool
	// MayCreateSchema says that the role may make schemas in the database.
	MayCreateSchema bool
	// SchemaThere says that raglab's schema is there, and Migration how far it is;
	// 0 when it has no table yet. Closed says that the role may not read its tables.
	SchemaThere, Closed bool
	Migration           int
	// Pooler is what stands between raglab and the server, if something does.
	Pooler Pooler
	// Linux says that the server runs on Linux.
	Linux bool
}

const serverFacts = `
	select current_setting('server_version'), current_setting('server_version_num')::int,
		coalesce(e.extversion, ''), coalesce(en.nspname, ''),
		coalesce((select default_version from pg_available_extensions where name = 'vector'), ''),
		current_database(), current_user,
		coalesce((select rolsuper from pg_roles where rolname = current_user), false),
		coalesce((select has_schema_privilege(oid, 'usage') and has_schema_privilege(oid, 'create') from pg_namespace where nspname = $1), false),
		pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool,
		has_database_privilege(current_database(), 'create'),
		exists (select from pg_namespace where nspname = $1),
		v.oid is not null, coalesce(not (has_schema_privilege(v.relnamespace, 'usage') and has_table_privilege(v.oid, 'select')), false),
		position('linux' in version()) > 0
	from (select 1) one
		left join pg_extension e on e.extname = 'vector'
		left join pg_namespace en on en.oid = e.extnamespace
		left join pg_namespace rn on rn.nspname = $1
		left join pg_class v on v.relnamespace = rn.oid and v.relname = 'schema_version'`

// readServer asks a server for the facts; the pooler is not looked for.
func readServer(ctx context.Context, conn *pgx.Conn, schema string) (Server, error) {
	s := Server{Host: conn.Config().Host, Port: conn.Config().Port}
	var versionTable bool
	err := conn.QueryRow(ctx, serverFacts, schema).Scan(&s.Version, &s.VersionNum, &s.Vector, &s.VectorSchema,
		&s.VectorAvailable, &s.Database, &s.User, &s.Superuser, &s.MayCreate, &s.ReadOnly, &s.MayCreateSchema,
		&s.SchemaThere, &versionTable, &s.Closed, &s.Linux)
	if err == nil && versionTable && !s.Closed {
		err = conn.QueryRow(ctx, "select version from "+pgx.Identifier{schema, "schema_version"}.Sanitize()).Scan(&s.Migration)
	}
	// Distributions add their own words: 15.18 (Debian 15.18-1).
	s.Version, _, _ = strings.Cut(s.Version, " ")
	return s, err
}

// AdminError says that the server lacks something that only an administrator can
// give.
type AdminError struct {
	// Problem is what is missing.
	Problem string
	// Database is where the SQL must be run, and SQL the statements.
	Database string
	SQL      []string
	// Hint is what else to do, as to install a package; may be empty.
	Hint string
}

// Error ends with the statements, each on a line of its own.
func (e *AdminError) Error() string {
	text := e.Problem
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	if len(e.SQL) > 0 {
		text += fmt.Sprintf(": an administrator must run in database %s\n  %s", e.Database, strings.Join(e.SQL, "\n  "))
	}
	return text
}

// needs returns what the server lacks for raglab to make tables in the schema, nil
// when nothing is. The extension may still have to be created, and the schema too.
func (s Server) needs(schema string) error {
	admin := func(problem, hint string, sql ...string) error {
		return &AdminError{Problem: problem, Database: s.Database, SQL: sql, Hint: hint}
	}
	if s.VersionNum < minServer {
		return admin(fmt.Sprintf("the server is Postgres %s, and raglab needs %s or later", s.Version, minServerText), "upgrade it")
	}
	if err := s.needsVector(admin); err != nil {
		return err
	}
	name, user := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{s.User}.Sanitize()
	switch {
	case !s.SchemaThere && s.ReadOnly:
		return admin(fmt.Sprintf("role %s may only read, and there is no schema %s", s.User, schema),
			"use a role that may write")
	case !s.SchemaThere && !s.MayCreateSchema:
		return admin(fmt.Sprintf("there is no schema %s, and role %s may not make it", schema, s.User), "",
			fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s;", name, user))
	case s.Closed:
		return s.closed(schema)
	case s.SchemaThere && !s.MayCreate && s.Migration == 0:
		return admin(fmt.Sprintf("role %s may not make tables in schema %s", s.User, schema), "",
			fmt.Sprintf("GRANT USAGE, CREATE ON SCHEMA %s TO %s;", name, user))
	}
	return nil
}

// closed says that the role may not use the tables of the schema.
func (s Server) closed(schema string) error {
	name, user := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{s.User}.Sanitize()
	return &AdminError{
		Problem:  fmt.Sprintf("role %s may not use the tables of schema %s", s.User, schema),
		Database: s.Database,
		SQL: []string{
			fmt.Sprintf("GRANT USAGE, CREATE ON SCHEMA %s TO %s;", name, user),
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s;", name, user),
		},
	}
}

// needsVector is the part of needs about the extension.
func (s Server) needsVector(admin func(problem, hint string, sql ...string) error) error {
	install := fmt.Sprintf("install the package %s for Postgres %d on the server", vectorPackages, s.VersionNum/10000)
	const create = "CREATE EXTENSION vector;"
	switch {
	case s.Vector == "" && s.VectorAvailable == "":
		return admin("the server does not have the extension vector", install+", then", create)
	case s.Vector == "" && olderVersion(s.VectorAvailable, minVector):
		return admin(fmt.Sprintf("the server has version %s of the extension vector, and raglab needs %s or later",
			s.VectorAvailable, minVector), install+", in a later version, then", create)
	case s.Vector == "" && s.ReadOnly:
		return admin("the database does not have the extension vector, and role "+s.User+" may only read", "", create)
	case s.Vector != "" && olderVersion(s.Vector, minVector):
		hint := ""
		if olderVersion(s.VectorAvailable, minVector) {
			hint = install + ", in a later version, then"
		}
		return admin(fmt.Sprintf("the database has version %s of the extension vector, and raglab needs %s or later",
			s.Vector, minVector), hint, "ALTER EXTENSION vector UPDATE;")
	}
	return nil
}

// olderVersion compares versions of numbers and dots; what does not parse counts as
// old.
func olderVersion(v, than string) bool {
	var a, b [3]int
	fmt.Sscanf(v, "%d.%d.%d", &a[0], &a[1], &a[2])
	fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
