package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOpenLocal_readOnlyWritesNothing(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	r := store(t, l, "k")
	damaged := store(t, l, "damaged")
	rewriteFile(t, l.Path(damaged.Outputs[0].Digest), []byte("something else…"))
	store(t, l, "bad")
	rewriteFile(t, l.path(recordRel(keyOf("bad"))), []byte("no record"))
	remember(t, openMemo(t, l), 0, 3)
	if err := l.State("e").Replace("s", []byte("state")); err != nil {
		t.Fatal(err)
	}
	age(t, l, 1000*time.Hour) // so that a hit would be marked
	lease, err := l.Acquire(t.Context(), keyOf("k"), LeaseRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	before := tree(t, l.dir)

	ro := openTest(t, l.dir, Options{ReadOnly: true})
	wantHit(t, ro, r.Key)
	if _, err := ro.ReadAll(t.Context(), damaged.Outputs[0].Digest); !errors.As(err, new(*CorruptError)) {
		t.Errorf("damaged blob: %v", err)
	}
	if _, miss, err := Lookup(t.Context(), ro, keyOf("bad")); err != nil || miss.Reason != MissRecordCorrupt {
		t.Errorf("damaged record: %+v, %v", miss, err)
	}
	wantVectors(t, openMemo(t, ro), 0, 3)
	if b, err := ro.State("e").Read("s"); err != nil || string(b) != "state" {
		t.Errorf("state: %q, %v", b, err)
	}
	if _, err := ro.GC(t.Context(), GCOptions{DryRun: true, MaxAge: time.Hour}); err != nil {
		t.Errorf("dry GC: %v", err)
	}
	if report, err := ro.Verify(t.Context()); err != nil || len(report.Bad) != 2 {
		t.Errorf("Verify: %+v, %v", report, err)
	}
	for name, err := range writes(t.Context(), ro) {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
	if diff := cmp.Diff(before, tree(t, l.dir)); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

func writes(ctx context.Context, l *Local) map[string]error {
	_, create := l.Create(ctx)
	_, put := l.Put(ctx, &Record{Key: Key{1}})
	_, acquire := l.Acquire(ctx, Key{1}, LeaseRequest{})
	_, gc := l.GC(ctx, GCOptions{})
	_, run := l.CreateRun("e", "1")
	_, remove := l.RemoveRuns(ctx, "e", 0)
	return map[string]error{
		"Create": create, "Put": put, "Acquire": acquire, "GC": gc, "CreateRun": run, "RemoveRuns": remove,
		"Delete":  l.Delete(ctx, Key{1}),
		"Pin":     l.Pin(ctx, "p", nil),
		"Unpin":   l.Unpin(ctx, "p"),
		"Replace": l.State("e").Replace("s", nil),
		"Update":  l.State("e").Update(ctx, "s", func(b []byte) ([]byte, error) { return b, nil }),
	}
}

func TestOpenLocal_readOnlyOfNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	l := openTest(t, dir, Options{ReadOnly: true})
	wantMiss(t, l, keyOf("k"))
	keys, err := l.Keys(t.Context(), "")
	usage, duErr := l.Du(t.Context())
	runs, runErr := l.Runs("e")
	pins, pinErr := l.Pins(t.Context())
	has, memoErr := openMemo(t, l).Has(t.Context(), []Digest{{1}})
	report, verifyErr := l.Verify(t.Context())
	if err := errors.Join(err, duErr, runErr, pinErr, memoErr, verifyErr); err != nil {
		t.Error(err)
	}
	if len(keys)+len(runs)+len(pins)+len(report.Bad) != 0 || usage != (Usage{}) || has[0] {
		t.Errorf("%v %v %v %v %+v", keys, usage, runs, pins, report)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestOpenLocal_version(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"raglab cache format 1\n": "",
		"raglab cache format 2\n": "it has format 2 and this raglab reads up to 1: use a newer raglab",
		"raglab cache format 0\n": "no format of a raglab cache",
		"something else":          "no format of a raglab cache",
		"":                        "no format of a raglab cache",
	} {
		for _, readOnly := range []bool{false, true} {
			dir := t.TempDir()
			rewriteOrMake(t, filepath.Join(dir, "VERSION"), text)
			before := tree(t, dir)
			l, err := OpenLocal(dir, Options{ReadOnly: readOnly})
			if want == "" {
				if err != nil {
					t.Errorf("%q: %v", text, err)
				} else if err := l.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want one sentence with %q", text, err, want)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("%q: changed a store it refused:\n%s", text, diff)
			}
		}
	}
}

func rewriteOrMake(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOpenLocal_formatOne reads a store written when format 1 was new. It must be readable for as
// long as the number says so.
func TestOpenLocal_formatOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/format1")); err != nil {
		t.Fatal(err)
	}
	l := openTest(t, dir, Options{ReadOnly: true})
	wantHit(t, l, keyOf("fixture"))
	wantVectors(t, openMemo(t, l), 0, 3)
	if b, err := l.State("experiment").Read("last"); err != nil || string(b) != "the state" {
		t.Errorf("state: %q, %v", b, err)
	}
	pins, err := l.Pins(t.Context())
	if diff := cmp.Diff(map[string][]Key{"Експеримент": {keyOf("fixture")}}, pins); err != nil || diff != "" {
		t.Errorf("pins: %v\n%s", err, diff)
	}
	if report, err := l.Verify(t.Context()); err != nil || len(report.Bad)+len(report.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v", report, err)
	}
}

// writeFixture is what testdata/format1 was made by.
func writeFixture(t *testing.T, dir string) {
	l := openTest(t, dir, Options{})
	store(t, l, "fixture")
	remember(t, openMemo(t, l), 0, 3)
	err := errors.Join(
		l.State("experiment").Replace("last", []byte("the state")),
		l.Pin(t.Context(), "Експеримент", []Key{keyOf("fixture")}),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// TestFixture_isWhatIsWrittenNow fails when anything that is written changes its form: then a new
// format number and a new fixture beside the old one are due.
func TestFixture_isWhatIsWrittenNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFixture(t, dir)
	want, got := contents(t, "testdata/format1"), contents(t, dir)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-testdata +written now):\n%s", diff)
	}
}

func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	eachFile(t, dir, func(path string) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		if strings.Contains(rel, "/.") || strings.HasPrefix(rel, leaseDir) {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[rel] = fmt.Sprintf("%q", b)
	})
	return files
}

