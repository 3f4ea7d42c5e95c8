package memory_test

import (
	"fmt"
	"testing"

	"raglab/engine/fleet/memory"
	"raglab/engine/fleet/queuetest"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(*testing.T) queuetest.Lab {
		q := memory.New(memory.Options{Backups: queuetest.Backups(), Look: queuetest.Look})
		var l queuetest.Lab
		for i := range 3 {
			name := fmt.Sprint("worker", i)
			l.Workers = append(l.Workers, queuetest.Worker{Queue: q, Name: name, Kill: func() { q.Kill(name) }})
		}
		return l
	})
}
