//go:build unix

package folder

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/internal/childtest"
)

func TestMain(m *testing.M) { childtest.Main(m, child) }

func keyOf(n int) cache.Key { return cache.Key(cache.DigestOf(fmt.Appendf(nil, "key %d", n))) }

// child puts results under so many keys into the store in a folder, each time with outputs of its own,
// and prints the keys that it won.
func child(args []string) error {
	dir, name := args[0], args[1]
	keys, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	b, err := New(dir)
	if err != nil {
		return err
	}
	s := shared.New(b, shared.Options{Mode: shared.Write, Name: "file://" + dir})
	ctx := context.Background()
	for i := range keys {
		r := &cache.Record{Key: keyOf(i)}
		// One output is the same for all, one is this process's.
		for _, text := range []string{common(i), fmt.Sprintf("result %d of %s", i, name)} {
			out, err := commit(ctx, s, []byte(text))
			if err != nil {
				return err
			}
			out.Name = fmt.Sprint(len(r.Outputs))
			r.Outputs = append(r.Outputs, out)
		}
		kept, err := s.Put(ctx, r)
		if err != nil {
			return err
		}
		if kept.Outputs[1] == r.Outputs[1] {
			fmt.Println(i)
		}
	}
	return s.Close()
}

// common is content that all processes write; some of it is longer than a buffer.
func common(i int) string {
	return strings.Repeat(fmt.Sprintf("what all write for %d. ", i), 1+i%7*3000)
}

func commit(ctx context.Context, s cache.Store, content []byte) (cache.Blob, error) {
	w, err := s.Create(ctx)
	if err != nil {
		return cache.Blob{}, err
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		return cache.Blob{}, err
	}
	return w.Commit()
}

func childCommand(ctx context.Context, dir, name string, keys int) *exec.Cmd {
	return childtest.Command(ctx, dir, name, strconv.Itoa(keys))
}

// wantWhole reads everything as a reader would: nothing is damaged, no record lacks an output.
func wantWhole(t *testing.T, dir string) {
	t.Helper()
	r, err := openStore(t, dir, shared.Read).Verify(t.Context())
	if err != nil || len(r.Bad) > 0 || len(r.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v; want nothing bad", r, err)
	}
}

// TestFolder_eightProcesses has eight processes write the same keys, and a reader at work all the
// while: each key has exactly one winner, and nobody sees a blob that is not whole.
func TestFolder_eightProcesses(t *testing.T) {
	t.Parallel()
	const processes, keys = 8, 120
	dir := filepath.Join(t.TempDir(), "store")
	var mu sync.Mutex
	winners := map[string]int{}
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			out, err := childCommand(t.Context(), dir, fmt.Sprintf("process %d", p), keys).Output()
			if err != nil {
				t.Errorf("process %d: %v", p, err)
			}
			lines := bufio.NewScanner(strings.NewReader(string(out)))
			mu.Lock()
			defer mu.Unlock()
			for lines.Scan() {
				winners[lines.Text()]++
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	reads := readAlong(t, dir, keys, over)
	for i := range keys {
		if n := winners[strconv.Itoa(i)]; n != 1 {
			t.Errorf("key %d has %d winners", i, n)
		}
	}
	t.Logf("%d whole results were read meanwhile", reads)
	wantWhole(t, dir)
}

// readAlong looks up and reads keys until it is over.
func readAlong(t *testing.T, dir string, keys int, over <-chan struct{}) (reads int) {
	t.Helper()
	s := openStore(t, dir, shared.Read)
	for i := 0; ; i++ {
		select {
		case <-over:
			return reads
		default:
		}
		r, miss, err := cache.Lookup(t.Context(), s, keyOf(i%keys))
		if err != nil || miss.Reason != cache.Hit && miss.Reason != cache.MissNoRecord {
			t.Errorf("key %d: %+v, %v", i%keys, miss, err)
			continue
		}
		if miss.Reason != cache.Hit {
			continue
		}
		for _, out := range r.Outputs {
			if _, err := s.ReadAll(t.Context(), out.Digest); err != nil {
				t.Errorf("key %d: %v", i%keys, err)
			}
		}
		reads++
	}
}

// TestFolder_killed kills writers at random instants: what is there then is whole, and the next
// writers finish the work.
func TestFolder_killed(t *testing.T) {
	t.Parallel()
	const keys = 60
	dir := filepath.Join(t.TempDir(), "store")
	random := rand.New(rand.NewPCG(3, 4))
	var kills atomic.Int64
	for round := range 12 {
		var all sync.WaitGroup
		for p := range 2 {
			cmd := childCommand(t.Context(), dir, fmt.Sprintf("round %d, process %d", round, p), keys)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			killer := time.AfterFunc(time.Duration(5+random.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			all.Go(func() {
				if cmd.Wait() != nil {
					kills.Add(1)
				}
				killer.Stop()
			})
		}
		all.Wait()
		wantWhole(t, dir)
	}
	if err := childCommand(t.Context(), dir, "the last", keys).Run(); err != nil {
		t.Fatalf("the last writer: %v", err)
	}
	s := openStore(t, dir, shared.Read)
	for i := range keys {
		if _, miss, err := cache.Lookup(t.Context(), s, keyOf(i)); err != nil || miss.Reason != cache.Hit {
			t.Errorf("key %d: %+v, %v; want a hit", i, miss, err)
		}
	}
	drafts := 0
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), draftPrefix) {
			drafts++
		}
		return nil
	})
	t.Logf("%d writers were killed; %d drafts are left to be swept", kills.Load(), drafts)
	if kills.Load() == 0 {
		t.Error("no writer was killed")
	}
}
