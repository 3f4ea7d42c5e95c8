//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

const namedSpec = `experiment "made" {}
corpus "jsonl" { path = "docs.jsonl" }
golden { file = "golden.jsonl" }
store "postgres" { dsn = "DSN" }
axis "text" { use = ["simple", "prefix"] }
fixed "retriever" { use = "tsvector" }
score { metrics = ["ndcg@5"] }
output "json" { path = "out.json" }
`

// namedServer is a server of the test's own that a spec names, and an experiment on
// it.
type namedServer struct {
	*testing.T
	dir    string
	server private.Config
	lease  *private.Lease
}

// newNamedServer starts a server with few connections, which does not wait for the
// disk, and makes an experiment whose store has a password in its address.
func newNamedServer(t *testing.T) *namedServer {
	t.Helper()
	s := &namedServer{T: t, server: pgtest.Private(t)}
	conf := filepath.Join(s.server.Dir, "server", "conf")
	if err := os.MkdirAll(conf, 0o711); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(conf, "local.conf"), "max_connections = 6\nsuperuser_reserved_connections = 0\nfsync = off\n")
	s.start()
	s.dir = newMade(t, strings.ReplaceAll(namedSpec, "DSN", s.dsn()), 300)
	return s
}

func (s *namedServer) start() {
	s.Helper()
	var err error
	if s.lease, err = private.Acquire(s.Context(), s.server); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.lease.Release)
}

func (s *namedServer) stop() {
	s.Helper()
	s.lease.Release()
	if stopped, err := private.Stop(s.Context(), s.server, true); err != nil || !stopped {
		s.Fatalf("stopped %v, %v", stopped, err)
	}
}

