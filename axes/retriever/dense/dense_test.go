package dense

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes"
)

// brute ranks every row by its exact inner product.
func brute(rows []float32, dim int, q []float32, depth int) []axes.Hit {
	var hits []axes.Hit
	for i, row := range split(rows, dim) {
		hits = append(hits, axes.Hit{Ordinal: uint32(i), Score: dot(row, q)})
	}
	slices.SortFunc(hits, func(a, b axes.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(depth, len(hits))]
}

// TestSearch_anyVectors searches vectors of any length, with outliers, with many
// equal products: whatever rounding to integers might get wrong.
func TestSearch_anyVectors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 70).Draw(t, "dim")
		n := rapid.IntRange(1, 150).Draw(t, "rows")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		spread := rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 1, 10}).Draw(t, "spread")
		size := rapid.SampledFrom([]float64{1e-30, 1, 1e4, 1e30}).Draw(t, "size")
		make := func(n int) []float32 {
			v := make([]float32, n*dim)
			for i := range v {
				v[i] = float32(size * (1 + spread*r.NormFloat64()) * math.Pow(10, -float64(r.IntN(3))*spread))
			}
			return v
		}
		rows, questions := make(n), split(make(7), dim)
		m, err := New(rows, dim)
		if err != nil {
			t.Fatal(err)
		}
		depth := rapid.IntRange(1, n+2).Draw(t, "depth")
		got, err := m.Search(t.Context(), questions, depth, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range questions {
			if diff := cmp.Diff(brute(rows, dim, q, depth), got[i]); diff != "" {
				t.Fatalf("question %d (-brute +search):\n%s", i, diff)
			}
		}
	})
}

// TestSearch_embeddings searches vectors as embedders give them, enough to prune
// many times.
func TestSearch_embeddings(t *testing.T) {
	t.Parallel()
	const dim = 64
	rows := embeddings(20_000, dim, 1)
	copy(rows[17_000*dim:18_000*dim], rows[:1000*dim]) // ties
	m, err := New(rows, dim)
	if err != nil {
		t.Fatal(err)
	}
	questions := split(embeddings(20, dim, 2), dim)
	for _, depth := range []int{1, 10, 500} {
		got, err := m.Search(t.Context(), questions, depth, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range questions {
			if diff := cmp.Diff(brute(rows, dim, q, depth), got[i]); diff != "" {
				t.Fatalf("question %d at depth %d (-brute +search):\n%s", i, depth, diff)
			}
		}
	}
}

func TestKernels_equalTheirDefinitions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	whole := func(n int) []int16 {
		v := make([]int16, n)
		for i := range v {
			v[i] = int16(r.IntN(2*maxWhole+1) - maxWhole)
		}
		return v
	}
	for _, pairs := range []int{1, 2, 3, 192} { // sums may wrap around, the same way
		panel, group, question := whole(pairs*2*panelRows), whole(pairs*2*groupSize), whole(pairs*2)
		limits := [groupSize]int32{math.MinInt32, -1 << 20, 0, 1 << 20, math.MaxInt32, 7}
		var want, got tile
		multiplyPortable(panel, group, &limits, &want)
		multiply(panel, group, &limits, &got)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(tile{})); diff != "" {
			t.Errorf("multiply, %d pairs (-definition +kernel):\n%s", pairs, diff)
		}
		want, got = tile{}, tile{}
		multiplyOnePortable(panel, question, 1<<20, &want)
		multiplyOne(panel, question, 1<<20, &got)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(tile{})); diff != "" {
			t.Errorf("multiplyOne, %d pairs (-definition +kernel):\n%s", pairs, diff)
		}
	}
	for _, n := range []int{0, 16, 32, 384} {
		x, y, want, got := embeddings(1, n, 1), embeddings(1, n, 2), [lanes]float64{3: 1}, [lanes]float64{3: 1}
		addProductsPortable(x, y, &want)
		addProducts(x, y, &got)
		if want != got {
			t.Errorf("addProducts over %d: %v, want %v", n, got, want)
		}
	}
}

func TestNthLargest_equalsSorting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int32Range(-20, 20), 1, 100).Draw(t, "v")
		n := rapid.IntRange(1, len(v)).Draw(t, "n")
		want := slices.Sorted(slices.Values(v))[len(v)-n]
		if got := nthLargest(slices.Clone(v), n); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

// TestWrite_isNPY pins the bytes down: numpy.load reads them.
func TestWrite_isNPY(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := Write(&file, []float32{1, -2, 0.5, 3, 4, 5}, 3); err != nil {
		t.Fatal(err)
	}
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
	want := header + strings.Repeat(" ", 127-len(header)) + "\n" +
		"\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40"
	if diff := cmp.Diff(want, file.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	for _, rows := range [][]float32{nil, {1, 0}, {1, 0, 0, 1}} {
		var file bytes.Buffer
		if err := Write(&file, rows, 2); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Add([]byte("\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, dim, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		m, err := New(rows, dim)
		if err != nil {
			t.Fatalf("Read lets pass what New refuses: %v", err)
		}
		if _, err := m.Search(t.Context(), [][]float32{make([]float32, dim)}, 3, 1); err != nil && dim > 0 {
			t.Fatal(err)
		}
	})
}
