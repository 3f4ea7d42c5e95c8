package assets

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// The test binary runs itself as a process that fetches, or that dies while it
// holds a lock.
const (
	childFetch = "RAGLAB_TEST_FETCH"
	childDie   = "RAGLAB_TEST_DIE"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(childFetch) != "":
		os.Exit(fetchInChild())
	case os.Getenv(childDie) != "":
		if _, err := acquire(context.Background(), os.Getenv(childDie), func() {}); err != nil {
			os.Exit(1)
		}
		fmt.Println("held")
		select {}
	}
	os.Exit(m.Run())
}

func fetchInChild() int {
	content := randomBytes(2 << 20)
	s := New(Config{Dir: os.Getenv("ASSETS_DIR"), Platform: "linux/amd64"})
	if _, err := s.Fetch(context.Background(), urlAsset(os.Getenv(childFetch), content), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestFetch_processesDownloadOnce(t *testing.T) {
	t.Parallel()
	server := newFileServer(t, randomBytes(2<<20))
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childFetch+"="+server.URL, "ASSETS_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if n := server.requests.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

func TestAcquire_deadHolderDoesNotBlock(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "x.lock")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDie+"="+lock)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("held"))); err != nil {
		t.Fatal(err)
	}
	var waited atomic.Bool
	kill := func() {
		waited.Store(true)
		cmd.Process.Kill()
		cmd.Wait()
	}
	release, err := acquire(t.Context(), lock, kill)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if !waited.Load() {
		t.Error("the lock was free although another process held it")
	}
}

func TestDerive_madeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			path, err := Derive(t.Context(), dir, "graph-1.onnx", func(w io.Writer) error {
				_, err := io.WriteString(w, strconv.Itoa(int(made.Add(1))))
				return err
			})
			data, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || string(data) != "1" {
				t.Errorf("%q, %v, %v", data, err, readErr)
			}
		})
	}
	wg.Wait()
	_, err := Derive(t.Context(), dir, "graph-2.onnx", func(io.Writer) error { return io.ErrUnexpectedEOF })
	if _, left := os.Stat(filepath.Join(dir, "graph-2.onnx")); err == nil || !os.IsNotExist(left) {
		t.Errorf("a derivation that failed left a file, %v", err)
	}
}

// hangAfter serves some bytes and then nothing until hang is closed.
func hangAfter(s *fileServer, n int, hang <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
			w.Write(s.content[:n])
			w.(http.Flusher).Flush()
		}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
}
