package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func openMemo(t testing.TB, l *Local) *Memo {
	t.Helper()
	m, err := l.Memo(Digest{9})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func hashOf(i int) Digest { return DigestOf(fmt.Appendf(nil, "text %d", i)) }

func vectorOf(i int) []float32 { return []float32{float32(i), -float32(i) / 3, 0.5} }

// batch is hashes and vectors of texts lo to hi-1.
func batch(lo, hi int) (hashes []Digest, vectors [][]float32) {
	for i := lo; i < hi; i++ {
		hashes = append(hashes, hashOf(i))
		vectors = append(vectors, vectorOf(i))
	}
	return hashes, vectors
}

func remember(t testing.TB, m *Memo, lo, hi int) {
	t.Helper()
	hashes, vectors := batch(lo, hi)
	got, err := m.Put(context.Background(), hashes, vectors)
	if err != nil {
		t.Fatal(err)
	}
	if !sameVectors(got, vectors) {
		t.Errorf("Put returned others than those of texts %d to %d", lo, hi-1)
	}
}

func wantVectors(t testing.TB, m *Memo, lo, hi int) {
	t.Helper()
	hashes, vectors := batch(lo, hi)
	got, err := m.Get(context.Background(), hashes)
	if err != nil {
		t.Fatal(err)
	}
	if !sameVectors(got, vectors) {
		t.Errorf("Get returned others than those of texts %d to %d", lo, hi-1)
	}
}

func sameVectors(a, b [][]float32) bool { return slices.EqualFunc(a, b, slices.Equal[[]float32]) }

func segmentFiles(t testing.TB, m *Memo) int {
	t.Helper()
	live, superseded, err := m.list()
	if err != nil || len(superseded) > 0 {
		t.Fatalf("%d superseded, %v", len(superseded), err)
	}
	return len(live)
}

func TestMemo_remembers(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	m := openMemo(t, l)
	if dim, err := m.Dim(t.Context()); dim != 0 || err != nil {
		t.Errorf("Dim of an empty memo: %d, %v", dim, err)
	}
	if got, err := m.Get(t.Context(), []Digest{hashOf(1)}); err != nil || got[0] != nil {
		t.Errorf("Get from an empty memo: %v, %v", got, err)
	}
	remember(t, m, 0, 10)
	remember(t, m, 5, 15)
	for _, reader := range []*Memo{m, openMemo(t, l)} {
		wantVectors(t, reader, 0, 15)
		has, err := reader.Has(t.Context(), []Digest{hashOf(14), hashOf(15)})
		if err != nil || !has[0] || has[1] {
			t.Errorf("Has: %v, %v", has, err)
		}
		if dim, err := reader.Dim(t.Context()); dim != 3 || err != nil {
			t.Errorf("Dim: %d, %v", dim, err)
		}
	}
	if n := segmentFiles(t, m); n != 2 {
		t.Errorf("%d segments, want 2", n)
	}
	if got, err := m.Put(t.Context(), nil, nil); err != nil || len(got) != 0 {
		t.Errorf("empty Put: %v, %v", got, err)
	}
}

func TestMemo_firstWriterWins(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	a, b := openMemo(t, l), openMemo(t, l)
	first, second := [][]float32{{1, 1}}, [][]float32{{2, 2}}
	hash := []Digest{hashOf(1)}
	if _, err := b.Get(t.Context(), hash); err != nil { // b has looked before a wrote
		t.Fatal(err)
	}
	if _, err := a.Put(t.Context(), hash, first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := b.Put(t.Context(), hash, second); err != nil || !cmp.Equal(got, first) {
			t.Errorf("second writer got %v, %v; want the first one's vector", got, err)
		}
	}
	twice := []Digest{hashOf(2), hashOf(2)}
	got, err := a.Put(t.Context(), twice, [][]float32{{3, 3}, {4, 4}})
	if err != nil || !cmp.Equal(got, [][]float32{{3, 3}, {3, 3}}) {
		t.Errorf("one hash twice in a batch: %v, %v", got, err)
	}
}

func TestMemo_oneVectorPerHashBetweenMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const writers, texts = 6, 60
	results := make([][texts][]float32, writers)
	var all sync.WaitGroup
	for w := range writers {
		m := openMemo(t, openTest(t, dir, Options{NoSync: true}))
		random := rand.New(rand.NewPCG(uint64(w), 0))
		all.Go(func() {
			for _, i := range random.Perm(texts) {
				got, err := m.Put(context.Background(), []Digest{hashOf(i)}, [][]float32{{float32(w), float32(i)}})
				if err != nil {
					t.Error(err)
					return
				}
				results[w][i] = got[0]
				if i%5 == 0 {
					if _, err := m.Get(context.Background(), []Digest{hashOf(i), hashOf(texts - i)}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range texts {
		for w := range writers {
			if !cmp.Equal(results[w][i], results[0][i]) {
				t.Errorf("text %d: writer %d was told %v, writer 0 %v", i, w, results[w][i], results[0][i])
			}
		}
	}
}

func TestMemo_refusesWhatIsNoVector(t *testing.T) {
	t.Parallel()
	m := openMemo(t, newTest(t))
	remember(t, m, 0, 1)
	h := hashOf(1)
	for name, bad := range map[string]struct {
		hashes  []Digest
		vectors [][]float32
	}{
		"NaN":               {[]Digest{h}, [][]float32{{1, 2, float32(math.NaN())}}},
		"infinite":          {[]Digest{h}, [][]float32{{1, 2, float32(math.Inf(1))}}},
		"empty":             {[]Digest{h}, [][]float32{{}}},
		"ragged":            {[]Digest{h, hashOf(2)}, [][]float32{{1, 2, 3}, {1, 2}}},
		"another dimension": {[]Digest{h}, [][]float32{{1, 2}}},
		"too few":           {[]Digest{h, hashOf(2)}, [][]float32{{1, 2, 3}}},
	} {
		if _, err := m.Put(t.Context(), bad.hashes, bad.vectors); err == nil {
			t.Errorf("%s: stored", name)
		}
	}
	if has, err := m.Has(t.Context(), []Digest{h}); err != nil || has[0] {
		t.Errorf("Has: %v, %v", has, err)
	}
}

func TestMemo_compaction(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	m := openMemo(t, l)
	reader := openMemo(t, openTest(t, l.dir, Options{ReadOnly: true}))
	n := 0
	for i := range 200 {
		size := []int{1, 40, 300}[i%3]
		remember(t, m, n, n+size)
		n += size
		if i%20 == 0 {
			wantVectors(t, reader, n-1, n)
		}
	}
	if files := segmentFiles(t, m); files > 2*mergeLimit {
		t.Errorf("%d segments for 200 writes", files)
	}
	wantVectors(t, m, 0, n)
	wantVectors(t, reader, 0, n) // its open segments are partly removed by now
	wantVectors(t, openMemo(t, l), 0, n)
}

func TestMergeableTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5000), 1, 400).Draw(t, "sizes")
		var counts []int
		total, rewritten := 0, 0
		for _, n := range sizes {
			counts = append(counts, n)
			total += n
			for {
				tail := mergeableTail(counts)
				if tail == 0 {
					break
				}
				sum := 0
				for _, c := range counts[len(counts)-tail:] {
					sum += c
				}
				rewritten += sum
				counts = append(counts[:len(counts)-tail], sum)
			}
		}
		if len(counts) > mergeLimit*(1+sizeClass(total)) {
			t.Fatalf("%d segments remain for %d vectors: %v", len(counts), total, counts)
		}
		if rewritten > total*2*(1+sizeClass(total)) {
			t.Fatalf("%d vectors rewritten for %d", rewritten, total)
		}
	})
}

// TestMemo_readOnly checks that damage in a store that must not be written costs what is damaged
// and nothing else.
func TestMemo_readOnly(t *testing.T) {
	t.Parallel()
	l := newTest(t)
	m := openMemo(t, l)
	remember(t, m, 0, 3)
	remember(t, m, 3, 6)
	path := l.path(m.dir + "/" + segmentName(1, 1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	rewriteFile(t, path, b)
	before := tree(t, l.dir)
	r := openMemo(t, openTest(t, l.dir, Options{ReadOnly: true}))
	hashes, _ := batch(0, 6)
	got, err := r.Get(t.Context(), hashes)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if i < 3 != (v == nil) {
			t.Errorf("text %d: %v", i, v)
		}
	}
	if _, err := r.Put(t.Context(), hashes[:1], [][]float32{{1, 2, 3}}); err == nil {
		t.Error("written to")
	}
	if diff := cmp.Diff(before, tree(t, l.dir)); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

func FuzzSegment(f *testing.F) {
	hashes, vectors := batch(0, 3)
	var entries []entry
	for i := range hashes {
		entries = append(entries, entry{hashes[i], vectors[i]})
	}
	f.Add(encodeSegment(entries, 3))
	f.Add(encodeSegment(nil, 3))
	f.Add([]byte(segmentMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, indexed(b)} {
			path := t.TempDir() + "/segment"
			if err := os.WriteFile(path, in, 0o644); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			s, err := openSegment(file)
			if err != nil || s.verify() != nil {
				continue
			}
			for i := range s.count() {
				if _, ok := s.find(Digest(s.hash(i))); !ok && ascending(s) {
					t.Errorf("hash %d is not found", i)
				}
			}
		}
	})
}

func ascending(s *segment) bool {
	for i := 1; i < s.count(); i++ {
		if bytes.Compare(s.hash(i-1), s.hash(i)) >= 0 {
			return false
		}
	}
	return true
}

// indexed makes a file of the right form with b as its hashes, sums and vectors.
func indexed(b []byte) []byte {
	const dim = 2
	n := len(b) / (32 + vectorSumLen + 4*dim)
	raw := b[:n*4*dim]
	var sums []byte
	for i := range n {
		sum := vectorSum(raw[i*4*dim : (i+1)*4*dim])
		sums = append(sums, sum[:]...)
	}
	return append(encodeIndex(dim, n, b[n*4*dim:n*(4*dim+32)], sums), raw...)
}

func BenchmarkMemo(b *testing.B) {
	l := openTest(b, b.TempDir(), Options{NoSync: true})
	m := openMemo(b, l)
	const dim, n, step = 384, 20_000, 256
	hashes := make([]Digest, n)
	vectors := make([][]float32, n)
	for i := range hashes {
		binary.LittleEndian.PutUint64(hashes[i][:], rand.Uint64())
		vectors[i] = make([]float32, dim)
		vectors[i][0] = float32(i)
	}
	for i := 0; i < n; i += step {
		end := min(i+step, n)
		if _, err := m.Put(b.Context(), hashes[i:end], vectors[i:end]); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("get 20000", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Get(b.Context(), hashes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open and has 20000", func(b *testing.B) {
		for b.Loop() {
			fresh := openMemo(b, l)
			if _, err := fresh.Has(b.Context(), hashes); err != nil {
				b.Fatal(err)
			}
			fresh.Close()
		}
	})
	b.Run("put 256", func(b *testing.B) {
		for b.Loop() {
			batch := make([]Digest, step)
			for i := range batch {
				binary.LittleEndian.PutUint64(batch[i][:], rand.Uint64())
			}
			if _, err := m.Put(b.Context(), batch, vectors[:step]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestMemo_mergedEarliestStands(t *testing.T) {
	t.Parallel()
	var segments []*segment
	for i, v := range []float32{1, 2, 3} {
		path := fmt.Sprintf("%s/%d", t.TempDir(), i)
		if err := os.WriteFile(path, encodeSegment([]entry{{hashOf(i), []float32{v}}, {hashOf(7), []float32{v}}}, 1), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s, err := openSegment(f)
		if err != nil {
			t.Fatal(err)
		}
		segments = append(segments, s)
	}
	var merged, want bytes.Buffer
	if err := mergeSegments(&merged, segments); err != nil {
		t.Fatal(err)
	}
	want.Write(encodeSegment([]entry{{hashOf(0), []float32{1}}, {hashOf(1), []float32{2}}, {hashOf(2), []float32{3}}, {hashOf(7), []float32{1}}}, 1))
	if !bytes.Equal(merged.Bytes(), want.Bytes()) {
		t.Error("merged into something else than the earliest vector of each hash")
	}
}