func (s *namedServer) config() *pgx.ConnConfig {
	s.Helper()
	e, err := s.lease.Endpoint(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	config, err := e.Config(private.Database)
	if err != nil {
		s.Fatal(err)
	}
	return config
}

func (s *namedServer) dsn() string {
	c := s.config()
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s password=%s-pw", c.Host, c.Port, c.User, c.Database, theSecret)
}

// exec runs statements as somebody else.
func (s *namedServer) exec(sql string) {
	s.Helper()
	conn, err := pgx.ConnectConfig(s.Context(), s.config())
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // what it did is done
	if _, err := conn.Exec(s.Context(), sql); err != nil {
		s.Fatal(err)
	}
}

// fill takes all the connections that the server has; the function gives them back.
func (s *namedServer) fill() (release func()) {
	s.Helper()
	var all []*pgx.Conn
	for {
		conn, err := pgx.ConnectConfig(s.Context(), s.config())
		if err != nil {
			if len(all) == 0 || !strings.Contains(err.Error(), "too many clients") {
				s.Fatalf("%d connections: %v", len(all), err)
			}
			break
		}
		all = append(all, conn)
	}
	return func() {
		for _, conn := range all {
			_ = conn.Close(context.Background()) // the server sees to it
		}
	}
}

func (s *namedServer) run(args ...string) *program {
	return startProgram(s.dir, s.dir, append([]string{"raglab"}, args...)...)
}

// fails applies and wants that it ends with failed stages, says why, once, and tells
// no secret.
func (s *namedServer) fails(why string, args ...string) {
	s.Helper()
	p := s.run(append([]string{"apply", "-quiet"}, args...)...)
	code, text := p.wait(), p.err.String()
	if code != exitFailed || strings.Count(text, why) != 1 || strings.Count(text, "Error: ") != 1 {
		s.Errorf("exit code %d, want %d and %q once:\n%s", code, exitFailed, why, text)
	}
	s.noSecret(p)
}

func (s *namedServer) noSecret(p *program) {
	s.Helper()
	if strings.Contains(p.out.String()+p.err.String(), theSecret) {
		s.Errorf("it tells the secret:\n%s%s", p.out.String(), p.err.String())
	}
}

// TestApply_faultsOfANamedServer puts one fault after the other into a server: each
// is told once and keeps nothing wrong, so that the apply after it ends as an
// undisturbed one does.
func TestApply_faultsOfANamedServer(t *testing.T) {
	t.Parallel()
	s := newNamedServer(t)
	if p := s.run("apply", "-quiet", "-cache", "other", "made.hcl"); p.wait() != exitOK {
		t.Fatal(p.err.String())
	}
	want := results(t, s.dir)
	if err := os.Remove(filepath.Join(s.dir, "out.json")); err != nil {
		t.Fatal(err)
	}
	s.exec("drop schema raglab cascade")

	// The server is there when the plan is made, and gone when it is applied.
	if p := s.run("plan", "-out", "made.plan", "made.hcl"); p.wait() != exitOK {
		t.Fatal(p.err.String())
	}
	s.stop()
	s.fails("no connection to Postgres: ", "made.plan")
	s.start()

	// Others have all of its connections.
	release := s.fill()
	s.fails("sorry, too many clients already", "made.plan")
	p := s.run("apply", "-json", "-target", "index[whole simple tsvector]", "made.hcl")
	if err := p.awaitOut("apply_retry"); err != nil {
		t.Fatal(err)
	}
	release()
	if code := p.wait(); code != exitOK {
		t.Errorf("when there was a connection again it ended with %d:\n%s", code, p.out.String())
	}
	s.noSecret(p)

	// Its role may not take long, and the making of an index does.
	s.exec(`create function public.dawdle() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$;
		create event trigger dawdle on ddl_command_start when tag in ('CREATE INDEX') execute function public.dawdle();
		alter role raglab set statement_timeout = '1s'`)
	s.fails("canceling statement due to statement timeout, SQLSTATE 57014: have statement_timeout raised", "made.plan")
	s.exec("drop event trigger dawdle; alter role raglab reset statement_timeout")

	// Somebody drops the schema while raglab searches.
	p = s.run("apply", "-json", "-threads", "1", "made.hcl")
	if err := p.awaitOut(`questions","@module"`); err != nil {
		t.Fatal(err)
	}
	s.exec("drop schema raglab cascade")
	if code := p.wait(); code != exitOK || !strings.Contains(p.out.String(), "is lost and will be made again: the table is gone") {
		t.Errorf("exit code %d:\n%s%s", code, p.out.String(), p.err.String())
	}
	s.noSecret(p)

	if p := s.run("apply", "-quiet", "made.hcl"); p.wait() != exitOK {
		t.Error(p.err.String())
	}
	if diff := cmp.Diff(want, results(t, s.dir)); diff != "" {
		t.Errorf("the results are not those of an undisturbed apply:\n%s", diff)
	}
}

// TestApply_throughATransactionPooler gives the address of a pooler: a search
// without settings of its own works, one with them says whose fault it is.
func TestApply_throughATransactionPooler(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Named(t)
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.Replace(namedSpec, `fixed "retriever" { use = "tsvector" }`, chaosVectors, 1), "DSN",
		fmt.Sprintf("host=127.0.0.1 port=%d user=raglab dbname=%s sslmode=disable password=%s-pw",
			pgtest.Pooler(t, &config.Config, false, true), config.Database, theSecret))
	s := &namedServer{T: t, dir: newMade(t, text, 60)}
	if !withModel(t, s.dir) {
		pgtest.Skip(t, "SKIP-ASSETS: without vectors no search needs settings of its own")
	}
	s.fails("making raglab's schema, which takes a lock of a session, cannot be had through PgBouncer in transaction mode", "made.hcl")

	// Its schema is made by way of the server itself.
	spec, err := os.ReadFile(filepath.Join(s.dir, "made.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	direct := strings.Index(string(spec), `"host=`)
	writeFile(t, filepath.Join(s.dir, "direct.hcl"), string(spec[:direct])+`"`+dsn+`"`+string(spec[direct+strings.Index(string(spec[direct:]), "\n")-2:]))
	if p := s.run("apply", "-quiet", "-target", "index[whole simple tsvector]", "direct.hcl"); p.wait() != exitOK {
		t.Fatal(p.err.String())
	}
	s.fails("a session with settings of its own cannot be had through PgBouncer in transaction mode", "made.hcl")
	p := s.run("plan", "made.hcl")
	if code := p.wait(); code != exitOK || !strings.Contains(p.out.String(), "+ run     search[whole onnx pgvector]") ||
		strings.Contains(p.out.String(), "search[whole simple tsvector]") {
		t.Errorf("exit code %d; what is left to do is:\n%s", code, p.out.String())
	}
	s.noSecret(p)
}
