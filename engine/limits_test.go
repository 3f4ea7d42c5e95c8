package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// Never do more stages of a limit run at a time than it admits, those of another go on
// beside them, and all get their turn.
func TestApply_limits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var now, most [2]atomic.Int32
	for i := range 24 {
		which := i % 2
		s := newStage(pureKind, fmt.Sprintf("ask[%d]", i), fmt.Sprint(i), func(_ context.Context, t *Task) error {
			n := now[which].Add(1)
			for m := most[which].Load(); n > m && !most[which].CompareAndSwap(m, n); m = most[which].Load() {
			}
			defer now[which].Add(-1)
			return t.Write("out", []byte(t.Address))
		})
		s.Limits = []string{[]string{"narrow", "wide"}[which], "all"}
		l.graph.Add(s)
	}
	l.ex.Capacity = Resources{CPU: 16}
	l.ex.Limits = map[string]int{"narrow": 1, "wide": 3}
	out := l.done()
	if out.Executed != 24 {
		t.Errorf("%d stages ran, want 24", out.Executed)
	}
	if n, w := most[0].Load(), most[1].Load(); n > 1 || w > 3 {
		t.Errorf("%d and %d at a time, want at most 1 and 3", n, w)
	}
}
