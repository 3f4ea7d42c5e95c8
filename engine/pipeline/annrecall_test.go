package pipeline

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/engine/artifact"
)

// exactLeaf is the kind that approximate ones are held against.
func exactLeaf(t testing.TB) retriever.Leaf {
	t.Helper()
	kind, ok := axes.Find(retriever.Leaves, exactKind)
	if !ok {
		t.Fatal("there is no such kind")
	}
	leaf, err := kind.New(kind.Params(), axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// unit is a vector of length 1 in the plane.
func unit(degrees float64) []float32 {
	return []float32{float32(math.Cos(degrees * math.Pi / 180)), float32(math.Sin(degrees * math.Pi / 180))}
}

// plane is a corpus of vectors in the plane with questions.
type plane struct {
	rows, questions [][]float32
}

func npy(t testing.TB, rows [][]float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := artifact.WriteMatrix(&b, artifact.Matrix{Rows: len(rows), Dim: 2, Data: slices.Concat(rows...)}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exact ranks by brute force.
func (p plane) exact(t testing.TB, question, depth int) []axes.Hit {
	t.Helper()
	s, err := exactLeaf(t).Open(t.Context(), bytes.NewReader(npy(t, p.rows)), int64(len(npy(t, p.rows))), text.Analyzer(nil))
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.Search(t.Context(), axes.Query{Vector: p.questions[question]}, depth, nil)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func runOf(t testing.TB, rankings [][]axes.Hit) []byte {
	t.Helper()
	run := newRun(len(rankings))
	for i, hits := range rankings {
		if err := run.add(fmt.Sprint("q", i), hits, func(o uint32) (string, error) { return fmt.Sprint("d#", o), nil }); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := artifact.WriteRun(&b, run.Run); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compare holds what was found against exact search to a depth.
func (p plane) compare(t *testing.T, l *lab, w annRecallWork, found [][]axes.Hit) *ANNRecall {
	t.Helper()
	w.exact, w.shards = exactLeaf(t), 1
	var exact [][]axes.Hit
	var queries []queryLine
	for i := range p.questions {
		exact = append(exact, p.exact(t, i, w.depth))
		queries = append(queries, queryLine{fmt.Sprint("q", i), "?"})
	}
	out, err := l.run(t, annRecallKind, w, map[string][]byte{
		"queries": plainLines(t, queries...), "query_vectors": npy(t, p.questions), "vectors-000": npy(t, p.rows),
		"run": runOf(t, found), "exact_run": runOf(t, exact), "index": npy(t, p.rows),
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadANNRecall(out["ann_recall"])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func order(ordinals ...uint32) []axes.Hit {
	hits := make([]axes.Hit, len(ordinals))
	for i, o := range ordinals {
		hits[i] = axes.Hit{Ordinal: o, Score: float64(-i)}
	}
	return hits
}

func TestANNRecall_countsWhatIsNear(t *testing.T) {
	t.Parallel()
	// The question points at 0°. Chunks 2 to 6 are equally near.
	p := plane{questions: [][]float32{unit(0)}}
	for _, degrees := range []float64{1, 2, 30, 30, 30, 30, 30, 60, 90} {
		p.rows = append(p.rows, unit(degrees))
	}
	for _, tc := range []struct {
		name  string
		found []axes.Hit
		at2   float64
		at4   float64
	}{
		{"the same", order(0, 1, 2, 3), 1, 1},
		{"another order", order(3, 2, 1, 0), 0, 1},
		{"others as near, beyond the exact ranking's end", order(0, 1, 5, 6), 1, 1},
		{"one that is further", order(0, 1, 6, 7), 1, 0.75},
		{"too few", order(1), 0.5, 0.25},
		{"nothing", nil, 0, 0},
		{"far ones", order(8, 7), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := p.compare(t, newLab(t), annRecallWork{distance: "cosine", cutoffs: []int{2, 4}, depth: 4}, [][]axes.Hit{tc.found})
			want := []ANNRecallAt{{2, tc.at2, tc.at2}, {4, tc.at4, tc.at4}}
			if got.Questions != 1 || !slices.Equal(got.At, want) {
				t.Errorf("%+v of %d questions, want %+v of one", got.At, got.Questions, want)
			}
		})
	}
}

func TestANNRecall_meanAndFifthPercentile(t *testing.T) {
	t.Parallel()
	p := plane{}
	var found [][]axes.Hit
	for i := range 20 {
		p.rows = append(p.rows, unit(float64(i)))
		p.questions = append(p.questions, unit(0))
		found = append(found, order(0, 1))
	}
	found[7] = order(0, 19) // one of twenty: the 5th percentile
	got := p.compare(t, newLab(t), annRecallWork{distance: innerProduct, cutoffs: []int{2}, depth: 2}, found)
	if len(got.At) != 1 || math.Abs(got.At[0].Mean-0.975) > 1e-12 || got.At[0].P5 != 0.5 || got.Questions != 20 {
		t.Errorf("%+v, want a mean of 0.975 and a 5th percentile of 0.5 over 20", got)
	}
}

// Vectors of other lengths rank otherwise by inner product than by cosine: then
// nothing is said, and the user told.
func TestANNRecall_vectorsOfOtherLengths(t *testing.T) {
	t.Parallel()
	p := plane{rows: [][]float32{unit(0), {3, 4}}, questions: [][]float32{unit(0)}}
	for _, tc := range []struct {
		distance string
		measured int
	}{{"cosine", 0}, {"l2", 0}, {innerProduct, 1}} {
		l := newLab(t)
		got := p.compare(t, l, annRecallWork{distance: tc.distance, cutoffs: []int{1}, depth: 1}, [][]axes.Hit{order(1)})
		if len(got.At) != tc.measured || len(l.warnings) != 1-tc.measured {
			t.Errorf("%s: %+v, warnings %q", tc.distance, got, l.warnings)
		}
		if tc.measured == 0 && !strings.Contains(strings.Join(l.warnings, ""), "not all of length 1") {
			t.Errorf("%s: warnings %q", tc.distance, l.warnings)
		}
		if tc.measured == 1 && got.At[0].Mean != 1 {
			t.Errorf("by inner product the long vector is nearest: %+v", got)
		}
	}
}

// scored are hits whose scores by a distance are off by so much as inner products.
func (p plane) scored(distance string, off float64, ordinals ...uint32) []axes.Hit {
	q := p.questions[0]
	squares := squaredLength(q)
	hits := make([]axes.Hit, len(ordinals))
	for i, o := range ordinals {
		product := float64(p.rows[o][0])*float64(q[0]) + float64(p.rows[o][1])*float64(q[1]) + off
		off = -off / 2
		score := map[string]float64{
			"cosine": product / math.Sqrt(squares), "l2": -math.Sqrt(squares + 1 - 2*product), innerProduct: product,
		}[distance]
		hits[i] = axes.Hit{Ordinal: o, Score: score}
	}
	slices.SortFunc(hits, func(a, b axes.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits
}

// How far scores are off is a difference of inner products, whatever the distance and
// the question's length, over the chunks of both rankings.
func TestANNRecall_scoresOfRoundedVectors(t *testing.T) {
	t.Parallel()
	p := plane{questions: [][]float32{{1.2, 0.9}}}
	for _, degrees := range []float64{10, 20, 35, 50, 80, 120} {
		p.rows = append(p.rows, unit(degrees))
	}
	for _, distance := range []string{"cosine", "l2", innerProduct} {
		for _, off := range []float64{0, 1e-4, -3e-4} {
			w := annRecallWork{distance: distance, cutoffs: []int{3}, depth: 3, rounded: true}
			// Chunk 5 is not in the exact ranking, and has no score to be held against.
			got := p.compare(t, newLab(t), w, [][]axes.Hit{append(p.scored(distance, off, 2, 1, 3), axes.Hit{Ordinal: 5, Score: -9})})
			if d := got.ScoreDifference; d == nil || math.Abs(*d-math.Abs(off)) > 1e-7 {
				t.Errorf("%s, off by %v: %+v", distance, off, got)
			}
		}
		w := annRecallWork{distance: distance, cutoffs: []int{3}, depth: 3}
		if got := p.compare(t, newLab(t), w, [][]axes.Hit{p.scored(distance, 1e-4, 2, 1, 3)}); got.ScoreDifference != nil {
			t.Errorf("%s: scores of vectors that are not rounded: %+v", distance, got)
		}
	}
}

// Lengths that let rankings be compared, but no scores.
func TestANNRecall_scoresOfOtherLengths(t *testing.T) {
	t.Parallel()
	p := plane{rows: [][]float32{unit(0), {1.0001, 0}}, questions: [][]float32{unit(0)}}
	for distance, measured := range map[string]bool{"cosine": false, "l2": false, innerProduct: true} {
		l := newLab(t)
		got := p.compare(t, l, annRecallWork{distance: distance, cutoffs: []int{1}, depth: 1, rounded: true}, [][]axes.Hit{order(1)})
		if len(got.At) != 1 || (got.ScoreDifference != nil) != measured || (len(l.warnings) == 0) != measured {
			t.Errorf("%s: %+v, warnings %q", distance, got, l.warnings)
		}
	}
}

// TestANNRecall_ofHalfPrecision holds the kind exact in half precision against itself.
func TestANNRecall_ofHalfPrecision(t *testing.T) {
	t.Parallel()
	kind, _ := axes.Find(retriever.Leaves, exactKind)
	params := kind.Params().(*retriever.ExactParams)
	params.Precision = "half"
	leaf, err := kind.New(params, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p := plane{}
	for i := range 400 {
		p.rows = append(p.rows, unit(float64(i)/20))
	}
	index := new(bytes.Buffer)
	if err := leaf.Build(t.Context(), &planeCorpus{p}, nil, index); err != nil {
		t.Fatal(err)
	}
	s, err := leaf.Open(t.Context(), index, int64(index.Len()), nil)
	if err != nil {
		t.Fatal(err)
	}
	var found [][]axes.Hit
	for i := range 30 {
		p.questions = append(p.questions, unit(float64(i)))
		hits, err := s.Search(t.Context(), axes.Query{Vector: p.questions[i]}, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, hits)
	}
	distance, rounded := leaf.(retriever.Rounded).Rounded()
	got := p.compare(t, newLab(t), annRecallWork{distance: distance, rounded: rounded, cutoffs: []int{10}, depth: 10}, found)
	// A number between 0.5 and 1 is off by up to 2^-12, one below by less.
	if d := got.ScoreDifference; d == nil || *d < 1e-5 || *d > 2*0x1p-12 || got.At[0].Mean >= 1 || got.At[0].Mean < 0.5 {
		t.Errorf("%+v, scores off by %v", got, d)
	}
}

// Rounded vectors are held against full precision, but what they rank is reproducible,
// and the default of precision is in no key.
func TestBuild_halfPrecision(t *testing.T) {
	t.Parallel()
	p, err := buildSpec(t, `
fixed "embedder" {
  option "e5" {
    kind  = "onnx"
    model = "multilingual-e5-small"
  }
}
axis "retriever" {
  option "single" { kind = "exact" }
  option "half" {
    kind      = "exact"
    precision = "half"
  }
}
score { metrics = ["ndcg@10"] }
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	checks := 0
	for _, s := range p.Graph.Stages {
		half := strings.HasSuffix(s.Address, " half]")
		precise := slices.ContainsFunc(s.Fields, func(f engine.Field) bool { return f.Path == "retriever.precision" && f.Value == "half" })
		named := slices.ContainsFunc(s.Fields, func(f engine.Field) bool { return f.Path == "retriever.precision" })
		switch s.Kind.Name {
		case "index", "search":
			if !s.Kind.Pure || named != half || precise != half {
				t.Errorf("%s: reproducible %v, precision in the key %v", s.Address, s.Kind.Pure, named)
			}
		case "ann_recall":
			checks++
			if !half || !comparesScores(s) {
				t.Errorf("%s is checked", s.Address)
			}
		}
	}
	if checks != 1 {
		t.Errorf("%d comparisons, want one", checks)
	}
}

// planeCorpus is its rows as a corpus.
type planeCorpus struct{ plane }

func (c *planeCorpus) Len() int                        { return len(c.rows) }
func (c *planeCorpus) Vectors() ([]float32, int)       { return slices.Concat(c.rows...), 2 }
func (c *planeCorpus) Texts() iter.Seq2[string, error] { return nil }

// Against exact distances, whatever was found and wherever the ranking is cut.
func TestANNRecall_agreesWithItsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := plane{questions: [][]float32{unit(0)}}
		n := rapid.IntRange(1, 12).Draw(rt, "chunks")
		for range n {
			p.rows = append(p.rows, unit(float64(10*rapid.IntRange(0, 3).Draw(rt, "degrees"))))
		}
		depth := rapid.IntRange(1, n).Draw(rt, "depth")
		k := rapid.IntRange(1, depth).Draw(rt, "k")
		all := make([]uint32, n)
		for i := range all {
			all[i] = uint32(i)
		}
		found := rapid.Permutation(all).Draw(rt, "found")[:rapid.IntRange(0, depth).Draw(rt, "length")]
		got := p.compare(t, newLab(t), annRecallWork{distance: "l2", cutoffs: []int{k}, depth: depth}, [][]axes.Hit{order(found...)})

		whole := p.exact(t, 0, n)
		score := map[uint32]float64{}
		for _, h := range whole {
			score[h.Ordinal] = h.Score
		}
		near := 0
		for _, o := range found[:min(k, len(found))] {
			if score[o] >= whole[k-1].Score {
				near++
			}
		}
		if want := float64(near) / float64(k); math.Abs(got.At[0].Mean-want) > 1e-12 {
			rt.Errorf("found %v of %v at %d: %v, want %v", found, whole, k, got.At[0].Mean, want)
		}
	})
}

func TestSameRuns_tolerance(t *testing.T) {
	t.Parallel()
	base := runOf(t, [][]axes.Hit{order(0, 1, 2, 3, 4), order(5, 6, 7, 8, 9)})
	for _, tc := range []struct {
		again [][]axes.Hit
		same  bool
	}{
		{[][]axes.Hit{order(0, 1, 2, 3, 4), order(5, 6, 7, 8, 9)}, true},
		{[][]axes.Hit{order(4, 3, 2, 1, 0), order(5, 6, 7, 8, 1)}, true},
		{[][]axes.Hit{order(0, 1, 2, 3, 5), order(5, 6, 7, 8, 1)}, false},
		{[][]axes.Hit{order(0, 1, 2, 3, 4)}, false},
	} {
		err := sameRuns("run", bytes.NewReader(base), bytes.NewReader(runOf(t, tc.again)))
		if (err == nil) != tc.same {
			t.Errorf("%v: %v", tc.again, err)
		}
	}
	if err := sameRuns("run", bytes.NewReader(base), strings.NewReader("no run")); err == nil {
		t.Error("what is no run is the same")
	}
}

func TestReadANNRecall_refusesAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "{}", `{"version":2}`} {
		if _, err := ReadANNRecall([]byte(raw)); err == nil {
			t.Errorf("%q was read", raw)
		}
	}
}
