package river_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"

	"raglab/engine"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// leader is SQL for the worker that River's leader is.
const leader = `(select w.name from {s}.river_leader l join {s}.fleet_worker w on l.leader_id = 'raglab-' || to_hex(w.id) where l.expires_at > now())`

// schemaOf connects to the schema of worker processes.
func schemaOf(t testing.TB, job shiftJob) *pg.DB {
	t.Helper()
	db, err := pg.Connect(t.Context(), pg.Config{
		DSN: pg.DSN(job.DSN), Private: job.Private, Schema: job.Schema, Version: "test", Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// A leader that is killed is followed by another, which knows the kinds of all jobs: what
// the dead one had is rescued, also when River alone does so, and nothing is discarded.
func TestLeader_killed(t *testing.T) {
	t.Parallel()
	// Long against a stage, short against how long a leader may be missing.
	q, job := atSchema(t, pgtest.Config(t), shiftJob{Slots: 4, Sleep: 200 * time.Millisecond, JobTimeout: 8 * time.Second, RescueAfter: 9 * time.Second})
	db := schemaOf(t, job)
	miss := holdLock(t, db, q.SupervisorLock())
	var s said
	processes := map[string]*process{}
	for i := range 3 {
		job.Name = fmt.Sprint("worker", i)
		processes[job.Name] = startWorker(t, &s, job)
		processes[job.Name].awaitReady()
	}
	until(t, db, "there is a leader", leader+` is not null`)
	const nodes = 600
	run, err := q.Submit(t.Context(), layers(nodes, 60))
	if err != nil {
		t.Fatal(err)
	}
	first := ask[string](t, db, `select `+leader)
	has := `(select count(*) from {s}.fleet_claim c where worker = $1)`
	until(t, db, "the leader is at work", has+` >= 2`, first)
	processes[first].kill()
	if n := ask[int](t, db, `select `+has, first); n == 0 {
		t.Fatal("what it had is not its any more, while nobody looks")
	}
	until(t, db, "there is another leader", `coalesce(`+leader+` <> $1, false)`, first)
	t.Logf("%s leads after %s", ask[string](t, db, `select `+leader), first)
	until(t, db, "River rescues what the dead one had", `not exists (
		select from {s}.fleet_claim c join {s}.fleet_node n on n.id = c.node join {s}.river_job j on j.id = n.job
		where c.worker = $1 and coalesce(j.errors[1]->>'error', '') not like '`+rescued+`%')`, first)
	if n := ask[int](t, db, `select count(*) from {s}.river_job where state = 'discarded'`); n != 0 {
		t.Errorf("the new leader has discarded %d jobs", n)
	}
	miss()
	got := kinds(await(t, q, run))
	if got[engine.EventComplete] != nodes || got[engine.EventErrored]+got[engine.EventBlocked] != 0 || got[engine.EventRetry] == 0 {
		t.Errorf("notices %v, want %d complete, some again and none failed", got, nodes)
	}
	if n := ask[int](t, db, `select count(*) from {s}.river_job where state not in ('completed', 'available', 'retryable', 'running')`); n != 0 {
		t.Errorf("%d jobs were given up", n)
	}
}

// A leader that is cut off is followed by another while it lives, and is none when it is
// back: its jobs are not discarded either.
func TestLeader_cutOff(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	w := newWire(t, db)
	q := open(t, w.connect(), nil)
	until(t, db, "the first leads", `exists (select from {s}.river_leader where leader_id = $1)`, q.ClientID())
	other := open(t, db, nil)
	run := submit(t, other, layers(2, 1))
	c := one(t, q)
	lost := q.Lost(c)
	w.put(broken)
	until(t, db, "the other leads", `exists (select from {s}.river_leader where leader_id = $1)`, other.ClientID())
	closed(t, "the claim is lost", lost)
	w.put(whole)
	again := one(t, other)
	if again.Key != c.Key {
		t.Errorf("claimed %s, want %s again", again.Address, c.Address)
	}
	finish(t, other, again)
	finish(t, q, one(t, q))
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 2 || got[engine.EventErrored] != 0 {
		t.Errorf("notices %v", got)
	}
	if got := ask[string](t, db, `select leader_id from {s}.river_leader`); got != other.ClientID() {
		t.Errorf("%s leads, want the other, %s", got, other.ClientID())
	}
	allCompleted(t, db)
}

// A leader whose session alone is cut gives up what it has, and its jobs stay.
func TestLeader_sessionCut(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := open(t, db, nil)
	until(t, db, "the first leads", `exists (select from {s}.river_leader where leader_id = $1)`, q.ClientID())
	other := open(t, db, nil)
	run := submit(t, other, layers(2, 1))
	c := one(t, q)
	lost := q.Lost(c)
	mend, err := q.Cut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := one(t, other)
	closed(t, "the claim is lost", lost)
	mend()
	finish(t, other, again)
	finish(t, q, one(t, q))
	if got := kinds(await(t, other, run)); got[engine.EventComplete] != 2 || got[engine.EventErrored] != 0 {
		t.Errorf("notices %v", got)
	}
	allCompleted(t, db)
}

// Who may become River's leader knows all kinds of jobs: a leader discards what it does
// not know. Who only submits, or only looks, cannot become leader.
func TestLeader_knowsAllKinds(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	submits, looks := openAlone(t, db), openAlone(t, db)
	run := submit(t, submits, layers(1, 1))
	following := make(chan int, 1)
	go func() { following <- len(await(t, looks, run)) }()
	until(t, db, "somebody follows", `exists (select from pg_stat_activity where query like 'listen%' and query like '%' || $1 || '.fleet_news%'
		or query like 'select clock_timestamp()%')`, db.Schema())
	if submits.Eligible() || looks.Eligible() || ask[int](t, db, `select count(*) from {s}.river_leader`) != 0 {
		t.Error("who does not work takes part in electing a leader")
	}
	works := open(t, db, nil)
	until(t, db, "the worker leads", `exists (select from {s}.river_leader where leader_id = $1)`, works.ClientID())
	kinds := kindsIn(t, ".")
	if len(kinds) == 0 {
		t.Fatal("no kinds of jobs are found in the package's files")
	}
	for _, name := range append(kinds, "raglab_of_another_time") {
		err := works.Knows(t.Context(), name)
		_, unknown := errors.AsType[*rivertype.UnknownJobKindError](err)
		switch known := name != "raglab_of_another_time"; {
		case known && err != nil:
			t.Errorf("a worker does not know %s: %v", name, err)
		case !known && !unknown:
			t.Errorf("a worker knows what nobody has registered: %v", err)
		}
	}
	finish(t, works, one(t, works))
	if n := <-following; n != 1 {
		t.Errorf("%d notices, want 1", n)
	}
}

// kindsIn are the kinds of jobs that the files of a package name: what methods Kind, of
// no arguments, return.
func kindsIn(t *testing.T, dir string) (kinds []string) {
	t.Helper()
	for _, path := range sources(t, dir) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Kind" || f.Type.Params.NumFields() != 0 || len(f.Body.List) != 1 {
				continue
			}
			ret, ok := f.Body.List[0].(*ast.ReturnStmt)
			if !ok || len(ret.Results) != 1 {
				t.Fatalf("%s: a Kind that is no plain word", path)
			}
			word, ok := ret.Results[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s: a Kind that is no plain word", path)
			}
			name, err := strconv.Unquote(word.Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// sources are the Go files below a folder, but tests.
func sources(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Nobody else in raglab takes part in River, with kinds of their own.
func TestLeader_nobodyElse(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	found := false
	for _, path := range sources(t, root) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			continue // not a program's, or half written
		}
		for _, i := range file.Imports {
			if !strings.HasPrefix(i.Path.Value, `"github.com/riverqueue/`) {
				continue
			}
			found = true
			if name, err := filepath.Rel(root, path); err != nil || filepath.ToSlash(filepath.Dir(name)) != "engine/fleet/river" {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
	}
	if !found {
		t.Error("no file imports River")
	}
}
