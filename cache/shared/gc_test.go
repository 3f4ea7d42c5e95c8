package shared_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// clock is one that a test moves. Safe for concurrent use.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

const day = 24 * time.Hour

// lab is a bucket and its clock.
type lab struct {
	*clock
	bucket *sharedtest.Memory
}

func newLab() *lab {
	c := newClock()
	return &lab{c, &sharedtest.Memory{Now: c.now}}
}

func (l *lab) writer() *shared.Store {
	return shared.New(l.bucket, quick(shared.Options{Mode: shared.Write, Name: "mem://lab", Now: l.now}))
}

func (l *lab) reader() *shared.Store {
	return shared.New(l.bucket, quick(shared.Options{Name: "mem://lab", Now: l.now}))
}

func keyOf(s string) cache.Key { return cache.Key(cache.DigestOf([]byte(s))) }

// result stores a record with one output of its own and one that all share.
func result(t testing.TB, s cache.Store, name string) *cache.Record {
	t.Helper()
	r := &cache.Record{Key: keyOf(name), Outputs: []cache.Blob{
		cachetest.Write(t, s, "own", []byte("output of "+name)), cachetest.Write(t, s, "common", []byte("what all share")),
	}}
	kept, err := s.Put(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func collect(t testing.TB, s *shared.Store, maxAge time.Duration) shared.GCReport {
	t.Helper()
	r, err := s.GC(t.Context(), shared.GCOptions{MaxAge: maxAge})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closeStore(t testing.TB, s *shared.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func hits(t testing.TB, s cache.Store, name string) bool {
	t.Helper()
	_, miss, err := cache.Lookup(t.Context(), s, keyOf(name))
	if err != nil {
		t.Fatal(err)
	}
	return miss.Reason == cache.Hit
}

// TestGC_takesThreeCollections follows an unused record: condemned, removed, then its blob condemned
// and removed. What it shared with another stays.
func TestGC_takesThreeCollections(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	result(t, w, "old")
	closeStore(t, w)
	l.pass(100 * day)
	w = l.writer()
	result(t, w, "young")
	closeStore(t, w)
	for i, want := range []struct{ condemned, removed cache.Usage }{
		{condemned: cache.Usage{Records: cache.Tally{Count: 1}}},
		{removed: cache.Usage{Records: cache.Tally{Count: 1}}},
		{condemned: cache.Usage{Blobs: cache.Tally{Count: 1}}},
		{removed: cache.Usage{Blobs: cache.Tally{Count: 1}}},
		{},
	} {
		l.pass(8 * day)
		w := l.writer()
		got := collect(t, w, 60*day)
		closeStore(t, w)
		if got.Condemned.Records.Count != want.condemned.Records.Count || got.Condemned.Blobs.Count != want.condemned.Blobs.Count ||
			got.Removed.Records.Count != want.removed.Records.Count || got.Removed.Blobs.Count != want.removed.Blobs.Count {
			t.Errorf("collection %d: condemned %+v, removed %+v", i+1, got.Condemned, got.Removed)
		}
	}
	r := l.reader()
	defer closeStore(t, r)
	if hits(t, r, "old") || !hits(t, r, "young") {
		t.Error("the old result is there, or the young one is not")
	}
	if n := len(l.bucket.Names("cas/")); n != 2 {
		t.Errorf("%d blobs are left, want 2", n)
	}
}

func TestGC_collectionsTooSoonRemoveNothing(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	defer closeStore(t, w)
	cachetest.Write(t, w, "orphan", []byte("no record names it"))
	closeStore(t, w)
	l.pass(30 * day)
	w = l.writer()
	for range 5 {
		if r := collect(t, w, day); r.Removed != (cache.Usage{}) {
			t.Errorf("removed %+v", r.Removed)
		}
		l.pass(day)
	}
}

// TestGC_useSaves: what a writer used is kept, pinned or given ones too; a dry run writes nothing.
func TestGC_keeps(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	for _, name := range []string{"used", "pinned", "root", "idle"} {
		result(t, w, name)
	}
	if err := w.Pin(t.Context(), "Експеримент 1", []cache.Key{keyOf("pinned")}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, w)
	for range 12 {
		l.pass(20 * day)
		w := l.writer()
		if !hits(t, w, "used") {
			t.Error("a used result went")
		}
		before := len(l.bucket.Names(""))
		if _, err := w.GC(t.Context(), shared.GCOptions{MaxAge: 60 * day, DryRun: true}); err != nil {
			t.Fatal(err)
		}
		if now := len(l.bucket.Names("")); now != before {
			t.Errorf("a dry run left %d objects of %d", now, before)
		}
		if _, err := w.GC(t.Context(), shared.GCOptions{MaxAge: 60 * day, Roots: []cache.Key{keyOf("root")}}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, w)
	}
	r := l.reader()
	defer closeStore(t, r)
	for name, want := range map[string]bool{"used": true, "pinned": true, "root": true, "idle": false} {
		if hits(t, r, name) != want {
			t.Errorf("%s: there is %v, want %v", name, !want, want)
		}
	}
}

// TestGC_neverUnderAWriter: whatever a writer wrote or found since it began stays for as long as it
// says that it is at work, however old.
func TestGC_neverUnderAWriter(t *testing.T) {
	t.Parallel()
	l := newLab()
	apply := l.writer()
	orphan := cachetest.Write(t, apply, "chunks", []byte("its record comes last, weeks later"))
	for range 30 {
		l.pass(day)
		if err := shared.Renew(t.Context(), apply); err != nil {
			t.Fatal(err)
		}
		gc := l.writer()
		collect(t, gc, day)
		closeStore(t, gc)
	}
	if _, err := apply.Put(t.Context(), &cache.Record{Key: keyOf("late"), Outputs: []cache.Blob{orphan}}); err != nil {
		t.Errorf("Put: %v", err)
	}
	closeStore(t, apply)
}

// TestGC_condemnedBlobIsRenewed: a writer that needs a blob which the next collection would take
// uploads it again.
func TestGC_condemnedBlobIsRenewed(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	cachetest.Write(t, w, "orphan", []byte("output of again"))
	closeStore(t, w)
	l.pass(30 * day)
	gc := l.writer()
	if r := collect(t, gc, 0); r.Condemned.Blobs.Count != 1 {
		t.Fatalf("condemned %+v, want the blob", r.Condemned)
	}
	closeStore(t, gc)
	l.pass(8 * day)
	w = l.writer()
	blob := cachetest.Write(t, w, "own", []byte("output of again")) // it is there: nothing to upload but for its age
	gc = l.writer()
	if r := collect(t, gc, 0); r.Removed.Blobs.Count != 0 {
		t.Errorf("removed %+v: the blob that a writer is about to name", r.Removed)
	}
	closeStore(t, gc)
	if _, err := w.Put(t.Context(), &cache.Record{Key: keyOf("again"), Outputs: []cache.Blob{blob}}); err != nil {
		t.Errorf("Put: %v", err)
	}
	closeStore(t, w)
}

// TestGC_listingLeavesOut: a record that a listing forgets keeps its blobs, for the collection before
// knew of it.
func TestGC_listingLeavesOut(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	result(t, w, "kept")
	collect(t, w, 0)
	closeStore(t, w)
	for range 5 {
		l.pass(20 * day)
		gc := shared.New(&forgetful{l.bucket}, quick(shared.Options{Mode: shared.Write, Name: "mem://lab", Now: l.now}))
		if r := collect(t, gc, 0); r.Removed.Blobs.Count != 0 || r.Condemned.Blobs.Count != 0 {
			t.Errorf("condemned %+v, removed %+v", r.Condemned, r.Removed)
		}
		closeStore(t, gc)
	}
}

// TestGC_anyHistory lets writers, readers and collections act at random over years. A result that is
// found can be read; one that was used within the age is found; all else goes in the end.
func TestGC_anyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab()
		const maxAge = 60 * day
		lastUse := map[string]time.Time{}
		w := l.writer()
		touch := func(name string) { lastUse[name] = l.now() }
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			name := fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "name"))
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				result(t, w, name)
				touch(name)
			case 1:
				if hits(t, w, name) {
					touch(name)
				}
			case 2:
				l.pass(time.Duration(rapid.IntRange(1, 30*24).Draw(rt, "hours")) * time.Hour)
				if err := shared.Renew(t.Context(), w); err != nil {
					rt.Fatal(err)
				}
			case 3:
				closeStore(t, w)
				w = l.writer()
			default:
				gc := l.writer()
				collect(t, gc, maxAge)
				closeStore(t, gc)
			}
			r := l.reader()
			for name, used := range lastUse {
				found := hits(t, r, name)
				if !found && l.now().Sub(used) < maxAge {
					rt.Fatalf("result %s, used %v ago, is gone", name, l.now().Sub(used))
				}
			}
			closeStore(t, r)
		}
		closeStore(t, w)
		for range 8 {
			l.pass(100 * day)
			gc := l.writer()
			collect(t, gc, maxAge)
			closeStore(t, gc)
		}
		if left := slices.Concat(l.bucket.Names("cas/"), l.bucket.Names("ac/"), l.bucket.Names("sessions/")); len(left) > 0 {
			rt.Fatalf("%v is left after years without use", left)
		}
	})
}

