package river_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/engine/fleet"
	"raglab/engine/fleet/queuetest"
	"raglab/engine/fleet/river"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

var everyClass = []fleet.Class{fleet.CPU, fleet.Network, fleet.Accelerator}

func slots(n int) map[fleet.Class]int {
	return map[fleet.Class]int{fleet.CPU: n, fleet.Network: n, fleet.Accelerator: n}
}

// open takes part in the queue of a schema until the test ends.
func open(t testing.TB, db *pg.DB, change func(*river.Options)) *river.Queue {
	t.Helper()
	o := river.Options{
		DB: db, Slots: slots(20), Version: "test", Backups: queuetest.Backups(), Look: queuetest.Look,
		Log: hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Warn}),
	}
	if change != nil {
		change(&o)
	}
	q, err := river.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Second, context.DeadlineExceeded)
		defer cancel()
		if err := q.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return q
}

// openAlone takes part in the queue without claiming.
func openAlone(t testing.TB, db *pg.DB) *river.Queue {
	t.Helper()
	return open(t, db, func(o *river.Options) { o.Slots = nil })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queuetest.Lab {
		db := pgtest.Connect(t)
		l := queuetest.Lab{Quiet: 300 * time.Millisecond}
		for i := range 3 {
			name := fmt.Sprint("worker", i)
			q := open(t, db, func(o *river.Options) { o.Name = name })
			l.Workers = append(l.Workers, queuetest.Worker{Queue: q, Name: name, Kill: q.Kill})
		}
		return l
	})
}
