package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/internal/param"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// database makes a database with tables and returns its address.
func database(t testing.TB, statements ...string) string {
	t.Helper()
	dsn := pgtest.Named(t)
	execute(t, dsn, statements...)
	return dsn
}

func execute(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func newPostgres(t testing.TB, dsn string, set func(*source.PostgresParams)) source.Source {
	t.Helper()
	return newSource(t, source.Postgres(), func(p *source.PostgresParams) {
		p.DSN = pg.DSN(dsn)
		set(p)
	})
}

const articles = `create table articles (id bigint primary key, title text, body text, updated timestamptz not null default now())`

func TestPostgres_conformance(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles, `insert into articles values (1, 'Київ', 'Столиця.'), (2, null, 'Друга.'), (10, 'Х', 'Т')`)
	sourcetest.Run(t, func(t *testing.T) source.Source {
		return newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table = "articles" })
	})
}

func TestPostgres_digest(t *testing.T) {
	t.Parallel()
	dsn := database(t, `create table d (n numeric(6,2) primary key, at timestamptz, body bytea)`,
		`insert into d values (1.5, '2026-01-01 12:00+02', 'x'), (20, null, '\xff')`)
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Title = "d", "at" })
	checkDigest(t, source.Postgres(), s, map[string]string{"postgres@1": "86e8a8fc22cd6dc849bf568df324572baf235b8a6c6b88f03110d40c500cf0a4"})
}

func TestPostgres_orderIsThatOfBytes(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles, `insert into articles values (2, 'b', 'B'), (10, 'ten', 'T'), (1, 'a', 'A')`,
		`create table words (word text primary key, title text, body text)`, `insert into words values ('b','',''), ('B','x',''), ('é','x',''), ('a-b','x',''), ('ab','x','')`)
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table = "articles" })
	want := []axes.Document{{ID: "1", Title: "a", Text: "A"}, {ID: "10", Title: "ten", Text: "T"}, {ID: "2", Title: "b", Text: "B"}}
	if got := sourcetest.Read(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("documents\n%v\nwant\n%v", got, want)
	}
	s = newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Empty = "words", "keep" })
	if got := idsOf(sourcetest.Read(t, s)); !reflect.DeepEqual(got, []string{"B", "a-b", "ab", "b", "é"}) {
		t.Errorf("ids %q are not in the order of their bytes", got)
	}
}

func idsOf(docs []axes.Document) []string {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids
}

// TestPostgres_awkwardNames reads what needs quoting, and what is no table.
func TestPostgres_awkwardNames(t *testing.T) {
	t.Parallel()
	dsn := database(t, `create schema "My.Schema"`,
		`create table "My.Schema"."ta""ble" ("the id" uuid primary key, "Überschrift" varchar(20), "select" jsonb)`,
		`insert into "My.Schema"."ta""ble" values ('00000000-0000-0000-0000-000000000002', 'T', '{"a": 1}'), ('00000000-0000-0000-0000-000000000001', null, '"x"')`,
		`create view shown as select "the id" as id, "Überschrift" as title, 'text ' || "select"::text as body from "My.Schema"."ta""ble"`,
		`create materialized view kept as select * from shown`)
	want := []string{"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"}
	for name, set := range map[string]func(*source.PostgresParams){
		"quoted table": func(p *source.PostgresParams) {
			p.Table, p.Title, p.Body = `"My.Schema"."ta""ble"`, "Überschrift", "select"
		},
		"view":              func(p *source.PostgresParams) { p.Table, p.ID = "public.shown", "id" },
		"materialized view": func(p *source.PostgresParams) { p.Table, p.ID = "kept", "id" },
		"query":             func(p *source.PostgresParams) { p.Query = "\n select id, title, body from shown ; \n" },
		"query in comments": func(p *source.PostgresParams) {
			p.Query, p.Title = "with s as (select * from shown) select * from s where true -- all", ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := sourcetest.Read(t, newPostgres(t, dsn, set))
			if got := idsOf(docs); !reflect.DeepEqual(got, want) {
				t.Errorf("ids %q, want %q", got, want)
			}
		})
	}
}

