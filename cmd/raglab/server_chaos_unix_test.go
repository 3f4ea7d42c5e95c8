//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/pg/private"
)

const chaosSpec = `experiment "made" {}
corpus "jsonl" { path = "docs.jsonl" }
golden { file = "golden.jsonl" }
axis "text" { use = ["simple", "prefix"] }
axis "retriever" { use = ["tsvector"] }
score { metrics = ["ndcg@5"] }
output "json" { path = "out.json" }
`

const chaosVectors = `axis "retriever" {
  use = ["tsvector"]
  option "pgvector" { ef_search = 1000 }
}
fixed "embedder" {
  option "onnx" { folder = "model" }
}`

// holding makes a build stop where a test wants it, for as long as the test has the
// advisory lock of that place: at a row of COPY, or in the making of the index.
const holding = `
create function public.hold_row() returns trigger language plpgsql as $$ begin
	perform pg_advisory_xact_lock_shared(1);
	return new;
end $$;
create function public.hold_ddl() returns event_trigger language plpgsql as $$
declare made record; begin
	if tg_event = 'ddl_command_start' then
		perform pg_advisory_xact_lock_shared(2);
		return;
	end if;
	for made in select * from pg_event_trigger_ddl_commands() where object_type = 'table' and object_identity like '%.ix_%' loop
		execute format('create trigger hold before insert on %s for each row when (new.id = 100) execute function public.hold_row()', made.object_identity);
	end loop;
end $$;
create event trigger hold_build on ddl_command_start when tag in ('CREATE INDEX') execute function public.hold_ddl();
create event trigger hold_copy on ddl_command_end when tag in ('CREATE TABLE') execute function public.hold_ddl();
`

// chaos is an experiment on raglab's own server, and what kills that.
type chaos struct {
	*testing.T
	dir    string
	server private.Config
	random *rand.Rand
}

// TestApply_serverKilledAtAnyMoment kills the server, one of its processes or its
// supervisor while raglab copies, builds an index, searches, or does whatever. An
// apply that goes on without its server finishes by itself, and one that was killed
// with it is finished by the next, with the tables of an undisturbed apply.
func TestApply_serverKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	dir := newMade(t, chaosSpec, 250)
	if withModel(t, dir) {
		edit(t, filepath.Join(dir, "made.hcl"), `axis "retriever" { use = ["tsvector"] }`, chaosVectors)
	}
	postgres := filepath.Join(dir, ".test", "cache", "postgres")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &chaos{t, dir, private.Config{Dir: postgres, Programs: postgres}, rand.New(rand.NewPCG(seed, 0))}
	c.exec(holding)
	c.hasten()
	undisturbed := c.apply()
	if code := undisturbed.wait(); code != exitOK {
		t.Fatalf("apply ended with %d:\n%s", code, undisturbed.out.String())
	}
	want, events := results(t, dir), strings.Count(undisturbed.out.String(), "\n")
	tables := c.count("select count(*) from raglab.index_manifests")

	for _, round := range []struct {
		moment, victim string
		both           bool
	}{
		{"copy", "server", false},
		{"copy", "backend", false},
		{"index", "backend", false},
		{"index", "supervisor", false},
		{"search", "backend", false},
		{"any", "supervisor", false},
		{"any", "server", true},
	} {
		c.forget()
		p := c.killing(round.moment, round.victim, 1+c.random.IntN(events), round.both)
		if code := p.wait(); code != exitOK && !round.both {
			t.Errorf("%+v: apply ended with %d:\n%s\n%s", round, code, p.err.String(), p.out.String())
		}
		// What works may go on for a while without its server, or end before that does.
		held := round.moment == "copy" || round.moment == "index"
		if held && round.victim == "backend" && !strings.Contains(p.out.String(), "apply_retry") {
			t.Errorf("%+v: it did not notice:\n%s", round, p.out.String())
		}
		if round.both {
			p = c.apply()
			if code := p.wait(); code != exitOK {
				t.Errorf("%+v: the next apply ended with %d:\n%s", round, code, p.err.String())
			}
		}
		if diff := cmp.Diff(want, results(t, dir)); diff != "" {
			t.Errorf("%+v: the results are not those of an undisturbed apply:\n%s", round, diff)
		}
	}
	if n := c.count("select count(*) from pg_class where relname ~ '^ix_' and relkind = 'r'"); n != tables {
		t.Errorf("%d tables are there, want %d", n, tables)
	}
	verify := startProgram(dir, dir, "raglab", "cache", "verify")
	if code := verify.wait(); code != exitOK {
		t.Errorf("cache verify ended with %d:\n%s", code, verify.out.String())
	}
}

func (c *chaos) apply() *program {
	return startProgram(c.dir, c.dir, "raglab", "apply", "-json", "-threads", "1", "made.hcl")
}

