package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/cache"
)

// An input that was there when the apply was planned, and is gone or damaged
// when it is read, is made again, with all it needs.
func TestApply_lostInput(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(testing.TB, string){"removed": remove, "damaged": corrupt} {
		for _, depth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d deep", name, depth), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				build := func(end string) {
					var from []*Stage
					for i := range 3 {
						from = []*Stage{l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), from...)}
					}
					l.add(pureKind, "make[other]", "o", from...)
					l.add(pureKind, "make[end]", end, from...)
				}
				build("x")
				out := l.done()
				l.next()
				build("y")
				p := l.plan()
				for i := range depth {
					harm(t, l.blobPath(out, l.graph.Stages[2-i]))
				}
				l.took()
				out = l.applyPlan(t.Context(), p)
				l.wantDone(out)
				if got := l.read(out, l.graph.Stages[4]); got != "y(2(1(0)))" {
					t.Errorf("the end is %q", got)
				}
				if out.Executed != depth+1 || out.Cached != 4-depth {
					t.Errorf("executed %d, cached %d; want %d and %d", out.Executed, out.Cached, depth+1, 4-depth)
				}
				if !strings.Contains(tell(l.took()), "warning make[end] input in0 (make[2]) is lost and will be made again") {
					t.Error("the loss was not told")
				}
				if p := l.plan(); p.Changes() {
					t.Errorf("something is left:\n%s", say(p))
				}
			})
		}
	}
}

// Many lost inputs of one stage are found and made together.
func TestApply_manyLostInputs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(end string) {
		var from []*Stage
		for i := range 30 {
			from = append(from, l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i)))
		}
		l.add(pureKind, "make[end]", end, from...)
	}
	build("x")
	out := l.done()
	l.next()
	build("y")
	p := l.plan()
	for i, s := range l.graph.Stages[:30] {
		if i%2 == 0 {
			remove(t, l.blobPath(out, s))
		} else {
			corrupt(t, l.blobPath(out, s))
		}
	}
	l.wantDone(l.applyPlan(t.Context(), p))
	if n := runs(l.graph.Stages[30]); n != 2 {
		t.Errorf("the end was begun %d times, want 2", n)
	}
}

// A stage that stumbles over a damaged input in a way of its own, before the
// damage is told, finds it whole the next time.
func TestApply_stumblesOverDamage(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"error", "panic"} {
		l := newLab(t)
		build := func(text string) *Stage {
			l.add(pureKind, "make[a]", "some words")
			return l.addStep(pureKind, "make[b]", text, func(_ context.Context, t *Task) error {
				r, err := t.Open("in0")
				if err != nil {
					return err
				}
				defer func() { _ = r.Close() }()
				word := make([]byte, 7)
				if _, err := io.ReadFull(r, word); err != nil {
					return err
				}
				switch {
				case string(word) == "some wo":
					return t.Write("out", word)
				case way == "panic":
					panic("no word")
				}
				return fmt.Errorf("%q is no word", word)
			}, l.graph.Stages[0])
		}
		build("x")
		out := l.done()
		l.next()
		b := build("y")
		p := l.plan()
		corrupt(t, l.blobPath(out, l.graph.Stages[0]))
		out = l.applyPlan(t.Context(), p)
		l.wantDone(out)
		if got := l.read(out, b); got != "some wo" || runs(b) != 2 {
			t.Errorf("%s: %q after %d runs", way, got, runs(b))
		}
	}
}

// What decides a parameter may be lost too.
func TestApply_lostLateInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string) *Stage {
		a := l.add(pureKind, "make[a]", "60")
		s := newStage(pureKind, "make[late]", text, nil)
		s.Inputs = []Input{{Name: "chosen", From: a, Output: "out", Late: true}}
		s.Late = func(read func(string) ([]byte, error)) ([]Field, any, error) {
			raw, err := read("chosen")
			return []Field{{Params, "k", string(raw)}}, &step{do: join(text + string(raw))}, err
		}
		return l.graph.Add(s)
	}
	build("x")
	out := l.done()
	l.next()
	late := build("y")
	p := l.plan()
	remove(t, l.blobPath(out, l.graph.Stages[0]))
	out = l.applyPlan(t.Context(), p)
	l.wantDone(out)
	if got := l.read(out, late); got != "y60" {
		t.Errorf("the late stage gave %q", got)
	}
}

// A lost input that cannot be made again blocks what needs it, whoever finds it.
func TestApply_lostForGood(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string, do func(context.Context, *Task) error) {
		a := l.addStep(pureKind, "make[a]", "a", do)
		l.add(pureKind, "make[1]", text+"1", a)
		l.add(pureKind, "make[2]", text+"2", a)
		l.add(pureKind, "make[3]", text+"3", l.graph.Stages[1])
	}
	build("x", join("a"))
	out := l.done()
	l.next()
	build("y", fails)
	p := l.plan()
	remove(t, l.blobPath(out, l.graph.Stages[0]))
	out = l.applyPlan(t.Context(), p)
	want := []StageState{StateFailed, StateBlocked, StateBlocked, StateBlocked}
	if fmt.Sprint(out.State) != fmt.Sprint(want) || len(out.Failures) != 1 {
		t.Errorf("states %v, failures %v", out.State, out.Failures)
	}
}