func TestPostgres_problems(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles,
		`create table nokey (id int, title text, body text)`, `insert into nokey values (1, 'a', 'b'), (1, 'c', 'd'), (null, 'e', 'f')`,
		`create table twokeys (a int, b int, title text, body text, primary key (a, b))`,
		`create table bare (id int primary key, title text, body text)`, `insert into bare values (1, null, null), (2, '', ' '), (3, 'x', null)`)
	for name, c := range map[string]struct {
		set  func(*source.PostgresParams)
		says []string
	}{
		"no table":       {func(p *source.PostgresParams) { p.Table = "Articles" }, []string{`"Articles" does not exist`, "letters count"}},
		"no column":      {func(p *source.PostgresParams) { p.Table, p.Body = "articles", "text" }, []string{`column q.text does not exist`, `body "text"`}},
		"no primary key": {func(p *source.PostgresParams) { p.Table = "nokey" }, []string{"has no primary key", `id = "id"`}},
		"two keys":       {func(p *source.PostgresParams) { p.Table = "twokeys" }, []string{"primary key of 2 columns (a, b)"}},
		"ids repeated":   {func(p *source.PostgresParams) { p.Table, p.ID = "nokey", "id" }, []string{`two documents have the id "1"`, "row 3 in the order of the ids has an id of NULL"}},
		"empty":          {func(p *source.PostgresParams) { p.Table = "articles" }, []string{"the corpus is empty"}},
		"no text":        {func(p *source.PostgresParams) { p.Table = "bare" }, []string{`the document "1" has no text`, `the document "2" has no text`}},
		"bad query":      {func(p *source.PostgresParams) { p.Query = "select 1 as id; drop table articles" }, []string{"syntax error"}},
		"writing query":  {func(p *source.PostgresParams) { p.Query = "delete from articles returning *" }, []string{"syntax error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sourcetest.Collect(t.Context(), newPostgres(t, dsn, c.set))
			for _, says := range c.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("error %v does not say %q", err, says)
				}
			}
		})
	}
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Empty = "bare", "skip" })
	if got := idsOf(sourcetest.Read(t, s)); !reflect.DeepEqual(got, []string{"3"}) {
		t.Errorf("ids %q, want the one with a title", got)
	}
	wantWarning(t, s, "2 documents have no text and were skipped")
}

// TestPostgres_writesNothing asks a query that would write: the transaction only reads.
func TestPostgres_writesNothing(t *testing.T) {
	t.Parallel()
	dsn := database(t, `create sequence s`)
	_, err := sourcetest.Collect(t.Context(), newPostgres(t, dsn, func(p *source.PostgresParams) {
		p.Query = "select nextval('s') as id, 'a' as title, 'b' as body"
	}))
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v does not say that the transaction only reads", err)
	}
}

func TestPostgres_refusesParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dsn, table, query, at string }{
		{"", "t", "", "dsn"},
		{"postgres://u:p%zz@h/d", "t", "", "dsn"},
		{"dbname=d", "", " ", "table"},
		{"dbname=d", "t", "select", "query"},
		{"dbname=d", "a.b.c", "", "table"},
		{"dbname=d", ".b", "", "table"},
		{"dbname=d", "a.", "", "table"},
		{"dbname=d", `"a`, "", "table"},
		{"dbname=d", `"a"b`, "", "table"},
	} {
		p := source.Postgres().Params().(*source.PostgresParams)
		p.DSN, p.Table, p.Query = pg.DSN(c.dsn), c.table, c.query
		_, err := source.Postgres().New(p, axesEnv)
		var pe *param.Error
		if !errors.As(err, &pe) || pe.Attribute != c.at {
			t.Errorf("%+v: error %v, want one at %s", c, err, c.at)
		}
	}
}