// TestVerify_isNoUse has a record verified every month: it is as unused as one that is not.
func TestVerify_isNoUse(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	result(t, w, "old")
	closeStore(t, w)
	l.pass(100 * day)
	w = l.writer()
	if r, err := w.Verify(t.Context()); err != nil || r.Records.Count != 1 {
		t.Fatalf("Verify: %+v, %v; want one record", r, err)
	}
	closeStore(t, w)
	if lists := l.bucket.Names("uses/"); len(lists) > 0 {
		t.Errorf("to verify was noted as a use: %v", lists)
	}
}

// TestGC_usesByTheBucketsClock has a writer whose own clock is months behind use a record: it is used now.
func TestGC_usesByTheBucketsClock(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	result(t, w, "old")
	closeStore(t, w)
	l.pass(100 * day)
	late := func() time.Time { return l.now().Add(-90 * day) }
	w = shared.New(l.bucket, quick(shared.Options{Mode: shared.Write, Name: "mem://lab", Now: late}))
	if !hits(t, w, "old") {
		t.Fatal("the record is not there")
	}
	closeStore(t, w)
	l.pass(8 * day)
	w = l.writer()
	defer closeStore(t, w)
	if r := collect(t, w, 60*day); r.Condemned.Records.Count != 0 {
		t.Errorf("condemned %d records that a writer used 8 days ago", r.Condemned.Records.Count)
	}
}

// TestPins_foreignObjects passes over what file managers leave beside pins.
func TestPins_foreignObjects(t *testing.T) {
	t.Parallel()
	l := newLab()
	w := l.writer()
	defer closeStore(t, w)
	if err := l.bucket.Create(t.Context(), "pins/.DS_Store", 1, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Pin(t.Context(), "rivers", []cache.Key{keyOf("old")}); err != nil {
		t.Fatal(err)
	}
	if pins, err := w.Pins(t.Context()); err != nil || len(pins) != 1 {
		t.Errorf("Pins: %v, %v; want one", pins, err)
	}
}
