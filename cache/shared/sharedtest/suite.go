package sharedtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raglab/cache/shared"
)

// RunBucket checks that a bucket keeps what [shared.Bucket] promises. Open makes an empty one each
// time; again opens the content of one once more, as another machine would.
func RunBucket(t *testing.T, open func(t *testing.T) shared.Bucket, again func(t *testing.T, b shared.Bucket) shared.Bucket) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, shared.Bucket)
	}{
		{"round trip", roundTrip},
		{"ranges", ranges},
		{"nothing there", nothingThere},
		{"create is once", createOnce},
		{"replace", replace},
		{"a failing source makes nothing", failingSource},
		{"a short source makes nothing", shortSource},
		{"a cancelled write makes nothing", cancelledWrite},
		{"list", list},
		{"long list", longList},
		{"names", names},
		{"delete", remove},
		{"times", times},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, open(t))
		})
	}
	t.Run("one winner", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		oneWinner(t, b, again(t, b))
	})
}

// Bytes is n bytes that no compressor shortens, the same for the same n.
func Bytes(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	_, _ = source.Read(b) // never fails
	return b
}

func create(t *testing.T, b shared.Bucket, name string, content []byte) {
	t.Helper()
	if err := b.Create(t.Context(), name, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatalf("Create %s: %v", name, err)
	}
}

func read(t *testing.T, b shared.Bucket, name string, offset int64) []byte {
	t.Helper()
	r, _, err := b.Open(t.Context(), name, offset)
	if err != nil {
		t.Fatalf("Open %s: %v", name, err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return got
}

func wantNone(t *testing.T, b shared.Bucket, name string) {
	t.Helper()
	if _, err := b.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat %s: %v, want fs.ErrNotExist", name, err)
	}
	if _, _, err := b.Open(t.Context(), name, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open %s: %v, want fs.ErrNotExist", name, err)
	}
	for o, err := range b.List(t.Context(), name) {
		t.Errorf("listed: %+v, %v", o, err)
	}
}

func roundTrip(t *testing.T, b shared.Bucket) {
	for _, n := range []int{0, 1, 4096, 5<<20 + 1} {
		name := fmt.Sprintf("cas/ab/%d", n)
		create(t, b, name, Bytes(n))
		if got := read(t, b, name, 0); !bytes.Equal(got, Bytes(n)) {
			t.Errorf("%s: read %d bytes that are not those written", name, len(got))
		}
		if o, err := b.Stat(t.Context(), name); err != nil || o.Size != int64(n) || o.Name != name {
			t.Errorf("Stat: %+v, %v", o, err)
		}
	}
}

func ranges(t *testing.T, b shared.Bucket) {
	content := Bytes(100_000)
	create(t, b, "cas/ab/x", content)
	for _, offset := range []int64{0, 1, 50_000, 99_999} {
		if got := read(t, b, "cas/ab/x", offset); !bytes.Equal(got, content[offset:]) {
			t.Errorf("from %d: read %d bytes, want the last %d", offset, len(got), len(content)-int(offset))
		}
		r, o, err := b.Open(t.Context(), "cas/ab/x", offset)
		if err != nil || o.Size != int64(len(content)) {
			t.Fatalf("Open from %d: %+v, %v; want the size of the whole object", offset, o, err)
		}
		r.Close()
	}
}

func nothingThere(t *testing.T, b shared.Bucket) { wantNone(t, b, "cas/ab/none") }

func createOnce(t *testing.T, b shared.Bucket) {
	for _, n := range []int{10, 17 << 20} { // in one request and in parts
		name := fmt.Sprintf("ac/ab/%d", n)
		create(t, b, name, Bytes(n))
		other := Bytes(n + 1)
		if err := b.Create(t.Context(), name, int64(n+1), bytes.NewReader(other)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("the second Create of %d bytes: %v, want fs.ErrExist", n, err)
		}
		if got := read(t, b, name, 0); !bytes.Equal(got, Bytes(n)) {
			t.Errorf("the second Create of %d bytes changed the object", n)
		}
	}
}

func replace(t *testing.T, b shared.Bucket) {
	for _, content := range [][]byte{[]byte("first"), Bytes(17 << 20), []byte("the third"), {}} {
		if err := b.Replace(t.Context(), "sessions/x", int64(len(content)), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, b, "sessions/x", 0); !bytes.Equal(got, content) {
			t.Errorf("read %d bytes that are not the %d written", len(got), len(content))
		}
		if o, err := b.Stat(t.Context(), "sessions/x"); err != nil || o.Size != int64(len(content)) {
			t.Errorf("Stat: %+v, %v", o, err)
		}
	}
}

var errSource = errors.New("the source broke")

func failingSource(t *testing.T, b shared.Bucket) {
	for _, n := range []int{10, 17 << 20} {
		src := io.MultiReader(bytes.NewReader(Bytes(n)), brokenReader{})
		if err := b.Create(t.Context(), "cas/ab/x", int64(n+1), src); !errors.Is(err, errSource) {
			t.Errorf("Create of %d bytes: %v, want the source's error", n, err)
		}
		wantNone(t, b, "cas/ab/x")
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errSource }

func shortSource(t *testing.T, b shared.Bucket) {
	for _, n := range []int{0, 10, 17 << 20} {
		if err := b.Create(t.Context(), "cas/ab/x", int64(n+1), bytes.NewReader(Bytes(n))); err == nil {
			t.Errorf("Create took %d bytes for %d", n, n+1)
		}
		wantNone(t, b, "cas/ab/x")
	}
}

func cancelledWrite(t *testing.T, b shared.Bucket) {
	for _, n := range []int{10, 17 << 20} {
		ctx, cancel := context.WithCancelCause(t.Context())
		src := io.MultiReader(bytes.NewReader(Bytes(n)), cancelReader{cancel}, strings.NewReader("rest"))
		if err := b.Create(ctx, "cas/ab/x", int64(n+4), src); err == nil {
			t.Errorf("a cancelled Create of %d bytes succeeded", n)
		}
		wantNone(t, b, "cas/ab/x")
	}
}

type cancelReader struct{ cancel context.CancelCauseFunc }

func (c cancelReader) Read([]byte) (int, error) {
	c.cancel(errSource)
	return 0, io.EOF
}

func list(t *testing.T, b shared.Bucket) {
	want := []string{"ac/00/a", "ac/01/b", "cas/00/c", "gc/known"}
	for _, name := range want {
		create(t, b, name, []byte(name))
	}
	for prefix, n := range map[string]int{"": 4, "ac/": 2, "ac/01/": 1, "cas/": 1, "none/": 0, "gc/kn": 1} {
		var got []string
		for o, err := range b.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if o.Size != int64(len(o.Name)) || o.Modified.IsZero() {
				t.Errorf("listed as %+v", o)
			}
			got = append(got, o.Name)
		}
		slices.Sort(got)
		expect := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		if len(got) != n || !slices.Equal(got, expect) {
			t.Errorf("List %q: %v, want %v", prefix, got, expect)
		}
	}
	for range b.List(t.Context(), "") {
		break // an early end is fine
	}
}

// longList is longer than a page of any provider's.
func longList(t *testing.T, b shared.Bucket) {
	const others, n, writers = 3, 1100, 8
	for i := range others {
		create(t, b, fmt.Sprintf("cas/00/%d", i), nil)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				if err := b.Create(t.Context(), fmt.Sprintf("ac/00/%04d", i), 1, strings.NewReader("x")); err != nil {
					t.Errorf("Create: %v", err)
				}
			}
		})
	}
	all.Wait()
	found := map[string]int{}
	for o, err := range b.List(t.Context(), "ac/") {
		if err != nil {
			t.Fatal(err)
		}
		found[o.Name]++
	}
	for i := range n {
		if name := fmt.Sprintf("ac/00/%04d", i); found[name] != 1 {
			t.Fatalf("%s is listed %d times", name, found[name])
		}
	}
	if len(found) != n {
		t.Errorf("%d names are listed, want %d", len(found), n)
	}
}

// names has all the characters that the names of a store have.
func names(t *testing.T, b shared.Bucket) {
	for _, name := range []string{"VERSION", "uses/2026-01-02/3w5e11264sgsf", "pins/a%2fb_c.d-e", "pins/100%"} {
		create(t, b, name, []byte(name))
		if got := read(t, b, name, 0); string(got) != name {
			t.Errorf("%s holds %q", name, got)
		}
		if o, err := b.Stat(t.Context(), name); err != nil || o.Name != name || o.Size != int64(len(name)) {
			t.Errorf("Stat %s: %+v, %v", name, o, err)
		}
		n := 0
		for o, err := range b.List(t.Context(), name) {
			if err != nil || o.Name != name {
				t.Errorf("List %s: %+v, %v", name, o, err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
		if err := b.Delete(t.Context(), name); err != nil {
			t.Errorf("Delete %s: %v", name, err)
		}
		wantNone(t, b, name)
	}
}

func remove(t *testing.T, b shared.Bucket) {
	create(t, b, "ac/00/a", []byte("a"))
	for range 2 {
		if err := b.Delete(t.Context(), "ac/00/a"); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	wantNone(t, b, "ac/00/a")
	create(t, b, "ac/00/a", []byte("again"))
}

// times wants one clock for all answers. Providers date in whole seconds.
func times(t *testing.T, b shared.Bucket) {
	create(t, b, "ac/00/a", []byte("a"))
	o, err := b.Stat(t.Context(), "ac/00/a")
	if err != nil || time.Since(o.Modified).Abs() > time.Hour {
		t.Errorf("Stat: %+v, %v; want a time near now", o, err)
	}
	r, opened, err := b.Open(t.Context(), "ac/00/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if !opened.Modified.Equal(o.Modified) {
		t.Errorf("Open says it was made %v, Stat %v", opened.Modified, o.Modified)
	}
}

// oneWinner lets many create the same objects at once.
func oneWinner(t *testing.T, handles ...shared.Bucket) {
	const writers, names = 16, 12
	var winners [names]atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		b := handles[i%len(handles)]
		all.Go(func() {
			for n := range names {
				text := fmt.Sprintf("object %d of writer %d", n, i)
				for {
					err := b.Create(t.Context(), fmt.Sprintf("ac/00/%d", n), int64(len(text)), strings.NewReader(text))
					if err == nil {
						winners[n].Add(1)
					} else if !errors.Is(err, fs.ErrExist) {
						if errors.Is(err, shared.ErrPermanent) {
							t.Errorf("Create: %v", err)
							return
						}
						continue // may pass, as a conflict of two does
					}
					break
				}
			}
		})
	}
	all.Wait()
	for n := range names {
		if got := winners[n].Load(); got != 1 {
			t.Errorf("object %d has %d winners", n, got)
		}
		if got := read(t, handles[0], fmt.Sprintf("ac/00/%d", n), 0); !strings.HasPrefix(string(got), fmt.Sprintf("object %d of writer", n)) {
			t.Errorf("object %d is %q", n, got)
		}
	}
}
