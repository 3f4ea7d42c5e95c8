package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func collect(t testing.TB, l *Local, o GCOptions) GCReport {
	t.Helper()
	report, err := l.GC(context.Background(), o)
	if err != nil {
		t.Fatalf("GC: %v", err)
	}
	return report
}

// reopen ends the session of l and begins another, as if the process had been started anew.
func reopen(t testing.TB, l *Local) *Local {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return openTest(t, l.dir, l.opts)
}

func TestGC_withoutLimitsTakesOnlyGarbage(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	store(t, l, "kept")
	orphan := write(t, l, "", []byte("no record names this"))
	d, err := l.newDraft(casDir)
	if err != nil {
		t.Fatal(err)
	}
	d.f.Close() // as if its process had been killed
	if err := os.WriteFile(l.path(leaseRel(keyOf("dead"))), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	age(t, l, 1000*time.Hour)

	for _, dry := range []bool{true, false} {
		before := tree(t, l.dir)
		got := collect(t, l, GCOptions{DryRun: dry})
		if got.Removed.Blobs.Count != 1 || got.Removed.Records.Count != 0 || got.Removed.Drafts.Count != 1 || got.DeadLocks != 1 {
			t.Errorf("dry=%v: removed %+v and %d locks", dry, got.Removed, got.DeadLocks)
		}
		if dry && !cmp.Equal(before, tree(t, l.dir)) {
			t.Error("a dry run changed something")
		}
	}
	wantHit(t, l, keyOf("kept"))
	if _, err := l.Stat(t.Context(), orphan.Digest); !errors.Is(err, ErrNotFound) {
		t.Errorf("the orphan: %v", err)
	}
	if left := drafts(t, l); len(left) > 0 {
		t.Errorf("drafts left: %v", left)
	}
	if again := collect(t, l, GCOptions{}); again.Removed.Total().Count != 0 {
		t.Errorf("a second run removed %+v", again.Removed)
	}
}

func TestGC_roots(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	for _, name := range []string{"pinned", "leased", "given", "old", "used"} {
		store(t, l, name)
	}
	if err := l.Pin(t.Context(), "ukwiki", []Key{keyOf("pinned"), keyOf("not made yet")}); err != nil {
		t.Fatal(err)
	}
	age(t, l, 1000*time.Hour)
	l = reopen(t, l)
	le, err := l.Acquire(t.Context(), keyOf("leased"), LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer le.Release()
	wantHit(t, l, keyOf("used"))

	got := collect(t, l, GCOptions{MaxAge: 24 * time.Hour, Roots: []Key{keyOf("given")}})
	if got.Removed.Records.Count != 1 || got.Removed.Blobs.Count != 1 {
		t.Errorf("removed %+v, want one record and its blob", got.Removed)
	}
	for _, name := range []string{"pinned", "leased", "given", "used"} {
		wantHit(t, l, keyOf(name))
	}
	wantMiss(t, l, keyOf("old"))

	if err := l.Unpin(t.Context(), "ukwiki"); err != nil {
		t.Fatal(err)
	}
	age(t, l, 1000*time.Hour)
	collect(t, l, GCOptions{MaxAge: 24 * time.Hour, Roots: []Key{keyOf("given")}})
	wantMiss(t, l, keyOf("pinned"))
}

func TestGC_sizeTakesTheLongestUnusedFirst(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	const n = 10
	for i := range n {
		name := fmt.Sprint(i)
		store(t, l, name)
		age(t, l, time.Duration(100+i)*time.Hour) // all so far, so that 9 is the youngest
	}
	usage, err := l.Du(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		then := l.now().Add(-time.Duration(200-i) * time.Hour)
		if err := os.Chtimes(l.path(recordRel(keyOf(fmt.Sprint(i)))), then, then); err != nil {
			t.Fatal(err)
		}
	}
	half := (usage.Blobs.Bytes + usage.Records.Bytes) / 2
	dry := collect(t, l, GCOptions{MaxBytes: half, DryRun: true})
	got := collect(t, l, GCOptions{MaxBytes: half})
	if got.Removed != dry.Removed || got.Removed.Records.Count != n/2 || got.Removed.Blobs.Count != n/2 {
		t.Errorf("removed %+v, the dry run said %+v; want %d each", got.Removed, dry.Removed, n/2)
	}
	for i := range n {
		if i < n/2 {
			wantMiss(t, l, keyOf(fmt.Sprint(i)))
		} else {
			wantHit(t, l, keyOf(fmt.Sprint(i)))
		}
	}
}

func TestGC_sharedBlobOutlivesOneOfItsRecords(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	shared := write(t, l, "out", []byte("shared"))
	for _, name := range []string{"old", "pinned"} {
		if _, err := l.Put(t.Context(), &Record{Key: keyOf(name), Outputs: []Blob{shared}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Pin(t.Context(), "p", []Key{keyOf("pinned")}); err != nil {
		t.Fatal(err)
	}
	age(t, l, 1000*time.Hour)
	if got := collect(t, l, GCOptions{MaxAge: time.Hour}); got.Removed.Records.Count != 1 || got.Removed.Blobs.Count != 0 {
		t.Errorf("removed %+v", got.Removed)
	}
	wantHit(t, l, keyOf("pinned"))
}

func TestGC_memoAndQuarantine(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	m, err := l.Memo(Digest{1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Put(t.Context(), []Digest{{1}}, [][]float32{{1}}); err != nil {
		t.Fatal(err)
	}
	r := store(t, l, "k")
	rewriteFile(t, l.Path(r.Outputs[0].Digest), []byte("damaged beyond use"))
	if _, err := l.ReadAll(t.Context(), r.Outputs[0].Digest); err == nil {
		t.Fatal("damage went unnoticed")
	}
	o := GCOptions{MaxAge: 24 * time.Hour}
	if got := collect(t, l, o); got.Removed.Total().Count != 0 {
		t.Errorf("removed %+v of what is young", got.Removed)
	}
	age(t, l, 1000*time.Hour)
	got := collect(t, l, o)
	if got.Removed.Memo.Count != 1 || got.Removed.Quarantine.Count != 1 {
		t.Errorf("removed %+v, want the memo space and the damaged blob", got.Removed)
	}
	fresh, err := l.Memo(Digest{1})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if has, err := fresh.Has(t.Context(), []Digest{{1}}); err != nil || has[0] {
		t.Errorf("memo after collection: %v, %v", has, err)
	}
	if _, err := m.Put(t.Context(), []Digest{{1}}, [][]float32{{2}}); err != nil {
		t.Errorf("the space cannot be made again: %v", err)
	}
}

func TestGC_damagedPinStopsIt(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	store(t, l, "k")
	if err := l.Pin(t.Context(), "p", []Key{keyOf("k")}); err != nil {
		t.Fatal(err)
	}
	rewriteFile(t, l.path(pinDir+"/p"), []byte("{}"))
	age(t, l, 1000*time.Hour)
	if _, err := l.GC(t.Context(), GCOptions{MaxAge: time.Hour}); !errors.As(err, new(*CorruptError)) {
		t.Errorf("GC: %v, want a *CorruptError", err)
	}
	wantHit(t, l, keyOf("k"))
	if err := l.Unpin(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	collect(t, l, GCOptions{MaxAge: time.Hour})
}

// TestGC_interleavings stops a collection right before it removes something old, lets another
// process use that very thing, and lets the collection go on: the use must hold.
func TestGC_interleavings(t *testing.T) {
	t.Parallel()
	orphan := []byte("an old blob without a record")
	uses := map[string]func(t *testing.T, other *Local) (check func()){
		"a lookup that hits": func(t *testing.T, other *Local) func() {
			wantHit(t, other, keyOf("old"))
			return func() { wantHit(t, other, keyOf("old")) }
		},
		"a blob written once more": func(t *testing.T, other *Local) func() {
			b := write(t, other, "out", orphan)
			return func() {
				if _, err := other.ReadAll(context.Background(), b.Digest); err != nil {
					t.Errorf("a committed blob is gone: %v", err)
				}
			}
		},
		"a record of an old blob": func(t *testing.T, other *Local) func() {
			r := &Record{Key: keyOf("new"), Outputs: []Blob{{Name: "out", Digest: DigestOf(orphan), Size: int64(len(orphan))}}}
			if _, err := other.Put(context.Background(), r); err != nil {
				t.Errorf("Put: %v", err)
			}
			return func() { wantHit(t, other, keyOf("new")) }
		},
		"a pin": func(t *testing.T, other *Local) func() {
			if err := other.Pin(context.Background(), "p", []Key{keyOf("old")}); err != nil {
				t.Errorf("Pin: %v", err)
			}
			return func() { wantHit(t, other, keyOf("old")) }
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := openTest(t, dir, Options{NoSync: true})
			store(t, first, "old")
			write(t, first, "", orphan)
			age(t, first, 1000*time.Hour)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}

			decided, goOn := make(chan struct{}), make(chan struct{})
			gc := openTest(t, dir, Options{NoSync: true})
			c := &collection{l: gc, o: GCOptions{MaxAge: time.Hour}, roots: map[Key]bool{}, refs: map[Digest]int{}}
			c.beforeRemoval = func() { close(decided); <-goOn }
			done := make(chan error, 1)
			go func() { done <- c.run(context.Background()) }()
			<-decided
			other := openTest(t, dir, Options{NoSync: true})
			check := use(t, other)
			close(goOn)
			if err := <-done; err != nil {
				t.Fatalf("GC: %v", err)
			}
			check()
		})
	}
}

// fastClock runs through a day in a few seconds, so that an hour of grace passes in a test. It runs
// in the past: a draft has the file system's time until it is finished, and must not look old.
func fastClock() func() time.Time {
	start := time.Now()
	return func() time.Time { return start.Add(20_000*time.Since(start) - 1000*time.Hour) }
}

// TestGC_besideApplies lets collections run without pause beside processes that make and use
// results, and checks that nothing goes that an apply has in use. Sessions last two hours of the
// fast clock, records are collected after 70 minutes.
func TestGC_besideApplies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := fastClock()
	openHere := func() *Local {
		l, err := OpenLocal(dir, Options{NoSync: true, Now: clock})
		if err != nil {
			t.Error(err)
		}
		return l
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Second, errors.New("long enough"))
	defer cancel()
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				l := openHere()
				apply(t, l, clock, 2*time.Hour, rand.New(rand.NewPCG(uint64(i), 1)))
				l.Close()
			}
		})
	}
	removed := 0
	for ctx.Err() == nil {
		l := openHere()
		removed += collect(t, l, GCOptions{MaxAge: 70 * time.Minute}).Removed.Total().Count
		l.Close()
	}
	all.Wait()
	t.Logf("%d things collected", removed)
	if removed == 0 {
		t.Error("the collections removed nothing: the test shows nothing")
	}
}

// apply makes or finds results for so long, and checks at its end that every one it was told of is
// still there. Blobs are committed well before their records.
func apply(t *testing.T, l *Local, clock func() time.Time, lasts time.Duration, random *rand.Rand) {
	ctx := context.Background()
	seen := map[Digest]Blob{}
	for end := clock().Add(lasts); clock().Before(end); {
		n := 50*int(clock().Unix()/3600) + random.IntN(150) // what is in demand moves on
		k := keyOf(fmt.Sprint("stage ", n))
		r, miss, err := Lookup(ctx, l, k)
		if err != nil {
			t.Errorf("Lookup: %v", err)
			return
		}
		if miss.Reason != Hit {
			var outputs []Blob
			for out := range 3 { // the last one is many stages' output
				outputs = append(outputs, write(t, l, fmt.Sprint(out), fmt.Appendf(nil, "%d of %d", out, n/(1+9*(out/2)))))
			}
			if r, err = l.Put(ctx, &Record{Key: k, Outputs: outputs}); err != nil {
				t.Errorf("Put after Commit of all outputs: %v", err)
				return
			}
		}
		for _, b := range r.Outputs {
			seen[b.Digest] = b
		}
	}
	for d, b := range seen {
		if _, err := l.ReadAll(ctx, d); err != nil {
			t.Errorf("output %s went while in use: %v", b.Name, err)
		}
	}
}

func rewriteFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o444); err != nil {
		t.Fatal(err)
	}
}
