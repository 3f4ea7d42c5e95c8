package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"raglab/axes"
	"raglab/axes/metric"
	"raglab/axes/retriever"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/internal/stats"
	"raglab/spec"
)

// annRecallWork is the work of a stage that holds an approximate ranking against
// the exact one.
type annRecallWork struct {
	exact    retriever.Leaf
	distance string
	// rounded tells that scores are of rounded vectors, and are compared too.
	rounded bool
	cutoffs []int
	depth   int
	shards  int
	// grouped tells that chunks share passages, which are what is ranked.
	grouped bool
}

// annRecallKind measures how many of the nearest vectors an approximate index
// finds, or one that keeps vectors in a lower precision. The exact ranking is by inner
// product of the vectors as they were given; where the index is by another distance,
// the vectors must be of length 1, and the two rankings are then one.
var annRecallKind = &engine.Kind{Name: "ann_recall", Version: "1", Outputs: []string{"ann_recall"}, Pure: true, Run: runANNRecall}

// ANNRecall is what a stage of that kind writes: the recall of a search against
// exact search over the same vectors.
type ANNRecall struct {
	Version   int           `json:"version"`
	Questions int           `json:"questions"`
	At        []ANNRecallAt `json:"at"`
	// ScoreDifference is the greatest difference of a score from that of the vectors
	// as they were given, over all questions and the chunks that both rankings have,
	// as a difference of inner products. It is there for an index that rounds vectors,
	// and null where vectors are not of length 1 as closely as it takes to tell.
	ScoreDifference *float64 `json:"score_difference,omitempty"`
}

// ANNRecallAt is ann_recall@k: the share of the k nearest chunks among the first k
// found, or of the k nearest passages where chunks share them. A chunk as near as the
// kth counts, so that no tie is a miss. P5 is the
// 5th percentile over the questions, by nearest rank.
type ANNRecallAt struct {
	K    int     `json:"k"`
	Mean float64 `json:"mean"`
	P5   float64 `json:"p5"`
}

const annRecallVersion = 1

// ReadANNRecall reads what such a stage wrote. At is empty when nothing could be
// compared.
func ReadANNRecall(raw []byte) (*ANNRecall, error) {
	var a ANNRecall
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read ann_recall: %w", err)
	}
	if a.Version != annRecallVersion {
		return nil, fmt.Errorf("read ann_recall: version %d, not %d", a.Version, annRecallVersion)
	}
	return &a, nil
}

// innerProduct is the distance by which the exact kind ranks any vectors.
const innerProduct = "ip"

// addCheck adds the exact twin of an approximate leaf, which a row of the spec may
// have already, and the stage that compares them.
func (l *leafBuilder) addCheck(cfg *spec.Configuration, fit fitting) error {
	twin := l.newLeaf(exactKind, l.out.chunks)
	twin.options = []*choice{l.exactChoice(twin.kind)}
	leaf, err := instance(l.instances, twin.kind, twin.options[0].params)
	if err != nil {
		return err
	}
	twin.look(leaf)
	if err := twin.add(cfg, fit); err != nil {
		return err
	}
	cutoffs := cutoffsOf(l.metrics, l.exp.Score.Depth)
	s := &engine.Stage{
		Address: address("ann_recall", l.out.name), Kind: annRecallKind, Needs: engine.Resources{CPU: 1, Memory: indexMemory},
		Fields: []engine.Field{
			{Class: engine.Params, Path: "ann_recall.k", Value: engine.Canonical(cutoffs)},
			{Class: engine.Params, Path: "ann_recall.distance", Value: l.distance},
			{Class: engine.Code, Path: "retriever " + exactKind, Value: twin.kind.Version},
			l.depthField(),
		},
		Inputs: append(slices.Clone(twin.search),
			engine.Input{Name: "run", From: l.out.run, Output: "run"},
			engine.Input{Name: "exact_run", From: twin.out.run, Output: "run"}),
		Work: annRecallWork{leaf, l.distance, l.rounded, cutoffs, l.exp.Score.Depth, l.shards, l.out.chunks.grouped},
	}
	if l.rounded {
		s.Fields = append(s.Fields, engine.Field{Class: engine.Params, Path: "ann_recall.scores", Value: true})
	}
	s.Inputs = append(s.Inputs, twin.index.inputs()...)
	if l.out.chunks.grouped {
		s.Inputs = append(s.Inputs, twin.index.names())
	}
	if l.distance != innerProduct {
		s.Inputs = append(s.Inputs, twin.vectors...)
	}
	l.out.checks = []*engine.Stage{l.p.Graph.Add(s)}
	return nil
}

