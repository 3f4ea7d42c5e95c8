package river_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/fleet"
	"raglab/engine/fleet/queuetest"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// What the suite asks for holds when how a node ended is told to two of those that need
// it at a time.
func TestQueue_spreading(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queuetest.Lab {
		db := pgtest.Connect(t)
		l := queuetest.Lab{Quiet: 300 * time.Millisecond}
		for i := range 3 {
			name := fmt.Sprint("worker", i)
			q := open(t, db, func(o *river.Options) { o.Name = name; o.SpreadMost(2, nil) })
			l.Workers = append(l.Workers, queuetest.Worker{Queue: q, Name: name, Kill: q.Kill})
		}
		return l
	})
}

// leaves is how many nodes need the root of a star, of which four are told at a time.
const leaves = 40

// starred is a node of a star.
func starred(address string, needs ...string) fleet.Node {
	n := fleet.Node{
		Key: keyOf(address), Address: address, Kind: "sleep", Version: "1", Class: fleet.CPU, Priority: 2, Single: true,
		Reason: engine.Reason{Kind: engine.ReasonNew},
	}
	for _, need := range needs {
		n.Needs = append(n.Needs, keyOf(need))
	}
	return n
}

func keyOf(address string) cache.Key { return cache.Key(cache.DigestOf([]byte(address))) }

// star is a root, what needs it, and what needs one of those each.
func star() fleet.Submission {
	nodes := []fleet.Node{starred("root")}
	for i := range leaves {
		nodes = append(nodes, starred(fmt.Sprint("leaf", i), "root"), starred(fmt.Sprint("tip", i), fmt.Sprint("leaf", i)))
	}
	return fleet.Submission{
		Experiment: "star", Graph: cache.DigestOf([]byte("star")), By: "test", Planned: time.Now(), Attempts: 1, Deaths: 3, Nodes: nodes,
	}
}

// few takes part and spreads as often as it may, four nodes at a time.
func few(t *testing.T, db *pg.DB, name string, may *atomic.Int64) *river.Queue {
	return open(t, db, func(o *river.Options) {
		o.Name, o.Backups = name, fleet.Backups{Off: true}
		o.SpreadMost(4, func() bool { return may.Add(-1) >= 0 })
	})
}

// always is often enough.
func always() *atomic.Int64 {
	var may atomic.Int64
	may.Store(1 << 40)
	return &may
}

// standing counts the nodes in a state.
func standing(t *testing.T, db *pg.DB, state string) (n int) {
	t.Helper()
	if err := db.Pool().QueryRow(t.Context(), `select count(*) from fleet_node where state = $1`, state).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitStanding waits until so many nodes are in a state, and sees that no more get there
// by what the process may do.
func awaitStanding(t *testing.T, db *pg.DB, may *atomic.Int64, state string, want int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for may.Load() >= 0 || standing(t, db, state) < want {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d nodes are %s, want %d", standing(t, db, state), state, want)
		}
	}
	if got := standing(t, db, state); got != want {
		t.Fatalf("%d nodes are %s, want %d", got, state, want)
	}
}

// drain makes all that is there to be made until a run ends, none before what it needs
// nor twice, and returns the notices.
func drain(t *testing.T, q *river.Queue, run fleet.RunID) []fleet.Notice {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		begun := map[string]bool{}
		for {
			c, err := q.Claim(t.Context(), fleet.Offer{Classes: []fleet.Class{fleet.CPU}})
			if err != nil {
				return
			}
			for _, need := range c.Needs {
				if c.From[need].Key == (cache.Key{}) {
					t.Errorf("%s was claimed before what it needs was done", c.Address)
				}
			}
			if begun[c.Address] {
				t.Errorf("%s was claimed twice", c.Address)
			}
			begun[c.Address] = true
			if err := q.Finish(t.Context(), c, resultOf(c.Address)); err != nil {
				t.Errorf("finish %s: %v", c.Address, err)
			}
		}
	}()
	t.Cleanup(func() { <-ended })
	return await(t, q, run)
}

// A process that is killed while it releases what needs a node leaves nothing that is
// never released, and what is submitted meanwhile waits for what it needs.
func TestSpread_killed(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	var may, mayToo atomic.Int64
	may.Store(2)
	first, q := few(t, db, "first", &may), few(t, db, "second", &mayToo)
	run := submit(t, first, star())
	root := one(t, first)
	if err := first.Finish(t.Context(), root, resultOf("root")); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, db, &may, "ready", 12)
	late := fleet.Submission{
		Experiment: "late", Graph: cache.DigestOf([]byte("late")), By: "test", Planned: time.Now(), Attempts: 1, Deaths: 3,
		Nodes: []fleet.Node{starred("root"), starred("leaf39", "root"), starred("tip39", "leaf39"), starred("late", "root", "tip39")},
	}
	made := resultOf("root").Made
	late.Nodes[0].Made = &made
	second := submit(t, first, late)
	first.Kill()
	mayToo.Store(1 << 40)
	all := drain(t, q, run)
	if got := kinds(all); got[engine.EventComplete] != 2*leaves+1 || len(got) != 1 {
		t.Errorf("notices %v, want %d complete", got, 2*leaves+1)
	}
	for i, n := range await(t, q, second) {
		if n.Type != engine.EventComplete {
			t.Errorf("notice %d of the other run: %+v", i, n)
		}
	}
	if got := standing(t, db, "done"); got != 2*leaves+2 {
		t.Errorf("%d nodes are done, want %d", got, 2*leaves+2)
	}
}