// A twin waits for the input that was found lost as well, and is blocked when it
// does not come back, although it reads the same bytes of another stage.
func TestApply_lostForGoodByTwin(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string, do func(context.Context, *Task) error) {
		for i := range 2 {
			a := l.addStep(pureKind, fmt.Sprintf("make[from %d]", i), fmt.Sprint(i), do)
			l.add(pureKind, fmt.Sprintf("make[twin %d]", i), text, a)
		}
	}
	build("x", constant)
	out := l.done()
	l.next()
	build("y", fails)
	p := l.plan()
	remove(t, l.blobPath(out, l.graph.Stages[0]))
	out = l.applyPlan(t.Context(), p)
	if fmt.Sprint(out.State) != "[failed blocked done blocked]" {
		t.Errorf("states %v", out.State)
	}
}

// forgetfulStore loses one blob as often as it is written.
type forgetfulStore struct {
	Store
	loses cache.Digest
}

func (s forgetfulStore) Open(ctx context.Context, d cache.Digest) (io.ReadCloser, error) {
	if d == s.loses {
		return nil, cache.ErrNotFound
	}
	return s.Store.Open(ctx, d)
}

func (s forgetfulStore) ReadAll(ctx context.Context, d cache.Digest) ([]byte, error) {
	if d == s.loses {
		return nil, cache.ErrNotFound
	}
	return s.Store.ReadAll(ctx, d)
}

// A cache that loses a result each time is given up, not asked for ever.
func TestApply_lostEachTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.ex.Store = forgetfulStore{l.store, cache.DigestOf([]byte("a"))}
	a := l.add(pureKind, "make[a]", "a")
	end := l.add(pureKind, "make[end]", "e", a)
	out := l.apply()
	if err := out.Err(); err == nil || !strings.Contains(err.Error(), "was lost 4 times in one apply") {
		t.Errorf("error %v", err)
	}
	if out.State[end.Index()] != StateBlocked || runs(a) != 1+remakeLimit {
		t.Errorf("state %s, made %d times", out.State[end.Index()], runs(a))
	}
}

// A volatile stage that is made again comes out different. What had read the
// lost result does not stay beside what reads the new one.
func TestApply_lostVolatileInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	build := func(text string) {
		roll := l.addStep(volatileKind, "roll[a]", "a", random())
		old := l.add(pureKind, "make[old]", "o", roll)
		l.add(pureKind, "make[older]", "oo", old)
		l.add(pureKind, "make[new]", text, roll)
	}
	build("x")
	out := l.done()
	l.next()
	build("y")
	p := l.plan()
	remove(t, l.blobPath(out, l.graph.Stages[0]))
	out = l.applyPlan(t.Context(), p)
	l.wantDone(out)
	got := l.outputs(out)
	roll := got["roll[a]"]
	if got["make[old]"] != "o("+roll+")" || got["make[older]"] != "oo(o("+roll+"))" || got["make[new]"] != "y("+roll+")" {
		t.Errorf("results of different rolls stand side by side: %q", got)
	}
	if p := l.plan(); p.Changes() {
		t.Errorf("something is left:\n%s", say(p))
	}
}

// Whatever is deleted or damaged, before or after the plan, an apply comes to the
// results it came to before, until nothing is left to do.
func TestApply_convergesAfterLoss(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t)
		randomGraph(rt, l, 8)
		want := l.outputs(l.done())
		harm := func(label string) {
			for _, path := range entries(t, l.store.Dir()) {
				switch rapid.IntRange(0, 5).Draw(rt, label) {
				case 0:
					remove(t, path)
				case 1:
					if info, err := os.Stat(path); err == nil && info.Size() > 0 {
						corrupt(t, path)
					}
				}
			}
		}
		harm("before")
		p := l.plan()
		harm("after")
		out := l.applyPlan(t.Context(), p)
		l.wantDone(out)
		// What the plan had seen and nothing read since may still be damaged.
		for range len(l.graph.Stages) {
			if readable(l, out) && !l.plan().Changes() {
				break
			}
			out = l.done()
		}
		if got := l.outputs(out); !maps.Equal(got, want) {
			rt.Fatalf("came to %v, before to %v", got, want)
		}
		if p := l.plan(); p.Changes() {
			rt.Fatalf("something is left:\n%s", say(p))
		}
	})
}

// readable reads all outputs; what is damaged is set aside.
func readable(l *lab, out *Outcomes) bool {
	all := true
	for _, s := range l.graph.Stages {
		if blob, ok := out.Output(s, "out"); ok {
			_, err := l.store.ReadAll(l.Context(), blob.Digest)
			all = all && err == nil
		}
	}
	return all
}
