package engine

import (
	"context"
	"strings"
	"testing"
)

// mapAll writes the inputs as they lie in memory.
func mapAll(_ context.Context, t *Task) error {
	var all []byte
	for _, in := range t.stage.Inputs {
		m, err := t.Map(in.Name)
		if err != nil {
			return err
		}
		all = append(all, m.Bytes()...)
		for range 2 {
			if err := m.Close(); err != nil {
				return err
			}
		}
		if m.Bytes() != nil {
			return context.Canceled // what is read after Close is a mistake
		}
	}
	return t.Write("out", all)
}

func TestMap_showsInputs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, none := l.add(pureKind, "make[a]", strings.Repeat("a", 10_000)), l.add(pureKind, "make[none]", "")
	both := l.addStep(pureKind, "make[both]", "", mapAll, a, none)
	out := l.done()
	if got := l.read(out, both); got != strings.Repeat("a", 10_000) {
		t.Errorf("mapped %d bytes", len(got))
	}
}

// What is mapped was verified: a damaged input is made again first.
func TestMap_damagedInputIsMadeAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.add(pureKind, "make[a]", "a")
	first := l.done()
	corrupt(t, l.blobPath(first, a))
	l.next()
	a = l.add(pureKind, "make[a]", "a")
	b := l.addStep(pureKind, "make[b]", "", mapAll, a)
	out := l.done()
	if got := l.read(out, b); got != "a" || runs(a) != 1 {
		t.Errorf("mapped %q after %d runs", got, runs(a))
	}
}

func TestMap_undeclaredInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var err error
	l.addStep(pureKind, "make[a]", "", func(_ context.Context, t *Task) error {
		_, err = t.Map("other")
		return t.Write("out", nil)
	})
	l.done()
	if err == nil || !strings.Contains(err.Error(), "does not declare") {
		t.Errorf("got %v", err)
	}
}

func TestFinish_keepsTheOutput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var errs []error
	s := l.addStep(pureKind, "make[a]", "", func(_ context.Context, t *Task) error {
		errs = append(errs, t.Finish("out"))
		if err := t.Write("out", []byte("early")); err != nil {
			return err
		}
		if err := t.Finish("out"); err != nil {
			return err
		}
		_, again := t.Create("out")
		errs = append(errs, t.Finish("out"), again)
		return nil
	})
	out := l.done()
	if got := l.read(out, s); got != "early" {
		t.Errorf("the output is %q", got)
	}
	for i, err := range errs {
		if err == nil {
			t.Errorf("step %d: no error", i)
		}
	}
}