// killing starts an apply and kills the victim at the moment: one of the places at
// which a build is held, a search, or after so many events.
func (c *chaos) killing(moment, victim string, events int, both bool) *program {
	c.Helper()
	conn := c.connect()
	defer func() { _ = conn.Close(context.Background()) }() // its server is gone
	place := map[string]int{"copy": 1, "index": 2}[moment]
	if _, err := conn.Exec(c.Context(), "select pg_advisory_lock($1)", place); err != nil {
		c.Fatal(err)
	}
	p := c.apply()
	switch {
	case place > 0:
		c.kill(victim, c.held(p, conn, place))
	case moment == "search":
		c.await(p, func(out string) bool { return strings.Contains(out, `questions","@module"`) })
		c.kill(victim, c.working(conn))
	default:
		c.await(p, func(out string) bool { return strings.Count(out, "\n") >= events })
		c.kill(victim, c.working(conn))
	}
	if both {
		_ = p.cmd.Process.Kill() // it may have ended just now
	}
	return p
}

// working returns a process that serves raglab, 0 when there is none.
func (c *chaos) working(conn *pgx.Conn) (pid int) {
	c.Helper()
	err := conn.QueryRow(c.Context(), "select pid from pg_stat_activity where application_name = 'raglab' limit 1").Scan(&pid)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		c.Fatal(err)
	}
	return pid
}

// held waits for the process that is held at a place, and returns it.
func (c *chaos) held(p *program, conn *pgx.Conn, place int) (pid int) {
	c.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := conn.QueryRow(c.Context(), "select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted", place).Scan(&pid)
		if err == nil {
			return pid
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			c.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-p.ended:
			c.Fatalf("it was not held:\n%s", p.out.String())
		}
	}
}

// await waits until what a program has written to standard output is as wanted, or
// it has ended.
func (c *chaos) await(p *program, as func(out string) bool) {
	c.Helper()
	deadline := time.After(30 * time.Second)
	for !as(p.out.String()) {
		select {
		case <-p.out.changed:
		case <-p.ended:
			return
		case <-deadline:
			c.Fatalf("it does not go on:\n%s", p.out.String())
		}
	}
}

// kill kills the server, its supervisor, or one of its processes: pid, if that is
// known.
func (c *chaos) kill(victim string, pid int) {
	c.Helper()
	status, err := private.Look(c.server)
	if err != nil || !status.Running {
		c.Fatalf("nothing to kill: %+v, %v", status, err)
	}
	switch {
	case victim == "supervisor":
		pid = status.Supervisor
	case victim == "server" || pid == 0:
		pid = status.Server
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil && victim != "backend" { // whose work may be done
		c.Error(err)
	}
}

// forget takes away all that was made in the server, and what the cache knows of
// it, so that the next apply makes it again.
func (c *chaos) forget() {
	c.Helper()
	c.exec("drop schema raglab cascade")
	store, err := cache.OpenLocal(filepath.Join(c.dir, ".test", "cache"), cache.Options{Command: "a test"})
	if err != nil {
		c.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			c.Error(err)
		}
	}()
	raw, err := store.State("made").Read("ledger")
	if err != nil {
		c.Fatal(err)
	}
	ledger, err := engine.ParseLedger(raw)
	if err != nil {
		c.Fatal(err)
	}
	for address, e := range ledger {
		kind, _, _ := strings.Cut(address, "[")
		switch kind {
		case "fetch", "questions", "chunk", "embed", "embed_questions":
			continue
		}
		if err := store.Delete(c.Context(), e.Key); err != nil {
			c.Error(err)
		}
	}
}

// hasten makes the server, from its next start on, not wait for the disk: what dies
// here are processes, not the machine.
func (c *chaos) hasten() {
	c.Helper()
	status, err := private.Look(c.server)
	if err != nil {
		c.Fatal(err)
	}
	writeFile(c.T, filepath.Join(filepath.Dir(status.Data), "conf", "local.conf"), "fsync = off\n")
}

// connect connects to raglab's own server, which is started when it is not there.
func (c *chaos) connect() *pgx.Conn {
	c.Helper()
	start := startProgram(c.dir, c.dir, "raglab", "db", "start")
	if code := start.wait(); code != exitOK {
		c.Fatalf("db start ended with %d:\n%s", code, start.err.String())
	}
	status, err := private.Look(c.server)
	if err != nil {
		c.Fatal(err)
	}
	config, err := status.Endpoint.Config(private.Database)
	if err != nil {
		c.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(c.Context(), config)
	if err != nil {
		c.Fatal(err)
	}
	return conn
}

func (c *chaos) exec(sql string) {
	c.Helper()
	conn := c.connect()
	defer func() { _ = conn.Close(context.Background()) }() // what it did is done
	if _, err := conn.Exec(c.Context(), sql); err != nil {
		c.Fatal(err)
	}
}

func (c *chaos) count(sql string) (n int) {
	c.Helper()
	conn := c.connect()
	defer func() { _ = conn.Close(context.Background()) }() // what it told is told
	if err := conn.QueryRow(c.Context(), sql).Scan(&n); err != nil {
		c.Fatal(err)
	}
	return n
}
