package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Stream numbers keep the draws of the two procedures apart under one seed.
const (
	bootstrapStream = 0x626f6f7473747261
	randomiseStream = 0x7369676e666c6970
)

// drawCounts draws len(counts) indices with replacement and counts each.
func drawCounts(rng *rand.PCG, counts []uint32) {
	n := uint64(len(counts))
	for i := uint64(0); i < n; i += 2 {
		first, second := twoBelow(rng, n)
		counts[first]++
		if i+1 < n {
			counts[second]++
		}
	}
}

// twoBelow draws two independent uniform numbers below n, at most 2³², from one
// 64-bit draw, by the multiplication of Lemire (ACM TOMACS 29, 2019), rejecting
// what would favour some numbers.
func twoBelow(rng *rand.PCG, n uint64) (first, second uint64) {
	floor := (1 << 32) % n
	for {
		x := rng.Uint64()
		a, b := (x>>32)*n, (x&math.MaxUint32)*n
		if a&math.MaxUint32 >= floor && b&math.MaxUint32 >= floor {
			return a >> 32, b >> 32
		}
	}
}

// drawSigns fills signs with 1 and -1.
func drawSigns(rng *rand.PCG, signs []float64) {
	var pool uint64
	for i := range signs {
		if i%64 == 0 {
			pool = rng.Uint64()
		}
		signs[i] = float64(int64(pool&1)*2 - 1)
		pool = bits.RotateLeft64(pool, -1)
	}
}
