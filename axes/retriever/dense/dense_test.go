package dense

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/internal/half"
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

// halved returns rows as they are in half precision.
func halved(rows []float32) []float32 {
	out := make([]float32, len(rows))
	for i, x := range rows {
		out[i] = half.To(half.From(x))
	}
	return out
}

// TestSearch_half: rows in half precision are searched as what they then are.
func TestSearch_half(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dim := rapid.IntRange(1, 70).Draw(rt, "dim")
		n := rapid.IntRange(1, 150).Draw(rt, "rows")
		seed := rapid.Uint64().Draw(rt, "seed")
		size := rapid.SampledFrom([]float32{1e-7, 1e-4, 1, 6e4}).Draw(rt, "size")
		rows, questions := embeddings(n, dim, seed), embeddings(7, dim, seed+1)
		for i := range rows {
			rows[i] *= size
		}
		var file bytes.Buffer
		if err := WriteHalf(&file, rows, dim); err != nil {
			rt.Fatal(err)
		}
		m, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil || !m.Half() {
			rt.Fatal(err)
		}
		mapped, err := Map(file.Bytes())
		if err != nil || !mapped.Half() {
			rt.Fatal(err)
		}
		depth := rapid.IntRange(1, n+2).Draw(rt, "depth")
		got, err := m.Search(t.Context(), split(questions, dim), depth, 2)
		if err != nil {
			rt.Fatal(err)
		}
		for i, q := range split(questions, dim) {
			want := brute(halved(rows), dim, q, depth)
			if diff := cmp.Diff(want, got[i]); diff != "" {
				rt.Fatalf("question %d (-brute +search):\n%s", i, diff)
			}
			hits, err := mapped.Search(t.Context(), q, depth, nil)
			if diff := cmp.Diff(want, hits); err != nil || diff != "" {
				rt.Fatalf("question %d, mapped: %v (-brute +search):\n%s", i, err, diff)
			}
		}
	})
}

func TestWriteHalf_refusesWhatIsInfiniteThere(t *testing.T) {
	t.Parallel()
	for x, fits := range map[float32]bool{65519: true, -65504: true, 65520: false, -1e30: false, float32(math.Inf(1)): false, float32(math.NaN()): false} {
		err := WriteHalf(io.Discard, []float32{1, 2, 3, x}, 2)
		if (err == nil) != fits || !fits && !strings.Contains(err.Error(), "vector of row 1: number 1 is") {
			t.Errorf("%v: %v", x, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, rows := range [][]float32{nil, {1, 0}, {1, 0, 0, 1}} {
		for _, write := range []func(io.Writer, []float32, int) error{Write, WriteHalf} {
			var file bytes.Buffer
			if err := write(&file, rows, 2); err != nil {
				f.Fatal(err)
			}
			f.Add(file.Bytes())
		}
	}
	f.Add([]byte("\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Read(bytes.NewReader(file), int64(len(file)))
		if mapped, other := Map(file); err == nil && (other != nil || mapped.Rows != m.Len() || mapped.Half() != m.Half()) {
			t.Fatalf("read, and mapped with %v", other)
		}
		if err != nil {
			return
		}
		if _, err := m.Search(t.Context(), [][]float32{make([]float32, m.Dim())}, 3, 1); err != nil {
			t.Fatal(err)
		}
	})
}
