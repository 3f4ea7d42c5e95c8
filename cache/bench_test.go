package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// fill stores n records with two outputs each and returns their keys.
func fill(b testing.TB, l *Local, n int) []Key {
	b.Helper()
	keys := make([]Key, n)
	for i := range keys {
		r := &Record{
			Key: Key(DigestOf(fmt.Appendf(nil, "key %d", i))),
			Outputs: []Blob{
				write(b, l, "chunks", fmt.Appendf(nil, "chunks of %d", i)),
				write(b, l, "stats", fmt.Appendf(nil, "stats of %d", i)),
			},
			Manifest:     manifest(i),
			Measurements: json.RawMessage(`{"wall_seconds":0.25,"cpu_seconds":0.5,"peak_bytes":123456789}`),
			Provenance:   json.RawMessage(`{"host":"a","pid":1,"version":"v1","started":"2026-01-01T00:00:00Z"}`),
		}
		if _, err := l.Put(context.Background(), r); err != nil {
			b.Fatal(err)
		}
		keys[i] = r.Key
	}
	return keys
}

// manifest is about as long as a stage's.
func manifest(i int) json.RawMessage {
	fields := map[string]string{}
	for f := range 12 {
		fields[fmt.Sprintf("parameter %d", f)] = fmt.Sprintf("value %d of stage %d", f, i)
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return b
}

func write(b testing.TB, s Store, name string, content []byte) Blob {
	b.Helper()
	w, err := s.Create(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		b.Fatal(err)
	}
	blob, err := w.Commit()
	if err != nil {
		b.Fatal(err)
	}
	blob.Name = name
	return blob
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, err := OpenLocal(b.TempDir(), Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			keys := fill(b, l, n)
			for b.Loop() {
				for _, k := range keys {
					if _, miss, err := Lookup(b.Context(), l, k); err != nil || miss.Reason != Hit {
						b.Fatal(miss, err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 4 << 20} {
		for _, noSync := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dKiB/nosync=%v", size>>10, noSync), func(b *testing.B) {
				l, err := OpenLocal(b.TempDir(), Options{NoSync: noSync})
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				content := make([]byte, size)
				b.SetBytes(int64(size))
				for i := 0; b.Loop(); i++ {
					copy(content, fmt.Sprint(i))
					write(b, l, "x", content)
				}
			})
		}
	}
}

func BenchmarkPut(b *testing.B) {
	l, err := OpenLocal(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	blobs := []Blob{write(b, l, "a", []byte("a")), write(b, l, "b", []byte("b"))}
	for i := 0; b.Loop(); i++ {
		r := &Record{Key: Key(DigestOf(fmt.Appendf(nil, "%d", i))), Outputs: blobs, Manifest: manifest(i)}
		if _, err := l.Put(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenVerified(b *testing.B) {
	l, err := OpenLocal(b.TempDir(), Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	blob := write(b, l, "x", make([]byte, 64<<20))
	b.SetBytes(blob.Size)
	for b.Loop() {
		r, err := l.Open(b.Context(), blob.Digest)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkAcquire(b *testing.B) {
	l, err := OpenLocal(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		le, err := l.Acquire(b.Context(), Key{1}, LeaseRequest{})
		if err != nil {
			b.Fatal(err)
		}
		if err := le.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecordDecode(b *testing.B) {
	r := &Record{Key: Key{1}, Outputs: []Blob{{Name: "a", Size: 1}, {Name: "b", Size: 2}}, Manifest: manifest(1)}
	raw := encodeRecord(r)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := decodeRecord(raw); err != nil {
			b.Fatal(err)
		}
	}
}
