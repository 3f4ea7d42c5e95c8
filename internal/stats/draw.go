package stats

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
)

// Stream numbers keep the draws of the procedures apart under one seed.
const (
	bootstrapStream = 0x626f6f7473747261
	randomiseStream = 0x7369676e666c6970
	splitStream     = 0x7265766572736564
)

// Draws are what is drawn under one seed: resamples, signs and splits of questions. They
// depend on the number of questions alone, so that systems share them that are looked at
// apart, such as several axes, or tags that as many questions carry. They are kept while
// there is room, and drawn anew otherwise; the results are the same. Safe for concurrent
// use.
type Draws struct {
	seed uint64

	mu   sync.Mutex
	room int // bytes that may still be kept
	kept map[drawing][]byte
}

// DrawsRoom is how many bytes of draws are kept: 10,000 resamples and signs of 10,000
// questions take 113 million, and of a sixth of them a sixth.
const DrawsRoom = 160 << 20

// NewDraws returns draws that are kept within so many bytes.
func NewDraws(seed uint64, room int) *Draws {
	return &Draws{seed: seed, room: room, kept: map[drawing][]byte{}}
}

// drawing says what is drawn, how often, and for how many questions.
type drawing struct {
	stream    uint64
	times     int
	questions int
	first     int // how many questions of a split are in the first group
}

// size is how many bytes one draw takes.
func (d drawing) size() int {
	if d.stream == bootstrapStream {
		return d.questions
	}
	return (d.questions + 63) / 64 * 8
}

// rows returns all draws one after the other, if there is room to keep them.
func (d *Draws) rows(what drawing) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rows, ok := d.kept[what]; ok {
		return rows
	}
	size := what.size()
	if size*what.times > d.room {
		return nil
	}
	d.room -= size * what.times
	rows, draw := make([]byte, size*what.times), d.drawer(what)
	for i := range what.times {
		draw(rows[i*size : (i+1)*size])
	}
	d.kept[what] = rows
	return rows
}

// drawer returns what makes one draw after the other.
func (d *Draws) drawer(what drawing) func(row []byte) {
	rng := rand.NewPCG(d.seed, what.stream)
	switch what.stream {
	case bootstrapStream:
		return func(row []byte) { drawCounts(rng, row) }
	case randomiseStream:
		return func(row []byte) { drawSigns(rng, row) }
	}
	return splitter(rng, what)
}

// expand turns a draw into weights of the questions.
func (d drawing) expand(row []byte, weights []float64) {
	switch d.stream {
	case bootstrapStream:
		for i, count := range row[:len(weights)] {
			weights[i] = float64(count)
		}
	case randomiseStream:
		expandBits(row, weights, &signs)
	default:
		expandBits(row, weights, &members)
	}
}

// drawCounts draws as many indices as there are counts, with replacement, and counts
// each. That one comes 256 times, which a count has no room for, has a chance of one in
// 10⁵⁰⁷ even where there are 2³² of them.
func drawCounts(rng *rand.PCG, counts []byte) {
	clear(counts)
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

// drawSigns draws a bit for each question, set for 1.
func drawSigns(rng *rand.PCG, row []byte) {
	for ; len(row) > 0; row = row[8:] {
		binary.LittleEndian.PutUint64(row, rng.Uint64())
	}
}

// splitter draws which questions are in the first of two groups, by the beginning of a
// shuffle (Fisher and Yates) of the order that the draw before left.
func splitter(pcg *rand.PCG, what drawing) func(row []byte) {
	rng, order := rand.New(pcg), make([]int, what.questions)
	for i := range order {
		order[i] = i
	}
	return func(row []byte) {
		clear(row)
		for i := range what.first {
			j := i + rng.IntN(len(order)-i)
			order[i], order[j] = order[j], order[i]
			row[order[i]/8] |= 1 << (order[i] % 8)
		}
	}
}

// bitWeights are the weights of eight bits, the lowest first, by the byte that they make.
type bitWeights [256][8]float64

var (
	signs   = weightsOfBits(-1, 1)
	members = weightsOfBits(0, 1)
)

func weightsOfBits(unset, set float64) (table bitWeights) {
	for b := range table {
		for i := range table[b] {
			table[b][i] = unset
			if b>>i&1 == 1 {
				table[b][i] = set
			}
		}
	}
	return table
}

func expandBits(row []byte, weights []float64, table *bitWeights) {
	for len(weights) >= 8 {
		*(*[8]float64)(weights) = table[row[0]]
		row, weights = row[1:], weights[8:]
	}
	if len(weights) > 0 {
		copy(weights, table[row[0]][:])
	}
}
