package executortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"raglab/cache"
	"raglab/engine"
)

// Do is what a stage does.
type Do func(ctx context.Context, t *engine.Task) error

// Step is the work of the suite's stages. It counts how often it ran, and how often it
// ran at the same time.
type Step struct {
	Do   Do
	runs atomic.Int32
}

// Runs is how often a stage ran.
func Runs(s *engine.Stage) int { return int(s.Work.(*Step).runs.Load()) }

func runStep(ctx context.Context, t *engine.Task) error {
	s := t.Work.(*Step)
	s.runs.Add(1)
	return s.Do(ctx, t)
}

// The kinds of the suite's stages. All have one output, out.
var (
	Pure     = &engine.Kind{Name: "make", Version: "1", Outputs: []string{"out"}, Pure: true, Run: runStep}
	Volatile = &engine.Kind{Name: "roll", Version: "1", Outputs: []string{"out"}, Run: runStep}
)

// NewStage makes a stage that reads the outputs of others as in0, in1 and so on.
func NewStage(kind *engine.Kind, address, text string, do Do, from ...*engine.Stage) *engine.Stage {
	s := &engine.Stage{
		Address: address, Kind: kind, Needs: engine.Resources{CPU: 1}, Work: &Step{Do: do},
		Fields: []engine.Field{{Class: engine.Params, Path: "text", Value: text}},
	}
	for i, f := range from {
		s.Inputs = append(s.Inputs, engine.Input{Name: fmt.Sprintf("in%d", i), From: f, Output: "out"})
	}
	return s
}

// Join writes a text and, behind it, n inputs in brackets.
func Join(text string, n int) Do {
	return func(_ context.Context, t *engine.Task) error {
		out := text
		for i := range n {
			in, err := t.Bytes(fmt.Sprintf("in%d", i))
			if err != nil {
				return err
			}
			out += "(" + string(in) + ")"
		}
		return t.Write("out", []byte(out))
	}
}

// Constant writes the same whatever it reads.
func Constant(_ context.Context, t *engine.Task) error { return t.Write("out", []byte("same")) }

var errBad = errors.New("bad input")

// Fails fails for good.
func Fails(context.Context, *engine.Task) error { return errBad }

// Flaky fails n times in a way that may pass.
func Flaky(n int, do Do) Do {
	return func(ctx context.Context, t *engine.Task) error {
		if t.Attempt <= n {
			return fmt.Errorf("fetch: %w", engine.Transient(fmt.Errorf("status 503 at attempt %d", t.Attempt)))
		}
		return do(ctx, t)
	}
}

// gate lets a test stop a stage and look.
type gate struct{ entered, leave chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

// through passes the gate before it does its work.
func (g *gate) through(do Do) Do {
	return func(ctx context.Context, t *engine.Task) error {
		g.entered <- struct{}{}
		select {
		case <-g.leave:
			return do(ctx, t)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// shelf is a residence: what stages put on it, by key.
type shelf struct {
	mu    sync.Mutex
	holds map[cache.Key]string
}

func (s *shelf) Whole(context.Context, []cache.Key) (map[cache.Key]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.holds), nil
}

func (s *shelf) Remove(_ context.Context, k cache.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, k)
	return nil
}

func (s *shelf) put(k cache.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[k] = ""
}

func (s *shelf) has(k cache.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.holds[k]
	return there
}

func (s *shelf) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.holds)
}

// table puts something on the shelf, and writes its key.
func (s *shelf) table(_ context.Context, t *engine.Task) error {
	s.put(t.Key)
	return t.Write("out", []byte(t.Key.String()))
}

// search needs the table whose key it reads.
func (s *shelf) search(_ context.Context, t *engine.Task) error {
	raw, err := t.Bytes("in0")
	if err != nil {
		return err
	}
	key, err := cache.ParseKey(string(raw))
	if err != nil {
		return err
	}
	if !s.has(key) {
		return fmt.Errorf("search: %w", t.Lost("in0", errors.New("no such table")))
	}
	return t.Write("out", []byte("found"))
}