func TestLocal_paths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	longest := 0
	l := openTest(t, dir, Options{NoSync: true, Failpoint: func(_ Step, path string) error {
		longest = max(longest, len(path))
		if strings.ToLower(path) != path && path != versionFile || strings.ContainsAny(path, `\:*?"<>| `) {
			t.Errorf("%q is no name on every file system", path)
		}
		return nil
	}})
	store(t, l, "k")
	remember(t, openMemo(t, l), 0, 3)
	// Windows stops at 260 characters without further ado; a user's cache folder takes some 60.
	if longest > 120 {
		t.Errorf("a path of %d characters below the folder", longest)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	var told []*CorruptError
	l := openTest(t, t.TempDir(), Options{NoSync: true, OnCorrupt: func(e *CorruptError) { told = append(told, e) }})
	good, blob, record := store(t, l, "good"), store(t, l, "blob"), store(t, l, "record")
	m := openMemo(t, l)
	remember(t, m, 0, 3)
	flip := func(rel string) {
		b, err := os.ReadFile(l.path(rel))
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1] ^= 1
		rewriteFile(t, l.path(rel), b)
	}
	flip(blobRel(blob.Outputs[0].Digest))
	flip(recordRel(record.Key))
	flip(m.dir + "/" + segmentName(1, 1))
	report, err := l.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, e := range report.Bad {
		bad = append(bad, e.What)
		if e.MovedTo == "" {
			t.Errorf("%v was not set aside", e)
		}
	}
	if diff := cmp.Diff([]string{"record", "blob", "memo segment"}, bad); diff != "" {
		t.Errorf("bad (-want +got):\n%s", diff)
	}
	if len(told) != 3 {
		t.Errorf("told of %d", len(told))
	}
	if diff := cmp.Diff([]Key{blob.Key}, report.Incomplete); diff != "" {
		t.Errorf("incomplete (-want +got):\n%s", diff)
	}
	wantHit(t, l, good.Key)
	again, err := l.Verify(t.Context())
	if err != nil || len(again.Bad) != 0 || again.Blobs.Count != 2 || again.Records.Count != 2 || again.Segments.Count != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if usage, err := l.Du(t.Context()); err != nil || usage.Quarantine.Count != 3 {
		t.Errorf("Du: %+v, %v", usage, err)
	}
}

func TestKeys_prefix(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	var want []Key
	for i := range 40 {
		want = append(want, store(t, l, fmt.Sprint(i)).Key)
	}
	all, err := l.Keys(t.Context(), "")
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d keys, %v", len(all), err)
	}
	for _, k := range want {
		for _, n := range []int{1, 2, 3, 12, 64} {
			got, err := l.Keys(t.Context(), strings.ToUpper(k.String()[:n]))
			if err != nil {
				t.Fatal(err)
			}
			var wantHere []Key
			for _, other := range all {
				if strings.HasPrefix(other.String(), k.String()[:n]) {
					wantHere = append(wantHere, other)
				}
			}
			if diff := cmp.Diff(wantHere, got); diff != "" {
				t.Errorf("prefix of %d (-want +got):\n%s", n, diff)
			}
		}
	}
	if got, err := l.Keys(t.Context(), "no key"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHit_isMarkedAtMostHourly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := openTest(t, t.TempDir(), Options{NoSync: true, Now: func() time.Time { return now }})
	r := store(t, l, "k")
	path := l.path(recordRel(r.Key))
	for _, step := range []struct {
		after time.Duration
		moves bool
	}{{0, false}, {59 * time.Minute, false}, {2 * time.Minute, true}, {time.Minute, false}} {
		now = now.Add(step.after)
		before := modTime(t, path)
		wantHit(t, l, r.Key)
		if after := modTime(t, path); after.Equal(before) == step.moves || step.moves && !after.Equal(now) {
			t.Errorf("%v later: %v became %v", step.after, before, after)
		}
	}
}

func modTime(t testing.TB, path string) time.Time {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// TestOpen_setsAsideOnlyWhatItRead lets a good blob take the place of a damaged one while that is
// being read.
func TestOpen_setsAsideOnlyWhatItRead(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	r := store(t, l, "k")
	good, err := l.ReadAll(t.Context(), r.Outputs[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	path := l.Path(r.Outputs[0].Digest)
	rewriteFile(t, path, []byte("damaged"))
	reader, err := l.Open(t.Context(), r.Outputs[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rewriteFile(t, path, good)
	var damage *CorruptError
	if _, err := io.ReadAll(reader); !errors.As(err, &damage) || damage.MovedTo != "" {
		t.Errorf("read what was damaged: %v", err)
	}
	wantHit(t, l, r.Key)
}