// TestPostgres_keepsSecrets fails in all ways that mention the server and looks for
// the password in what is said.
func TestPostgres_keepsSecrets(t *testing.T) {
	t.Parallel()
	const password = "S3CRET%21word"
	for _, dsn := range []string{
		"postgres://kb:" + password + "@127.0.0.1:9/knowledge",
		"host=127.0.0.1 port=9 user=kb password=" + password + " dbname=knowledge",
	} {
		s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Lock = "articles", "x.lock.json" })
		_, err := sourcetest.Collect(t.Context(), s)
		if err == nil {
			t.Fatal("no error")
		}
		_, lockErr := s.(source.Pinner).Lock(t.Context(), nil)
		p := source.Postgres().Params().(*source.PostgresParams)
		p.DSN = pg.DSN(dsn)
		said := fmt.Sprintf("%v %+v %v %s %v %#v", err, err, lockErr, s.(source.Pinner).Unpinned(), *p, p.DSN)
		for _, secret := range []string{"S3CRET", "word@"} {
			if strings.Contains(said, secret) {
				t.Errorf("the password is shown: %s", said)
			}
		}
		if !errors.Is(err, pg.ErrConnection) || !pg.IsTransient(err) {
			t.Errorf("error %v is none of the connection that passes", err)
		}
		if secrets := source.Postgres().Secrets(p); !strings.Contains(strings.Join(secrets, "\n"), password) {
			t.Errorf("the kind's secrets %d lack the password", len(secrets))
		}
		if place := s.(source.Placed).Place(); place != "127.0.0.1:9/knowledge" {
			t.Errorf("place %q", place)
		}
	}
}

