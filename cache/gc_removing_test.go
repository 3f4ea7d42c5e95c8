package cache

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestGC_removingComesBeforeTheRecord drops something outside the store for each
// record that goes, before it goes, and keeps the record whose own cannot be
// dropped.
func TestGC_removingComesBeforeTheRecord(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	for _, name := range []string{"old", "held", "used"} {
		store(t, l, name)
	}
	age(t, l, 1000*time.Hour)
	l = reopen(t, l)
	var dropped []Key
	removing := func(ctx context.Context, k Key, remove func() (bool, error)) (bool, error) {
		wantRecord(t, l, k)
		dropped = append(dropped, k)
		switch k {
		case keyOf("held"):
			return false, nil
		case keyOf("used"):
			// Somebody asks for it at this moment.
			wantHit(t, l, k)
			went, err := remove()
			if went {
				t.Error("a record went that was used meanwhile")
			}
			return went, err
		}
		return remove()
	}
	o := GCOptions{MaxAge: time.Hour, DryRun: true, Removing: func(_ context.Context, k Key, remove func() (bool, error)) (bool, error) {
		dropped = append(dropped, k)
		return remove()
	}}
	if r := collect(t, l, o); r.Removed.Records.Count != 3 || len(dropped) != 3 {
		t.Errorf("a dry run would remove %d, and told of %d", r.Removed.Records.Count, len(dropped))
	}
	dropped = nil
	if r := collect(t, l, GCOptions{MaxAge: time.Hour, Removing: removing}); r.Removed.Records.Count != 1 || len(dropped) != 3 {
		t.Errorf("removed %d, and told of %d", r.Removed.Records.Count, len(dropped))
	}
	wantMiss(t, l, keyOf("old"))
	wantHit(t, l, keyOf("held"))
	wantHit(t, l, keyOf("used"))
}

// TestGC_removingThatFailsStopsIt keeps the record.
func TestGC_removingThatFailsStopsIt(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	store(t, l, "old")
	age(t, l, 1000*time.Hour)
	l = reopen(t, l)
	broken := errors.New("broken")
	_, err := l.GC(t.Context(), GCOptions{MaxAge: time.Hour, Removing: func(context.Context, Key, func() (bool, error)) (bool, error) {
		return false, broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	wantHit(t, l, keyOf("old"))
}

// wantRecord wants a record to be there, without using it.
func wantRecord(t *testing.T, l *Local, k Key) {
	t.Helper()
	if keys, err := l.Keys(t.Context(), k.String()); err != nil || len(keys) != 1 {
		t.Errorf("record %s: %v, %v", k.Short(), keys, err)
	}
}
