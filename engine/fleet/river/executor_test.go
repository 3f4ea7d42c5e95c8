package river_test

import (
	"testing"

	"raglab/cache"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/river"
	"raglab/internal/pg/pgtest"
)

// crewOf starts three workers, each with a part of its own in the queue of a schema.
func crewOf(t testing.TB, adjust func(*fleet.Worker)) (*fleettest.Crew, *cache.Local) {
	t.Helper()
	store, err := cache.OpenLocal(t.TempDir(), cache.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close cache: %v", err)
		}
	})
	db := pgtest.Connect(t)
	leases := map[string]*river.Queue{}
	return fleettest.New(t, fleettest.Options{
		Adjust: adjust, Store: store, Queue: open(t, db, func(o *river.Options) { o.Slots = nil }),
		Worker: func(name string) (fleet.Queue, func()) {
			q := open(t, db, func(o *river.Options) {
				// A stage that waits for the test is slow, and not to be run beside itself.
				o.Name, o.Slots, o.Backups = name, slots(4), fleet.Backups{Off: true}
			})
			leases[name] = q
			return q, q.Kill
		},
		Lease: func(name string) fleet.Leaser { return leases[name] },
	}), store
}

// The executor over this queue does what the one in one process does.
func TestExecutor(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(t testing.TB) executortest.Lab {
		crew, _ := crewOf(t, nil)
		return crew.Lab()
	})
}