func lockOf(t *testing.T, s source.Source) string {
	t.Helper()
	lock, err := s.(source.Pinner).Lock(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(lock)
}

func TestPostgres_lock(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles, `insert into articles (id, title, body) values (1, 'a', 'A'), (2, 'b', 'B'), (3, null, 'C')`)
	path := filepath.Join(t.TempDir(), "kb.lock.json")
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Lock = "articles", path })
	pinner := s.(source.Pinner)
	if inputs, err := s.Inputs(t.Context()); err != nil || len(inputs) != 0 || !strings.Contains(pinner.Unpinned(), "raglab lock") {
		t.Errorf("before locking: inputs %v, %v, unpinned %q", inputs, err, pinner.Unpinned())
	}
	lock := lockOf(t, s)
	if again := lockOf(t, s); again != lock {
		t.Errorf("the same rows give another lock:\n%s\n%s", lock, again)
	}
	writeFile(t, path, lock)
	if inputs, _ := s.Inputs(t.Context()); !reflect.DeepEqual(inputs, []string{path}) || pinner.Unpinned() != "" || pinner.LockFile() != path {
		t.Errorf("after locking: inputs %v, unpinned %q", inputs, pinner.Unpinned())
	}
	if place := s.(source.Placed).Place(); place != "" {
		t.Errorf("a pinned table has the place %q", place)
	}
	if docs := sourcetest.Read(t, s); len(docs) != 3 {
		t.Errorf("%d documents, want 3", len(docs))
	}
	wantBytes(t, s)
	execute(t, dsn, `update articles set body = 'B2' where id = 2`, `delete from articles where id = 1`, `insert into articles values (4, 'd', 'D')`)
	wantProblem(t, s, `the row with the id "2" is not as it was when it was locked`, `the id "4" is not in the lock file`, `the id "1" is in the lock file, but there no longer`, "run raglab lock")
	again := lockOf(t, s)
	changes, err := s.(source.LockComparer).CompareLocks([]byte(lock), []byte(again))
	want := source.LockChanges{Name: "rows", Added: []string{"4"}, Removed: []string{"1"}, Changed: []string{"2"}, Same: 1}
	if err != nil || !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %+v, %v, want %+v", changes, err, want)
	}
	writeFile(t, path, again)
	if got := idsOf(sourcetest.Read(t, s)); !reflect.DeepEqual(got, []string{"2", "3", "4"}) {
		t.Errorf("after locking again: ids %q", got)
	}
	other := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Lock, p.Title = "articles", path, "" })
	wantProblem(t, other, "was written for another table, query or columns")
	writeFile(t, path, "{")
	wantProblem(t, s, "is no lock file")
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPostgres_lockRefreshes locks again by updated_at, which is seen by a row whose
// text changed without it: only a lock that reads all rows notices.
func TestPostgres_lockRefreshes(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles, `insert into articles select i, 't' || i, 'b' || i, '2026-01-01'::timestamptz + i * interval '1 s' from generate_series(1, 50) i`)
	path := filepath.Join(t.TempDir(), "kb.lock.json")
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table, p.Lock, p.UpdatedAt = "articles", path, "updated" })
	first := lockOf(t, s)
	writeFile(t, path, first)
	if again := lockOf(t, s); again != first {
		t.Errorf("locking again without a change gives\n%s\nnot\n%s", again, first)
	}
	// As long as it was, for a lock says how large all rows are together.
	execute(t, dsn, `update articles set body = 'u7' where id = 7`,
		`update articles set body = 'new', updated = '2026-02-01' where id = 9`, `delete from articles where id = 11`,
		`insert into articles values (60, 'x', 'y', '2026-02-02')`)
	refreshed := lockOf(t, s)
	writeFile(t, path, refreshed)
	wantProblem(t, s, `the row with the id "7" is not as it was`)
	execute(t, dsn, `update articles set body = 'b7' where id = 7`)
	if n := len(sourcetest.Read(t, s)); n != 50 {
		t.Errorf("%d documents, want 50", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if whole := lockOf(t, s); whole != refreshed {
		t.Errorf("a lock of all rows gives\n%s\nthe refreshed one is\n%s", whole, refreshed)
	}
	// A row that comes in with an old updated_at makes it read all again.
	writeFile(t, path, refreshed)
	execute(t, dsn, `insert into articles values (70, 'late', 'late', '2025-01-01')`, `update articles set body = 'unseen' where id = 8`)
	writeFile(t, path, lockOf(t, s))
	if n := len(sourcetest.Read(t, s)); n != 51 {
		t.Errorf("%d documents, want 51", n)
	}
}

// TestPostgres_memoryIsFlat reads 20,000 rows of 20 kB and sees that what is held
// stays far below their 400 MB. It has the heap to itself: no test runs beside it.
func TestPostgres_memoryIsFlat(t *testing.T) {
	dsn := database(t, articles, `insert into articles select i, 't' || i, repeat('абвгд жзик ', 1000) from generate_series(1, 20000) i`)
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table = "articles" })
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	for _, err := range s.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%2000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	if n != 20_000 || most > 64<<20 {
		t.Errorf("%d rows with %d MB held at most, want 20,000 with less than 64 MB", n, most>>20)
	}
}

// TestPostgres_connectionKilled ends the connection while rows are read: an error
// that passes, and nothing that looks like the end of the corpus.
func TestPostgres_connectionKilled(t *testing.T) {
	t.Parallel()
	dsn := database(t, articles, `insert into articles select i, 't' || i, repeat('word ', 2000) from generate_series(1, 20000) i`)
	s := newPostgres(t, dsn, func(p *source.PostgresParams) { p.Table = "articles" })
	n, last := 0, error(nil)
	for _, err := range s.Documents(t.Context()) {
		if last = err; err != nil {
			break
		}
		if n++; n == 10 {
			execute(t, dsn, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
		}
	}
	if !errors.Is(last, pg.ErrConnection) || !pg.IsTransient(last) {
		t.Errorf("after %d rows: error %v, want one of the connection that passes", n, last)
	}
}

func TestPostgres_timeout(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := newPostgres(t, dsn, func(p *source.PostgresParams) {
		p.Query, p.Timeout = "select 1 as id, 'a' as title, pg_sleep(30)::text as body", 1
	})
	wantProblem(t, s, "statement timeout", "raise timeout, which is 1 s")
}