// exactKind is the kind of retriever that approximate ones are held against.
const exactKind = "exact"

// exactChoice is the option of that kind with its defaults, one for all twins.
func (b *builder) exactChoice(kind axes.Kind[retriever.Leaf]) *choice {
	if b.exact == nil {
		b.exact = &choice{
			opt:  &spec.Option{Factor: slotRetriever, Label: exactKind, Kind: exactKind},
			name: exactKind, params: kind.Params(), veil: b.veil,
		}
	}
	return b.exact
}

// cutoffsOf are the ranks at which rankings are judged, and their depth.
func cutoffsOf(metrics []metric.Metric, depth int) []int {
	cutoffs := []int{depth}
	for _, m := range metrics {
		if k, ok := m.Cutoff(); ok && k < depth {
			cutoffs = append(cutoffs, k)
		}
	}
	slices.Sort(cutoffs)
	return slices.Compact(cutoffs)
}

func runANNRecall(ctx context.Context, t *engine.Task) error {
	w := t.Work.(annRecallWork)
	off, err := w.offUnit(t)
	if err != nil {
		return err
	}
	out := ANNRecall{Version: annRecallVersion, At: []ANNRecallAt{}}
	if !(off <= lengthTolerance) {
		t.Warn("the vectors are not all of length 1, so that the exact ranking, by inner product, is not the one by %s: ann_recall is unmeasured", w.distance)
		return out.write(t)
	}
	values, difference, err := w.compare(ctx, t)
	if err != nil {
		return err
	}
	switch {
	case !w.rounded:
	case off <= unitTolerance:
		out.ScoreDifference = &difference
	default:
		t.Warn("the squares of the vectors' lengths are up to %.2g from 1, so that scores by %s cannot be held against inner products: how far they are off is unmeasured", off, w.distance)
	}
	for i, k := range w.cutoffs {
		if out.Questions = len(values[i]); out.Questions > 0 {
			out.At = append(out.At, ANNRecallAt{K: k, Mean: stats.Mean(values[i]), P5: stats.NearestRank(values[i], 5)})
		}
	}
	return out.write(t)
}

// compare returns each question's recall at each cut-off, and the greatest difference
// of a score. Questions for which there is nothing to find are left out.
func (w annRecallWork) compare(ctx context.Context, t *engine.Task) (values [][]float64, difference float64, err error) {
	queries, err := readQueries(t)
	if err != nil {
		return nil, 0, err
	}
	found, err := readRun(t, "run")
	if err != nil {
		return nil, 0, err
	}
	exact, err := readRun(t, "exact_run")
	if err != nil {
		return nil, 0, err
	}
	twin := &exactTwin{ctx: ctx, t: t, work: w, chunks: &chunkTable{}}
	defer twin.close()
	if w.grouped {
		if twin.chunks, err = readTable(t); err != nil {
			return nil, 0, err
		}
	}
	values = make([][]float64, len(w.cutoffs))
	foundAt, exactAt := found.By(), exact.By()
	for _, q := range queries {
		at, ok := exactAt[q.ID]
		if !ok {
			continue
		}
		var hits []axes.Hit
		if i, ok := foundAt[q.ID]; ok {
			hits = found.Hits[i]
		}
		difference = max(difference, w.difference(q, hits, exact.Hits[at]))
		for i, k := range w.cutoffs {
			v, err := twin.recall(q, hits, exact.Hits[at], k)
			if err != nil {
				return nil, 0, fmt.Errorf("question %s: %w", q.ID, err)
			}
			values[i] = append(values[i], v)
		}
	}
	return values, difference, nil
}

// difference is the greatest one of the scores that two rankings of a question give
// the same chunk, the second by inner product.
func (w annRecallWork) difference(q axes.Query, found, exact []axes.Hit) (greatest float64) {
	scores := make(map[uint32]float64, len(exact))
	for _, h := range exact {
		scores[h.Ordinal] = h.Score
	}
	squares := squaredLength(q.Vector)
	for _, h := range found {
		if score, both := scores[h.Ordinal]; both {
			greatest = max(greatest, math.Abs(w.product(h.Score, squares)-score))
		}
	}
	return greatest
}

