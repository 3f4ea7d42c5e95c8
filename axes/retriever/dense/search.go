package dense

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/axes/retriever/topk"
)

// maxBlock is how many questions pass over the matrix together: their packed
// form stays in the processor's second cache.
const maxBlock = 42 * groupSize

// Search returns for each question the rows with the largest inner products, at
// most depth, ordered as [axes.Hit] says. Scores are inner products in double
// precision. The work is spread over so many threads.
func (m *Matrix) Search(ctx context.Context, questions [][]float32, depth, threads int) ([][]axes.Hit, error) {
	for i, q := range questions {
		if err := checkQuestion(q, m.n, m.dim); err != nil {
			return nil, fmt.Errorf("question %d: %w", i, err)
		}
	}
	results := make([][]axes.Hit, len(questions))
	if depth <= 0 || m.n == 0 {
		return results, nil
	}
	size := min(maxBlock, (len(questions)+threads-1)/max(threads, 1))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(threads, 1))
	var failed atomic.Bool
	for from := 0; from < len(questions) && !failed.Load(); from += size {
		to := min(from+size, len(questions))
		group.Go(func() error {
			err := m.searchBlock(ctx, questions[from:to], depth, results[from:to])
			failed.Store(err != nil)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}

// checkQuestion refuses vectors that have no inner product with the rows.
func checkQuestion(q []float32, rows, dim int) error {
	switch {
	case q == nil:
		return fmt.Errorf("it has no vector")
	case len(q) != dim && rows > 0:
		return fmt.Errorf("its vector has %d dimensions, the index %d", len(q), dim)
	}
	return finite(q)
}

// searchBlock answers questions that pass over the matrix together.
func (m *Matrix) searchBlock(ctx context.Context, questions [][]float32, depth int, results [][]axes.Hit) error {
	askers := make([]asker, len(questions))
	groups := make([][]int16, 0, len(questions)/groupSize+1)
	for from := 0; from < len(questions); from += groupSize {
		to := min(from+groupSize, len(questions))
		groups = append(groups, m.packGroup(questions[from:to], askers[from:to], depth))
	}
	panelSize := m.pairs * 2 * panelRows
	for first := 0; first < m.n; first += panelRows {
		if first%(1024*panelRows) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		panel := m.panels[first/panelRows*panelSize:][:panelSize]
		for g, packed := range groups {
			m.score(panel, packed, first, askers[g*groupSize:min((g+1)*groupSize, len(askers))])
		}
	}
	for i := range askers {
		results[i] = m.rank(&askers[i], questions[i])
	}
	return nil
}

// packGroup rounds up to six questions and interleaves them: a single one is
// left as it is, missing ones are 0.
func (m *Matrix) packGroup(questions [][]float32, askers []asker, depth int) []int16 {
	width := groupSize
	if len(questions) == 1 {
		width = 1
	}
	packed, whole := make([]int16, 2*m.pairs*width), make([]int16, 2*m.pairs)
	for i, q := range questions {
		length := math.Sqrt(squares(q))
		scale := scaleFor(largest(q), length)
		off, _ := quantise(whole, q, scale)
		askers[i] = newAsker((m.off*length+m.length*off)*m.scale*scale, depth)
		for p := range m.pairs {
			packed[(p*width+i)*2], packed[(p*width+i)*2+1] = whole[2*p], whole[2*p+1]
		}
	}
	return packed
}

// score compares a panel, whose first row is given, with a group of questions.
func (m *Matrix) score(panel, group []int16, first int, askers []asker) {
	var out tile
	if len(askers) == 1 {
		multiplyOne(panel, group, askers[0].limit, &out)
	} else {
		limits := [groupSize]int32{}
		for i := range limits {
			limits[i] = math.MaxInt32
		}
		for i := range askers {
			limits[i] = askers[i].limit
		}
		multiply(panel, group, &limits, &out)
	}
	for i := range askers {
		for over := out.over[i]; over != 0; over &= over - 1 {
			r := bits.TrailingZeros32(over)
			if first+r < m.n {
				askers[i].add(candidate{out.sums[i][r], uint32(first + r)})
			}
		}
	}
}

// rank computes the true inner products of what is left.
func (m *Matrix) rank(a *asker, question []float32) []axes.Hit {
	a.prune()
	var best topk.Collector
	best.Reset(min(a.depth, len(a.found)))
	buf := m.buffer()
	for _, c := range a.found {
		best.Push(axes.Hit{Ordinal: c.row, Score: dot(m.row(int(c.row), buf), question)})
	}
	return best.Append(nil)
}

// asker is one question on its way over the rows.
type asker struct {
	depth  int
	margin int64 // a row whose sum is this much below another's is certainly worse
	limit  int32 // what matters is over it
	found  []candidate
	room   int // prune when there are so many
}

// candidate is a row and its inner product over integers.
type candidate struct {
	sum int32
	row uint32
}

// newAsker makes an asker for sums that may be wrong by so much.
func newAsker(wrong float64, depth int) asker {
	room := 2*depth + 64
	return asker{
		depth: depth, margin: int64(2*wrong*(1+1e-9)) + 2, limit: math.MinInt32,
		room: room, found: make([]candidate, 0, min(room, 1<<12)),
	}
}

func (a *asker) add(c candidate) {
	a.found = append(a.found, c)
	if len(a.found) >= a.room {
		a.prune()
		a.room = max(a.room, 2*len(a.found))
	}
}

// prune forgets the candidates that are certainly not among the best.
func (a *asker) prune() {
	if len(a.found) <= a.depth {
		return
	}
	sums := make([]int32, len(a.found))
	for i, c := range a.found {
		sums[i] = c.sum
	}
	least := int64(nthLargest(sums, a.depth)) - a.margin
	if least <= math.MinInt32 {
		return
	}
	a.limit = int32(least - 1)
	a.found = slices.DeleteFunc(a.found, func(c candidate) bool { return int64(c.sum) < least })
}

// nthLargest returns the n-th largest of v, counted from 1, and reorders v:
// quickselect by Hoare's partition with the median of three, and sorting when
// the pivots are bad too often.
func nthLargest(v []int32, n int) int32 {
	for tries := 2 * bits.Len(uint(len(v))); len(v) > 1; tries-- {
		if tries == 0 {
			slices.Sort(v)
			return v[len(v)-n]
		}
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] > pivot {
				i++
			}
			for v[j] < pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch { // v[:j+1] ≥ pivot, v[i:] ≤ pivot, what lies between is equal to it
		case n <= j+1:
			v = v[:j+1]
		case n <= i:
			return pivot
		default:
			v, n = v[i:], n-i
		}
	}
	return v[0]
}
