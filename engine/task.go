package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	// Key is the content key of the result being made; zero while a plan runs
	// the stage in memory.
	Key cache.Key
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
	found    bool
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
// cannot be read: it was removed or is damaged, or what it describes is gone from
// where its stage left it.
type LostInputError struct {
	Input  string // the reader's name for it
	From   *Stage
	Output string // the name that From gave it
	Err    error
}

func (e *LostInputError) Error() string {
	return fmt.Sprintf("read input %s of %s: %v", e.Input, e.From.Address, e.Err)
}

func (e *LostInputError) Unwrap() error { return e.Err }

// Reason is why the stage that made the input runs again.
func (e *LostInputError) Reason() Reason {
	var corrupt *cache.CorruptError
	switch {
	case errors.As(e.Err, &corrupt):
		return Reason{Kind: ReasonCorrupt, Field: e.Output}
	case e.From.Residence != nil && !errors.Is(e.Err, cache.ErrNotFound):
		return missingReason(e.Err.Error())
	}
	return Reason{Kind: ReasonOutputMissing, Field: e.Output}
}

func newTask(ctx context.Context, s *Stage, work any, in []cache.Blob, b blobs, log hclog.Logger) *Task {
	t := &Task{
		Address: s.Address, Work: work, Log: log, Attempt: 1,
		ctx: ctx, stage: s, kind: s.Kind, blobs: b,
		inputs:   make(map[string]taskInput, len(in)),
		outputs:  map[string]cache.Writer{},
		measured: map[string]any{},
	}
	for i, blob := range in {
		// Late inputs are no part of the key: what read them could not be told
		// from what read others.
		if !s.Inputs[i].Late {
			t.inputs[s.Inputs[i].Name] = taskInput{s.Inputs[i], blob}
		}
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
		return nil, lost(in.Input, err)
	}
	return &inputReader{r, in.Input}, nil
}

// Bytes reads a whole input, verified.
func (t *Task) Bytes(input string) ([]byte, error) {
	in, err := t.input(input)
	if err != nil {
		return nil, err
	}
	b, err := t.blobs.ReadAll(t.ctx, in.blob.Digest)
	if err != nil {
		return nil, lost(in.Input, err)
	}
	return b, nil
}

// Size is the length of an input in bytes, or 0 for one that is not declared.
func (t *Task) Size(input string) int64 { return t.inputs[input].blob.Size }

// Lost says, as an error for the stage to return, that what an input describes is
// not where the input's stage left it: it is made again, and then this stage.
func (t *Task) Lost(input string, err error) error {
	in, declared := t.inputs[input]
	if !declared || in.From.Residence == nil {
		return err
	}
	return &LostInputError{Input: in.Name, From: in.From, Output: in.Output, Err: err}
}

// lost tells an input that is gone from one that cannot be read just now.
func lost(in Input, err error) error {
	var corrupt *cache.CorruptError
	if errors.Is(err, cache.ErrNotFound) || errors.As(err, &corrupt) {
		return &LostInputError{Input: in.Name, From: in.From, Output: in.Output, Err: err}
	}
	return fmt.Errorf("read input %s: %w", in.Name, err)
}

// lostInput reads an input to its end and says whether it is lost; nil when it
// is there, or nobody can tell.
func lostInput(ctx context.Context, b blobs, in Input, blob cache.Blob) *LostInputError {
	r, err := b.Open(ctx, blob.Digest)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close() // it was read only
	}
	var l *LostInputError
	if err != nil && errors.As(lost(in, err), &l) {
		return l
	}
	return nil
}

type inputReader struct {
	io.ReadCloser
	in Input
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
	if !slices.Contains(t.kind.Outputs, output) {
		return nil, fmt.Errorf("stage kind %s creates output %q, which it does not declare", t.kind.Name, output)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, again := t.outputs[output]; again {
		return nil, fmt.Errorf("%s creates output %q twice", t.Address, output)
	}
	w, err := t.blobs.Create(t.ctx)
	if err != nil {
		return nil, storeError(t.ctx, "create output "+output, err)
	}
	t.outputs[output] = w
	return &outputWriter{w, t.ctx, output}, nil
}

// outputWriter marks what keeps the store from taking an output.
type outputWriter struct {
	w      cache.Writer
	ctx    context.Context // the task's
	output string
}

func (w *outputWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		err = storeError(w.ctx, "write output "+w.output, err)
	}
	return n, err
}

// Write creates an output with the given bytes.
func (t *Task) Write(output string, b []byte) error {
	w, err := t.Create(output)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Measure records something that was observed. It never enters a key.
func (t *Task) Measure(name string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.measured[name] = value
}

// Found says that what the stage leaves outside the cache was there already: what
// was measured when it was made stays.
func (t *Task) Found() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found = true
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

// warned is what the task told the user.
func (t *Task) warned() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.warnings
}

// measurements are what the task measured, as JSON.
func (t *Task) measurements() (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.Marshal(t.measured)
}

// paid is what the task was billed for so far.
func (t *Task) paid() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	usd, _ := t.measured[PaidUSD].(float64)
	return usd
}

// commit makes the outputs durable, in the order the kind declares them. None is
// when one is missing.
func (t *Task) commit() ([]cache.Blob, error) {
	for _, name := range t.kind.Outputs {
		if t.outputs[name] == nil {
			return nil, fmt.Errorf("%s ended without its output %q", t.Address, name)
		}
	}
	blobs := make([]cache.Blob, 0, len(t.kind.Outputs))
	for _, name := range t.kind.Outputs {
		b, err := t.outputs[name].Commit()
		if err != nil {
			return nil, storeError(t.ctx, "store output "+name, err)
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

// IsTransient reports whether an error was marked by [Transient], or comes of a store
// that is out of reach.
func IsTransient(err error) bool {
	var t *transientError
	return errors.As(err, &t) || errors.Is(err, cache.ErrUnavailable)
}

// InputError marks a failure that only the user can mend, in what they wrote or
// gave raglab to read.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }
