package engine_test

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/executortest"
)

func TestLocal_conformance(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(t testing.TB) executortest.Lab {
		store, err := cache.OpenLocal(t.TempDir(), cache.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Errorf("close cache: %v", err)
			}
		})
		return executortest.Lab{Store: store, Executor: func(s executortest.Settings) engine.Executor {
			return &engine.Local{
				Store: store, Capacity: engine.Resources{CPU: 4, Memory: 1 << 30, Network: 2}, Now: time.Now,
				Log: hclog.NewNullLogger(), Events: s.Events, Poll: 2 * time.Millisecond,
				Backoff: func(int) time.Duration { return 0 }, FailFast: s.FailFast,
				Budget: s.Budget, BudgetUSD: s.BudgetUSD, PaidUSD: s.PaidUSD,
			}
		}}
	})
}
