package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

// Task is a stage's view of the world while it runs: its declared inputs and
// outputs, a scratch folder, and a way to say what it measures. What a stage
// does not declare it cannot open. Its methods may be called from several
// goroutines; a reader or writer that they return belongs to one.
type Task struct {
	// Address is the stage's, for messages.
	Address string
	// Work is the stage's.
	Work any
	// Log is for what only a developer wants to know.
	Log hclog.Logger
	// Attempt counts from 1.
	Attempt int
	// Fresh asks the stage to make everything anew: what it remembers from
	// other runs must not be used, and is not to be changed. It is set when a
	// cached result is verified.
	Fresh bool

	ctx    context.Context
	stage  *Stage
	kind   *Kind
	inputs map[string]taskInput
	blobs  blobs

	mu       sync.Mutex
	outputs  map[string]cache.Writer
	measured map[string]any
	warnings []string
	scratch  string
	progress func(done, total int64, unit string)
}

type taskInput struct {
	Input
	blob cache.Blob
}

// blobs is where a task reads and writes: the cache, or memory during a plan.
type blobs interface {
	Create(ctx context.Context) (cache.Writer, error)
	Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error)
	ReadAll(ctx context.Context, d cache.Digest) ([]byte, error)
}

// LostInputError says that an input that was there when the stage was planned
// cannot be read: it was removed or is damaged.
type LostInputError struct {
	Input string
	From  *Stage
	Err   error
}

func (e *LostInputError) Error() string {
	return fmt.Sprintf("read input %s of %s: %v", e.Input, e.From.Address, e.Err)
}

func (e *LostInputError) Unwrap() error { return e.Err }

func newTask(ctx context.Context, s *Stage, work any, in []cache.Blob, b blobs, log hclog.Logger) *Task {
	t := &Task{
		Address: s.Address, Work: work, Log: log, Attempt: 1,
		ctx: ctx, stage: s, kind: s.Kind, blobs: b,
		inputs:   make(map[string]taskInput, len(in)),
		outputs:  map[string]cache.Writer{},
		measured: map[string]any{},
	}
	for i, blob := range in {
		t.inputs[s.Inputs[i].Name] = taskInput{s.Inputs[i], blob}
	}
	return t
}

func (t *Task) input(name string) (taskInput, error) {
	in, ok := t.inputs[name]
	if !ok {
		return in, fmt.Errorf("stage kind %s reads input %q, which %s does not declare", t.kind.Name, name, t.Address)
	}
	return in, nil
}

// Open reads an input. The bytes are verified once io.EOF has been read; act on
// nothing before.
func (t *Task) Open(input string) (io.ReadCloser, error) {
	in, err := t.input(input)
	if err != nil {
		return nil, err
	}
	r, err := t.blobs.Open(t.ctx, in.blob.Digest)
	if err != nil {
		return nil, lost(in, err)
	}
	return &inputReader{r, in}, nil
}

// Bytes reads a whole input, verified.
func (t *Task) Bytes(input string) ([]byte, error) {
	in, err := t.input(input)
	if err != nil {
		return nil, err
	}
	b, err := t.blobs.ReadAll(t.ctx, in.blob.Digest)
	if err != nil {
		return nil, lost(in, err)
	}
	return b, nil
}

// Size is the length of an input in bytes, or 0 for one that is not declared.
func (t *Task) Size(input string) int64 { return t.inputs[input].blob.Size }

// InputNames lists the inputs whose names begin with the prefix, in the order
// the stage declares them.
func (t *Task) InputNames(prefix string) []string {
	var names []string
	for _, in := range t.stage.Inputs {
		if strings.HasPrefix(in.Name, prefix) {
			names = append(names, in.Name)
		}
	}
	return names
}

func lost(in taskInput, err error) error {
	var corrupt *cache.CorruptError
	if errors.Is(err, cache.ErrNotFound) || errors.As(err, &corrupt) {
		return &LostInputError{Input: in.Name, From: in.From, Err: err}
	}
	return fmt.Errorf("read input %s: %w", in.Name, err)
}

type inputReader struct {
	io.ReadCloser
	in taskInput
}

func (r *inputReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = lost(r.in, err)
	}
	return n, err
}

// Create begins an output. Each of the kind's outputs must be created once; the
// engine commits them when the stage has returned without an error.
func (t *Task) Create(output string) (io.Writer, error) {
	declared := false
	for _, o := range t.kind.Outputs {
		declared = declared || o == output
	}
	if !declared {
		return nil, fmt.Errorf("stage kind %s creates output %q, which it does not declare", t.kind.Name, output)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, again := t.outputs[output]; again {
		return nil, fmt.Errorf("%s creates output %q twice", t.Address, output)
	}
	w, err := t.blobs.Create(t.ctx)
	if err != nil {
		return nil, fmt.Errorf("create output %s: %w", output, err)
	}
	t.outputs[output] = w
	return w, nil
}

// Write creates an output with the given bytes.
func (t *Task) Write(output string, b []byte) error {
	w, err := t.Create(output)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, bytes.NewReader(b)); err != nil {
		return fmt.Errorf("write output %s: %w", output, err)
	}
	return nil
}

// Measure records something that was observed. It never enters a key.
func (t *Task) Measure(name string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.measured[name] = value
}

// Progress says how far the work is.
func (t *Task) Progress(done, total int, unit string) {
	if t.progress != nil {
		t.progress(int64(done), int64(total), unit)
	}
}

// Warn tells the user of something that does not stop the work.
func (t *Task) Warn(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnings = append(t.warnings, fmt.Sprintf(format, args...))
}

// Scratch is a folder of the task's own, gone when it ends.
func (t *Task) Scratch() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scratch == "" {
		dir, err := os.MkdirTemp("", "raglab-*")
		if err != nil {
			return "", fmt.Errorf("make scratch folder: %w", err)
		}
		t.scratch = dir
	}
	return t.scratch, nil
}

// commit makes the outputs durable, in the order the kind declares them.
func (t *Task) commit() ([]cache.Blob, error) {
	blobs := make([]cache.Blob, 0, len(t.kind.Outputs))
	for _, name := range t.kind.Outputs {
		w, ok := t.outputs[name]
		if !ok {
			return nil, fmt.Errorf("%s ended without its output %q", t.Address, name)
		}
		b, err := w.Commit()
		if err != nil {
			return nil, fmt.Errorf("store output %s: %w", name, err)
		}
		b.Name = name
		blobs = append(blobs, b)
	}
	return blobs, nil
}

// discard drops what was not committed.
func (t *Task) discard() {
	for _, w := range t.outputs {
		_ = w.Abort()
	}
	if t.scratch != "" {
		_ = os.RemoveAll(t.scratch)
	}
}

// transientError marks a failure that may pass.
type transientError struct{ err error }

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// Transient marks an error as one that may pass: the engine tries again.
func Transient(err error) error { return &transientError{err} }

// IsTransient reports whether an error was marked by [Transient].
func IsTransient(err error) bool {
	var t *transientError
	return errors.As(err, &t)
}

// InputError marks a failure that only the user can mend, in what they wrote or
// gave raglab to read.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }
