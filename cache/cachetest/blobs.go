package cachetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"raglab/cache"
)

// content is n bytes that no compressor shortens, the same for the same n.
func content(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	_, _ = source.Read(b) // never fails
	return b
}

// Write stores one blob and gives it a name.
func Write(t testing.TB, s cache.Store, name string, b []byte) cache.Blob {
	t.Helper()
	w, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	blob, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if want := (cache.Blob{Digest: cache.DigestOf(b), Size: int64(len(b))}); blob != want {
		t.Fatalf("committed as %+v, want %+v", blob, want)
	}
	blob.Name = name
	return blob
}

func read(t testing.TB, s cache.Store, d cache.Digest) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// wantBlob checks all three ways to see a blob.
func wantBlob(t testing.TB, s cache.Store, b []byte) {
	t.Helper()
	d := cache.DigestOf(b)
	if size, err := s.Stat(t.Context(), d); err != nil || size != int64(len(b)) {
		t.Errorf("Stat: %d, %v; want %d", size, err, len(b))
	}
	if got, err := read(t, s, d); err != nil || !bytes.Equal(got, b) {
		t.Errorf("Open: %d bytes, %v; want the %d written", len(got), err, len(b))
	}
	if got, err := s.ReadAll(t.Context(), d); err != nil || !bytes.Equal(got, b) {
		t.Errorf("ReadAll: %d bytes, %v; want the %d written", len(got), err, len(b))
	}
}

func wantNoBlob(t testing.TB, s cache.Store, d cache.Digest) {
	t.Helper()
	if _, err := s.Stat(t.Context(), d); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Stat: %v, want ErrNotFound", err)
	}
	if _, err := s.Open(t.Context(), d); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Open: %v, want ErrNotFound", err)
	}
	if _, err := s.ReadAll(t.Context(), d); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("ReadAll: %v, want ErrNotFound", err)
	}
}

func blobRoundTrip(t *testing.T, sub Subject) {
	s := sub.New(t)
	for _, n := range []int{0, 1, 4096, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		b := content(n)
		Write(t, s, "x", b)
		wantBlob(t, s, b)
		Write(t, s, "x", b) // again: the same blob
		wantBlob(t, s, b)
	}
}

func blobInPieces(t *testing.T, sub Subject) {
	s := sub.New(t)
	b := content(2<<20 + 17)
	w, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for rest := b; len(rest) > 0; {
		n := min(len(rest), 1+len(rest)*2/5)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if got, err := w.Commit(); err != nil || got.Digest != cache.DigestOf(b) {
		t.Fatalf("committed as %v, %v", got.Digest, err)
	}
	r, err := s.Open(t.Context(), cache.DigestOf(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(iotest.HalfReader(r))
	if err != nil || !bytes.Equal(got, b) {
		t.Errorf("read %d bytes in pieces, %v", len(got), err)
	}
}

func writerAfterEnd(t *testing.T, sub Subject) {
	s := sub.New(t)
	w, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "text")
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("a second Commit succeeded")
	}
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("a Write after Commit succeeded")
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil {
		t.Errorf("Abort after Commit: %v", err)
	}
	wantBlob(t, s, []byte("text"))
}

func abortedBlob(t *testing.T, sub Subject) {
	s := sub.New(t)
	for _, n := range []int{10, 2 << 20} {
		b := content(n)
		w, err := s.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Abort(), w.Abort()); err != nil {
			t.Errorf("Abort: %v", err)
		}
		if _, err := w.Commit(); err == nil {
			t.Error("Commit after Abort succeeded")
		}
		wantNoBlob(t, s, cache.DigestOf(b))
	}
}

func cancelledBlob(t *testing.T, sub Subject) {
	s := sub.New(t)
	for _, n := range []int{10, 2 << 20} {
		why := errors.New("the user changed their mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		b := content(n)
		w, err := s.Create(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		cancel(why)
		if _, err := w.Commit(); !errors.Is(err, why) {
			t.Errorf("Commit: %v, want the cause of the cancel", err)
		}
		wantNoBlob(t, s, cache.DigestOf(b))
	}
}

func missingBlob(t *testing.T, sub Subject) {
	wantNoBlob(t, sub.New(t), cache.DigestOf([]byte("never written")))
}

// damages are ways in which a blob or record at rest can be wrong.
var damages = map[string]func([]byte) []byte{
	"first byte": func(b []byte) []byte { b[0] ^= 1; return b },
	"last byte":  func(b []byte) []byte { b[len(b)-1] ^= 0x80; return b },
	"cut":        func(b []byte) []byte { return b[:len(b)-1] },
	"halved":     func(b []byte) []byte { return b[:len(b)/2] },
	"emptied":    func([]byte) []byte { return []byte{} },
	"longer":     func(b []byte) []byte { return append(b, 0) },
}

func damagedBlob(t *testing.T, sub Subject) {
	for name, damage := range damages {
		for _, whole := range []bool{false, true} {
			s := sub.New(t)
			b := content(70_000)
			d := Write(t, s, "x", b).Digest
			sub.RewriteBlob(t, s, d, damage)
			var err error
			if whole {
				_, err = s.ReadAll(t.Context(), d)
			} else {
				_, err = read(t, s, d)
			}
			var corrupt *cache.CorruptError
			if !errors.As(err, &corrupt) {
				t.Errorf("%s, whole=%v: %v, want a *CorruptError", name, whole, err)
			}
			wantNoBlob(t, s, d)
		}
	}
}

func damagedBlobRewritten(t *testing.T, sub Subject) {
	for name, damage := range damages {
		s := sub.New(t)
		b := content(5_000)
		d := Write(t, s, "x", b).Digest
		sub.RewriteBlob(t, s, d, damage)
		// A damage that leaves the length is found by reading, any other by writing alone.
		if len(damage(bytes.Clone(b))) == len(b) {
			if _, err := s.ReadAll(t.Context(), d); err == nil {
				t.Errorf("%s: read without an error", name)
			}
		}
		Write(t, s, "x", b)
		wantBlob(t, s, b)
	}
}

func sameBlobAtOnce(t *testing.T, sub Subject) {
	s := sub.New(t)
	handles := []cache.Store{s, sub.Reopen(t, s)}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for _, n := range []int{100, 1<<20 + 5} {
				Write(t, handles[i%2], "x", content(n))
				wantBlob(t, handles[(i+1)%2], content(n))
			}
		})
	}
	all.Wait()
}
