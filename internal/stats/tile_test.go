package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// naive adds up in lanes as the package promises, one product after the other.
func naive(x, y []float64) float64 {
	var sums [lanes]float64
	whole := len(x) / lanes * lanes
	for i := range x {
		lane := i % lanes
		if i >= whole {
			lane = 0
		}
		sums[lane] += float64(x[i] * y[i])
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}

// TestProducts_bitByBit holds what this machine makes of vectors against the definition,
// for all lengths.
func TestProducts_bitByBit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "length")
		vector := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), n, n)
		var two [2][]float64
		var four [4][]float64
		for i := range two {
			two[i] = vector.Draw(t, "one of two")
		}
		for j := range four {
			four[j] = vector.Draw(t, "one of four")
		}
		var got [8]float64
		products(two, four, &got)
		for i, x := range two {
			for j, y := range four {
				if want := naive(x, y); math.Float64bits(got[i*4+j]) != math.Float64bits(want) {
					t.Fatalf("%d by %d: %v, want %v", i, j, got[i*4+j], want)
				}
			}
		}
		var here, portable [8][lanes]float64
		tile(two, four, &here)
		tilePortable(two, four, &portable)
		if here != portable {
			t.Fatalf("%v here, %v by the definition", here, portable)
		}
	})
}

// TestDraws_keptOrNot expects the same sums of draws that are kept, shared and made
// anew, and of a system alone and among others.
func TestDraws_keptOrNot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "questions")
		systems := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 1), n, n), 1, 5).Draw(t, "systems")
		first := rapid.IntRange(0, n).Draw(t, "first group")
		times := rapid.IntRange(1, 30).Draw(t, "times")
		seed := rapid.Uint64().Draw(t, "seed")
		kept, streamed := NewDraws(seed, 1<<20), NewDraws(seed, 0)
		for _, what := range []drawing{
			{bootstrapStream, times, n, 0}, {randomiseStream, times, n, 0}, {splitStream, times, n, first},
		} {
			want := streamed.weighed(systems, what)
			for s, sums := range [][][]float64{kept.weighed(systems, what), kept.weighed(systems, what)}[rapid.IntRange(0, 1).Draw(t, "turn")] {
				for i := range sums {
					if sums[i] != want[s][i] {
						t.Fatalf("stream %x, system %d, draw %d: %v kept, %v drawn anew", what.stream, s, i, sums[i], want[s][i])
					}
				}
			}
			for i, v := range kept.weighed(systems[:1], what)[0] {
				if v != want[0][i] {
					t.Fatalf("stream %x, draw %d: %v alone, %v among others", what.stream, i, v, want[0][i])
				}
			}
		}
	})
}

// TestDraws_countWhatTheySay adds up weights that must come to known numbers: as many
// questions as there are in a resample, and as many of a split as its first group has.
func TestDraws_countWhatTheySay(t *testing.T) {
	t.Parallel()
	const n, times = 77, 500
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	d := NewDraws(3, 1<<20)
	signs := map[float64]bool{}
	for i, v := range d.Bootstrap([][]float64{ones}, times).means[0] {
		if v != 1 {
			t.Fatalf("resample %d has a mean of ones of %v", i, v)
		}
	}
	for i, v := range d.Splits([][]float64{ones}, 30, times)[0] {
		if v != 30 {
			t.Fatalf("split %d has %v in its first group", i, v)
		}
	}
	for _, v := range d.Randomisation([][]float64{ones}, times).sums[0] {
		if v != math.Trunc(v) || math.Abs(v) > n || math.Mod(v, 2) == 0 {
			t.Fatalf("signs of 77 questions add up to %v", v)
		}
		signs[v] = true
	}
	if len(signs) < 10 {
		t.Errorf("only %d sums of signs", len(signs))
	}
}

// TestDraws_roomIsKept keeps no more bytes than there is room for.
func TestDraws_roomIsKept(t *testing.T) {
	t.Parallel()
	d := NewDraws(1, 1000)
	system := [][]float64{make([]float64, 64)}
	d.weighed(system, drawing{bootstrapStream, 10, 64, 0}) // 640 bytes
	d.weighed(system, drawing{bootstrapStream, 11, 64, 0}) // no room for 704
	d.weighed(system, drawing{randomiseStream, 45, 64, 0}) // 360 bytes
	if len(d.kept) != 2 || d.room != 0 {
		t.Errorf("%d draws kept, room for %d bytes", len(d.kept), d.room)
	}
}
