//go:build unix

package river_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"raglab/engine"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// A server that is killed while processes work is started again, and the run goes on:
// workers that find their sessions again keep what they have.
func TestProcesses_serverKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t)
	c := pg.Config{Private: &server, Getenv: func(string) string { return "" }, Schema: "raglab", Version: "test"}
	q, job := atSchema(t, c, shiftJob{Slots: 4, Sleep: 100 * time.Millisecond})
	var s said
	for i := range 2 {
		job.Name = fmt.Sprint("worker", i)
		startWorker(t, &s, job).awaitReady()
	}
	const nodes, kills = 400, 2
	run, err := q.Submit(t.Context(), layers(nodes, 40))
	if err != nil {
		t.Fatal(err)
	}
	killed := make(chan int, kills)
	go func() {
		for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
			if len(killed) == kills || t.Context().Err() != nil {
				return
			}
			status, err := private.Look(server)
			if err != nil || status.Server == 0 || s.finished() < nodes/4*(1+len(killed)) {
				continue
			}
			if err := syscall.Kill(status.Server, syscall.SIGQUIT); err == nil {
				killed <- status.Server
			}
		}
	}()
	all := await(t, q, run)
	if len(killed) != kills {
		t.Errorf("the server was killed %d times, want %d", len(killed), kills)
	}
	got := kinds(all)
	t.Logf("notices %v", got)
	if got[engine.EventComplete] != nodes || got[engine.EventErrored]+got[engine.EventBlocked] != 0 {
		t.Errorf("notices %v, want %d complete and none failed", got, nodes)
	}
	for address, n := range s.count("end") {
		if n != 1 {
			t.Errorf("%s was finished %d times", address, n)
		}
	}
	if begun := len(s.count("begin")); begun != nodes {
		t.Errorf("%d nodes were begun, want %d", begun, nodes)
	}
}
