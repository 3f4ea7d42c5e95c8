package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"raglab/engine"
)

// TestApplyPlain_interruptedIsNotFailed: who pressed Ctrl-C is not told of failures.
func TestApplyPlain_interruptedIsNotFailed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	v := &applyPlain{applyHuman: applyHuman{terminal: terminal{err: &text}}, told: map[string]bool{}}
	for i, err := range []error{errInterrupted, fmt.Errorf("embed: %w", errInterrupted), errors.New("no room"), errors.New("no room")} {
		v.errored(engine.Event{Stage: &engine.Stage{Address: fmt.Sprintf("embed[e]#%d", i)}, Err: err})
	}
	want := "embed[e]#0: interrupted\nembed[e]#1: interrupted\nembed[e]#2: failed: no room\nembed[e]#3: failed\n"
	if text.String() != want {
		t.Errorf("%swant\n%s", text.String(), want)
	}
}

// TestApplyPlain_waitsAreToldOnce: a worker that leaves a stage to others does so
// again and again.
func TestApplyPlain_waitsAreToldOnce(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	v := newApplyPlain(applyHuman{terminal: terminal{err: &text}})
	for i, why := range []string{"worker a leaves it to others", "worker b leaves it to others", "worker a leaves it to others"} {
		v.event(engine.Event{Type: engine.EventWaiting, Stage: &engine.Stage{Address: fmt.Sprintf("embed[e]#%d", i)}, Message: why})
	}
	want := "embed[e]#0: waits: worker a leaves it to others\nembed[e]#1: waits: worker b leaves it to others\n"
	if text.String() != want {
		t.Errorf("%swant\n%s", text.String(), want)
	}
}
