package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecall_planIsTheSame(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 3 * lookaheadPart {
		l.add(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i))
	}
	out := l.done()
	// One result is gone, one stage's definition is another, one is new.
	if err := l.store.Delete(t.Context(), out.Keys[1]); err != nil {
		t.Fatal(err)
	}
	l.next()
	for i := range 3*lookaheadPart + 1 {
		text := fmt.Sprint(i)
		if i == 2 {
			text = "another"
		}
		l.add(pureKind, fmt.Sprintf("make[%d]", i), text)
	}
	parts, err := l.planner().Plan(t.Context(), l.graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(say(parts), say(l.plan())); diff != "" {
		t.Errorf("plan in parts (-), with what was recalled (+):\n%s", diff)
	}
	if got := parts.Count(WillRun); got != 3 {
		t.Errorf("%d stages run, want 3", got)
	}
}

func TestRecall_longLedger(t *testing.T) {
	t.Parallel()
	long := Ledger{}
	for i := range maxRecollection + 1 {
		long[fmt.Sprint(i)] = LedgerEntry{}
	}
	for name, l := range map[string]Ledger{"empty": {}, "long": long} {
		if r := Recall(t.Context(), newLab(t).store, l); r != nil {
			t.Errorf("%s ledger: results are recalled at once, want nil", name)
		}
	}
}