// product is the inner product with a question of a vector of length 1 that has a
// score.
func (w annRecallWork) product(score, questionSquares float64) float64 {
	switch w.distance {
	case "cosine":
		return score * math.Sqrt(questionSquares)
	case "l2": // the score is the distance below 0, and its square |q|² + 1 - 2 q·v
		return (questionSquares + 1 - score*score) / 2
	}
	return score
}

// comparesScores reports whether a stage holds scores of rounded vectors against those
// of the vectors as they were given.
func comparesScores(s *engine.Stage) bool {
	w, ok := s.Work.(annRecallWork)
	return ok && w.rounded
}

func (a ANNRecall) write(t *engine.Task) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode ann_recall: %w", err)
	}
	return t.Write("ann_recall", raw)
}

// lengthTolerance is how far the square of a vector's length may be from 1 before
// it counts as another length: float32 embeddings are off by less. Scores by another
// distance differ by about that from inner products, and are compared where it is
// less than what rounding to half precision changes.
const lengthTolerance, unitTolerance = 1e-3, 1e-6

// offUnit returns how far the square of a vector's length may be from 1, where that
// matters: the largest inner products are then the nearest vectors.
func (w annRecallWork) offUnit(t *engine.Task) (off float64, err error) {
	if w.distance == innerProduct {
		return 0, nil
	}
	for i := range w.shards {
		m, err := readMatrix(t, shardName("vectors", i))
		if err != nil {
			return 0, err
		}
		if off = max(off, offLengthOne(m)); !(off <= lengthTolerance) {
			break
		}
	}
	return off, nil
}

func offLengthOne(m artifact.Matrix) (off float64) {
	for i := range m.Rows {
		off = max(off, math.Abs(squaredLength(m.Row(i))-1))
	}
	return off
}

func squaredLength(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// exactTwin tells how near chunks are, by the exact ranking and, where that ends
// among chunks that are all as near, by one that goes deeper.
type exactTwin struct {
	ctx  context.Context
	t    *engine.Task
	work annRecallWork
	// chunks tells which are ranked as one; it knows no others where none are.
	chunks *chunkTable
	index  retriever.Searcher // once it was needed
}

func (x *exactTwin) close() {
	if x.index != nil {
		_ = x.index.Close()
	}
}

// recall is the share of the k nearest chunks of a question that was found. The
// exact ranking has at least one.
func (x *exactTwin) recall(q axes.Query, found, exact []axes.Hit, k int) (float64, error) {
	nearest := exact[:min(k, len(exact))]
	threshold := nearest[len(nearest)-1].Score
	found = found[:min(k, len(found))]
	exact, err := x.whole(q, found, exact, threshold)
	if err != nil {
		return 0, err
	}
	near := map[uint32]bool{}
	for _, h := range exact {
		if h.Score >= threshold {
			near[h.Ordinal] = true
		}
	}
	hits := 0
	for _, h := range found {
		if near[h.Ordinal] {
			hits++
		}
	}
	return float64(hits) / float64(len(nearest)), nil
}

// whole is the exact ranking with all chunks that are as near as the threshold,
// where it matters: it ends among them, and something else was found.
func (x *exactTwin) whole(q axes.Query, found, exact []axes.Hit, threshold float64) ([]axes.Hit, error) {
	for depth := x.work.depth; len(exact) == depth && exact[depth-1].Score >= threshold && !allIn(found, exact); {
		if err := x.open(); err != nil {
			return nil, err
		}
		depth *= 2
		var err error
		if exact, err = x.index.Search(x.ctx, q, x.chunks.chunksFor(depth, x.chunks.chunks), nil); err != nil {
			return nil, fmt.Errorf("search exactly: %w", err)
		}
		exact = x.chunks.collapse(exact, depth)
	}
	return exact, nil
}

func allIn(found, exact []axes.Hit) bool {
	have := ordinals(exact)
	return !slices.ContainsFunc(found, func(h axes.Hit) bool { return !have[h.Ordinal] })
}

func (x *exactTwin) open() (err error) {
	if x.index == nil {
		x.index, err = openIndex(x.ctx, x.t, x.work.exact, nil)
	}
	return err
}
