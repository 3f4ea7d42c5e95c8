package engine

import (
	"errors"
	"strings"
	"testing"
)

// A table that is there is taken away before it is made by force, once.
func TestApply_forcedTableIsMadeAnew(t *testing.T) {
	t.Parallel()
	full, busy := errors.New("it only reads"), errors.New("it was busy")
	for _, tc := range []struct {
		name    string
		stuck   func(nth int) error
		err     error
		removed int
		put     string // the one that was measured
	}{
		{"it can be", nil, nil, 1, `{"put":2}`},
		{"at the second attempt", func(nth int) error {
			if nth == 1 {
				return Transient(busy)
			}
			return nil
		}, nil, 2, `{"put":2}`},
		{"it cannot be", func(int) error { return full }, full, 1, `{"put":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, s := newLab(t), newShelf()
			index := l.onShelf(s, "index[a]", "a", l.add(pureKind, "make[source]", "s"))
			search := l.searching(s, "search[a]", "q", index)
			l.done()
			s.stuck = tc.stuck
			p := l.planner()
			p.Force = func(s *Stage) bool { return s == index }
			plan, err := p.Plan(t.Context(), l.graph, nil)
			if err != nil {
				t.Fatal(err)
			}
			out := l.applyPlan(t.Context(), plan)
			if err := out.Err(); !errors.Is(err, tc.err) || err != nil && !strings.HasPrefix(err.Error(), "remove the table that is to be made again: ") {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			if s.removed != tc.removed {
				t.Errorf("removed %d times, want %d", s.removed, tc.removed)
			}
			out.Keys[index.Index()] = plan.Stages[index.Index()].Key
			if got := l.measured(out, index); got != tc.put {
				t.Errorf("measurements %s, want %s", got, tc.put)
			}
			if n := runs(search); tc.err == nil && n != 1 {
				t.Errorf("what reads the table ran %d times, though that came out equal", n)
			}
		})
	}
}

// What runs for another reason keeps what it finds.
func TestApply_onlyForceRemoves(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	library(l, s, "q")
	out := l.done()
	for i := range l.graph.Stages {
		remove(t, l.recordPath(out.Keys[i]))
	}
	l.done()
	if s.removed != 0 {
		t.Errorf("removed %d times", s.removed)
	}
}