// One that is killed while it blocks what needs a node leaves nothing that is never
// blocked.
func TestSpread_killedBlocking(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	var may atomic.Int64
	may.Store(3)
	first := few(t, db, "first", &may)
	run := submit(t, first, star())
	if err := first.Fail(t.Context(), one(t, first), fleet.Failure{Text: "no", Class: fleet.StageFailure}); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, db, &may, "blocked", 16)
	first.Kill()
	q := few(t, db, "second", always())
	all := await(t, q, run)
	if got := kinds(all); got[engine.EventErrored] != 1 || got[engine.EventBlocked] != 2*leaves {
		t.Errorf("notices %v, want one that failed and %d that are blocked", got, 2*leaves)
	}
	told := map[cache.Key]bool{}
	for _, n := range all {
		if n.Type == engine.EventBlocked && (n.Message != "root" || told[n.Node]) {
			t.Errorf("notice %+v", n)
		}
		told[n.Node] = true
	}
	if got := standing(t, db, "blocked"); got != 2*leaves {
		t.Errorf("%d nodes are blocked, want %d", got, 2*leaves)
	}
}

// A result that is lost while what needs it is released is made again, and all that was
// not begun waits for it.
func TestSpread_lost(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	var may atomic.Int64
	may.Store(1)
	q := few(t, db, "worker", &may)
	run := submit(t, q, star())
	if err := q.Finish(t.Context(), one(t, q), resultOf("root")); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, db, &may, "ready", 8)
	leaf := one(t, q)
	loss := fleet.Loss{Key: keyOf("root"), Reason: engine.Reason{Kind: engine.ReasonOutputMissing}, Text: "gone"}
	if err := q.Lose(t.Context(), leaf, []fleet.Loss{loss}); err != nil {
		t.Fatal(err)
	}
	may.Store(1 << 40)
	q.Spread()
	root := one(t, q)
	if root.Address != "root" || standing(t, db, "ready") != 0 {
		t.Errorf("%s was claimed and %d nodes are ready, want root alone", root.Address, standing(t, db, "ready"))
	}
	if err := q.Finish(t.Context(), root, resultOf("root")); err != nil {
		t.Fatal(err)
	}
	if got := kinds(drain(t, q, run)); got[engine.EventComplete] != 2*leaves+2 {
		t.Errorf("notices %v, want %d complete", got, 2*leaves+2)
	}
}

// A fail-fast run blocks all that its failure blocks before it stops, however many.
func TestSpread_failFast(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	var may atomic.Int64
	q := few(t, db, "worker", &may)
	s := star()
	s.FailFast = true
	run := submit(t, q, s)
	if err := q.Fail(t.Context(), one(t, q), fleet.Failure{Text: "no", Class: fleet.StageFailure}); err != nil {
		t.Fatal(err)
	}
	if got := kinds(await(t, q, run)); got[engine.EventBlocked] != 2*leaves {
		t.Errorf("notices %v, want %d blocked", got, 2*leaves)
	}
}

// The jobs that this package's SQL inserts are what River would have inserted.
func TestJobs_asRivers(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	q := openAlone(t, db)
	submit(t, q, star())
	read := func() (row map[string]any) {
		t.Helper()
		err := db.Pool().QueryRow(t.Context(), `
			select to_jsonb(j) - array['id', 'created_at', 'scheduled_at'] from river_job j`).Scan(&row)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	ours := read()
	if err := q.InsertByRiver(t.Context(), keyOf("root"), fleet.CPU, 2); err != nil {
		t.Fatal(err)
	}
	read() // it is there, and once
	if _, err := db.Pool().Exec(t.Context(), `delete from river_job`); err != nil {
		t.Fatal(err)
	}
	if err := q.InsertByRiver(t.Context(), keyOf("root"), fleet.CPU, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(), ours); diff != "" {
		t.Errorf("River's and ours differ:\n%s", diff)
	}
	var n int
	if err := db.Pool().QueryRow(t.Context(), `select count(*) from river_job`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d jobs, %v", n, err)
	}
}
