//go:build unix

package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"raglab/cache/internal/spool"
	"raglab/internal/childtest"
)

var (
	smallOutput = []byte("a small output")
	largeOutput = bytes.Repeat([]byte("a large output. "), spool.Limit/16+1)
	resultKey   = keyOf("result")
)

// makeResult does what an engine does for one stage, and writes everything else a store holds.
func makeResult(ctx context.Context, l *Local) error {
	le, err := l.Acquire(ctx, resultKey, LeaseRequest{})
	if err != nil {
		return err
	}
	defer le.Release()
	r := &Record{Key: resultKey}
	for _, content := range [][]byte{smallOutput, largeOutput} {
		b, err := commit(ctx, l, content)
		if err != nil {
			return err
		}
		b.Name = strconv.Itoa(len(content))
		r.Outputs = append(r.Outputs, b)
	}
	if _, err := l.Put(ctx, r); err != nil {
		return err
	}
	if err := l.State("experiment").Replace("last", []byte("new state")); err != nil {
		return err
	}
	if err := l.Pin(ctx, "experiment", []Key{resultKey}); err != nil {
		return err
	}
	m, err := l.Memo(Digest{1})
	if err != nil {
		return err
	}
	_, err = m.Put(ctx, []Digest{{1}, {2}}, [][]float32{{1, 2}, {3, 4}})
	return errors.Join(err, m.Close())
}

func commit(ctx context.Context, l *Local, content []byte) (Blob, error) {
	w, err := l.Create(ctx)
	if err != nil {
		return Blob{}, err
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return Blob{}, err
	}
	return w.Commit()
}

// wantOldOrNew checks that everything in the store is either not there or whole.
func wantOldOrNew(t *testing.T, l *Local) {
	t.Helper()
	ctx := t.Context()
	report, err := l.Verify(ctx)
	if err != nil || len(report.Bad) > 0 || len(report.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v; want nothing bad", report, err)
	}
	if r, miss, err := Lookup(ctx, l, resultKey); err != nil {
		t.Errorf("Lookup: %v", err)
	} else if miss.Reason == Hit && len(r.Outputs) != 2 {
		t.Errorf("the record has %d outputs", len(r.Outputs))
	} else if miss.Reason != Hit && miss.Reason != MissNoRecord {
		t.Errorf("Lookup: %+v", miss)
	}
	switch b, err := l.State("experiment").Read("last"); {
	case errors.Is(err, ErrNotFound):
	case err != nil || string(b) != "new state":
		t.Errorf("state: %q, %v", b, err)
	}
	m, err := l.Memo(Digest{1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := m.Get(ctx, []Digest{{1}, {2}})
	if err != nil || !cmp.Equal(got, [][]float32{{1, 2}, {3, 4}}) && !cmp.Equal(got, [][]float32{nil, nil}) {
		t.Errorf("memo: %v, %v", got, err)
	}
}

// countSteps is how many steps makeResult takes.
func countSteps(t *testing.T) int {
	t.Helper()
	n := 0
	var mu sync.Mutex
	l := openTest(t, t.TempDir(), Options{Failpoint: func(Step, string) error {
		mu.Lock()
		defer mu.Unlock()
		n++
		return nil
	}})
	if err := makeResult(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return n
}

func TestKill_atEveryStepOfWriting(t *testing.T) {
	t.Parallel()
	steps := countSteps(t)
	for n := 1; n <= steps; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			dir := t.TempDir()
			cmd := childtest.Start(t, "write", dir, strconv.Itoa(n))
			err := cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the child was to be killed at step %d: %v", n, err)
			}
			l := openTest(t, dir, Options{})
			wantOldOrNew(t, l)
			if err := makeResult(t.Context(), l); err != nil {
				t.Errorf("after the crash: %v", err)
			}
			wantHit(t, l, resultKey)
			for _, path := range drafts(t, l) {
				if err := os.Chtimes(path, l.now().Add(-2*touchEvery), l.now().Add(-2*touchEvery)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := l.GC(t.Context(), GCOptions{}); err != nil {
				t.Errorf("GC: %v", err)
			}
			if left := drafts(t, l); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			wantHit(t, l, resultKey)
		})
	}
}

// failAt makes the nth step of each write fail, as a full or write-protected disk would.
func failAt(n int, with error) func(Step, string) error {
	var mu sync.Mutex
	seen := 0
	return func(step Step, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return fmt.Errorf("%s: %w", step, with)
		}
		return nil
	}
}

func TestFailure_atEveryStepOfWriting(t *testing.T) {
	t.Parallel()
	steps := countSteps(t)
	for i, with := range []error{unix.ENOSPC, unix.EROFS, unix.EACCES, unix.EIO} {
		for n := 2 + i; n <= steps; n += 3 { // the steps of OpenLocal are before these
			dir := t.TempDir()
			openTest(t, dir, Options{NoSync: true})
			l, err := OpenLocal(dir, Options{Failpoint: failAt(n, with)})
			if err != nil {
				t.Fatal(err)
			}
			if err = makeResult(t.Context(), l); err == nil {
				err = l.Close() // the last steps are its
			}
			if err == nil {
				continue // opening an empty folder had a few more
			}
			if !errors.Is(err, with) {
				t.Errorf("step %d: %v, want %v", n, err, with)
			}
			var refused *WriteError
			if with != unix.EIO && (!errors.As(err, &refused) || refused.Dir != dir || !strings.Contains(err.Error(), "--cache")) {
				t.Errorf("step %d: %v, want the folder and what to do", n, err)
			}
			if left := drafts(t, l); len(left) > 0 {
				t.Errorf("step %d: left behind: %v", n, left)
			}
			wantOldOrNew(t, l)
			if err := makeResult(t.Context(), l); err != nil {
				t.Errorf("step %d: once there was room: %v", n, err)
			}
			wantHit(t, l, resultKey)
			if err := l.Close(); err != nil {
				t.Errorf("step %d: Close: %v", n, err)
			}
		}
	}
}

// TestWrite_order checks that nothing takes its name before it is synced, and no record before the
// folders of its outputs are.
func TestWrite_order(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var steps []string
	l := openTest(t, t.TempDir(), Options{Failpoint: func(step Step, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if isDraft(path[strings.LastIndexByte(path, '/')+1:]) {
			path = relDir(path) + "/draft"
		}
		steps = append(steps, string(step)+" "+path)
		return nil
	}})
	steps = nil
	r := store(t, l, "k")
	blob := blobRel(r.Outputs[0].Digest)
	record := recordRel(r.Key)
	draft := func(rel string) []string {
		in := relDir(rel) + "/draft"
		return []string{"create " + in, "write " + in, "sync " + in, "close " + in, "place " + rel}
	}
	if diff := cmp.Diff(draft(blob), steps[:5]); diff != "" {
		t.Errorf("steps of a blob (-want +got):\n%s", diff)
	}
	at := func(step string) int {
		for i, s := range steps {
			if s == step {
				return i
			}
		}
		t.Fatalf("no step %q in %q", step, steps)
		return -1
	}
	if at("syncdir "+relDir(blob)) > at("place "+record) {
		t.Errorf("the record was placed before its output's folder was synced: %q", steps)
	}
	if last := steps[len(steps)-1]; last != "place "+record {
		t.Errorf("the last step was %q, want the record's placing", last)
	}
	if err := l.dirs.flushAll(); err != nil {
		t.Fatal(err)
	}
	at("syncdir " + relDir(record))
	info, err := os.Lstat(l.path(blob))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("blob has mode %v, %v; want it read-only", info.Mode(), err)
	}
}
