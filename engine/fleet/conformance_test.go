package fleet_test

import (
	"testing"

	"raglab/cache"
	"raglab/engine/executortest"
	"raglab/engine/fleet"
	"raglab/engine/fleet/fleettest"
	"raglab/engine/fleet/memory"
)

func openStore(t testing.TB) *cache.Local {
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
	return store
}

// crewOf starts workers over a queue in memory.
func crewOf(t testing.TB, workers int, adjust func(*fleet.Worker)) (*fleettest.Crew, *memory.Queue, *cache.Local) {
	t.Helper()
	// A stage that waits for the test is slow, and not to be run beside itself.
	q, store := memory.New(memory.Options{Backups: fleet.Backups{Off: true}}), openStore(t)
	return fleettest.New(t, fleettest.Options{
		Store: store, Queue: q, Workers: workers, Adjust: adjust,
		Worker: func(name string) (fleet.Queue, func()) { return q, func() { q.Kill(name) } },
	}), q, store
}

func TestExecutor_conformance(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(t testing.TB) executortest.Lab {
		crew, _, _ := crewOf(t, 3, nil)
		return crew.Lab()
	})
}
