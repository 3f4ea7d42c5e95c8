package axestest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
)

// Retriever is a kind of retriever with an index under test.
type Retriever struct {
	Kind axes.Kind[retriever.Leaf]
	// Set changes the default parameters; it may be nil.
	Set func(params any)
	Env axes.Env
	// Analyzer is given to the kind; it may be nil for one that uses no text.
	Analyzer text.Analyzer
	// Dim is the dimensions of the vectors that the suite makes.
	Dim int
	// Oracle returns every hit of a question in any order, with the scores to
	// the last bit. It may be nil, for a kind that approximates.
	Oracle func(c *Corpus, q axes.Query) []axes.Hit
	// Tolerance is how far the scores may be from the oracle's, for a kind that
	// computes in lower precision: hits that are no further apart may then change
	// places.
	Tolerance float64
	// Golden has the digest of the index over the suite's own corpus, with its rows
	// where it lives in a store, and of some rankings by version; nil for a volatile
	// kind. Rankings are left out without an oracle, their scores with a tolerance.
	Golden map[string]string
}

// goldenSeed makes the corpus of golden digests.
const goldenSeed = 20260921

// RunRetriever runs the suite for a kind of retriever.
func RunRetriever(t *testing.T, k Retriever) {
	t.Run("equals the oracle", func(t *testing.T) { t.Parallel(); k.testOracle(t) })
	t.Run("any depth is a prefix", func(t *testing.T) { t.Parallel(); k.testDepth(t) })
	t.Run("empty corpus", func(t *testing.T) { t.Parallel(); k.testEmpty(t) })
	t.Run("question that matches nothing", func(t *testing.T) { t.Parallel(); k.testNoMatch(t) })
	t.Run("batch equals single", func(t *testing.T) { t.Parallel(); k.testBatch(t) })
	t.Run("concurrent searches", func(t *testing.T) { t.Parallel(); k.testConcurrent(t) })
	t.Run("building twice gives the same bytes", func(t *testing.T) { t.Parallel(); k.testRebuild(t) })
	t.Run("broken index is an error", func(t *testing.T) { t.Parallel(); k.testBroken(t) })
	t.Run("failing writer and reader", func(t *testing.T) { t.Parallel(); k.testFailures(t) })
	t.Run("cancelled", func(t *testing.T) { t.Parallel(); k.testCancelled(t) })
	if _, ok := instance(t, k.Kind, k.Set, k.Env).(retriever.Resident); ok {
		t.Run("resident", func(t *testing.T) { t.Parallel(); k.testResident(t) })
	}
	t.Run("parts", func(t *testing.T) { t.Parallel(); k.testParts(t) })
}

func (k *Retriever) build(t *testing.T, c *Corpus) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := k.buildTo(t.Context(), t, c, &out); err != nil {
		t.Fatalf("build: %v", err)
	}
	return out.Bytes()
}

// buildTo builds an index, one that lives in a store under a key of the corpus.
func (k *Retriever) buildTo(ctx context.Context, t *testing.T, c *Corpus, w io.Writer) error {
	t.Helper()
	leaf := instance(t, k.Kind, k.Set, k.Env)
	if resident, ok := leaf.(retriever.Resident); ok {
		_, err := resident.BuildAs(ctx, keyOf(c), c, k.Analyzer, w)
		return err
	}
	return leaf.Build(ctx, c, k.Analyzer, w)
}

func (k *Retriever) open(t *testing.T, index []byte) retriever.Searcher {
	t.Helper()
	s, err := instance(t, k.Kind, k.Set, k.Env).Open(t.Context(), bytes.NewReader(index), int64(len(index)), k.Analyzer)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func search(t *testing.T, s retriever.Searcher, q axes.Query, depth int) []axes.Hit {
	t.Helper()
	hits, err := s.Search(t.Context(), q, depth, nil)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	ordered(t, hits)
	if len(hits) > depth {
		t.Errorf("%d hits at depth %d", len(hits), depth)
	}
	return hits
}

// random makes a random corpus and its searcher.
func (k *Retriever) random(t *testing.T, seed uint64, n int) (*Corpus, retriever.Searcher, *rand.Rand) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	c := RandomCorpus(r, n, k.Dim)
	return c, k.open(t, k.build(t, c)), r
}

func (k *Retriever) testOracle(t *testing.T) {
	if k.Oracle == nil {
		t.Skip("the kind approximates")
	}
	for i, n := range []int{1, 2, 3, 17, 64, 300, 2500} {
		c, s, r := k.random(t, uint64(i), n)
		for range 2 + 100/n {
			q := RandomQuery(r, k.Dim)
			depth := 1 + r.IntN(2*min(n, 60))
			want := k.Oracle(c, q)
			slices.SortFunc(want, byRank)
			if diff := k.compare(want, depth, search(t, s, q, depth)); diff != "" {
				t.Fatalf("%d chunks, depth %d, question %q (-oracle +search):\n%s", n, depth, q.Text, diff)
			}
		}
	}
}

// compare compares hits with the best of all there are.
func (k *Retriever) compare(all []axes.Hit, depth int, got []axes.Hit) string {
	want := all[:min(depth, len(all))]
	if k.Tolerance == 0 || len(want) != len(got) {
		return cmp.Diff(want, got, cmpEmpty)
	}
	scores := make(map[uint32]float64, len(all))
	for _, h := range all {
		scores[h.Ordinal] = h.Score
	}
	for i, h := range got {
		score, known := scores[h.Ordinal]
		if !known || math.Abs(score-h.Score) > k.Tolerance || math.Abs(want[i].Score-h.Score) > k.Tolerance {
			return cmp.Diff(want, got, cmpEmpty)
		}
	}
	return ""
}

// cmpEmpty takes nil and empty rankings for equal.
var cmpEmpty = cmp.Transformer("hits", func(hits []axes.Hit) []axes.Hit { return append([]axes.Hit{}, hits...) })

func (k *Retriever) testDepth(t *testing.T) {
	c, s, r := k.random(t, 100, 200)
	for range 20 {
		q := RandomQuery(r, k.Dim)
		all := search(t, s, q, 10*c.Len())
		for _, depth := range []int{0, 1, 10, len(all), c.Len(), c.Len() + 1} {
			got := search(t, s, q, depth)
			if diff := cmp.Diff(all[:min(depth, len(all))], got, cmpEmpty); diff != "" && k.Oracle != nil {
				t.Fatalf("depth %d (-prefix +search):\n%s", depth, diff)
			}
		}
		kept := axes.Hit{Ordinal: 7, Score: 100}
		more, err := s.Search(t.Context(), q, 5, []axes.Hit{kept})
		if err != nil || len(more) == 0 || more[0] != kept {
			t.Fatalf("dst is not kept: %v, %v", more, err)
		}
	}
}

func (k *Retriever) testEmpty(t *testing.T) {
	s := k.open(t, k.build(t, &Corpus{Dim: k.Dim}))
	if hits := search(t, s, RandomQuery(rand.New(rand.NewPCG(1, 1)), k.Dim), 10); len(hits) != 0 {
		t.Errorf("hits in an empty corpus: %v", hits)
	}
}

func (k *Retriever) testNoMatch(t *testing.T) {
	if !instance(t, k.Kind, k.Set, k.Env).Uses().Text {
		t.Skip("a vector is near to something always")
	}
	_, s, r := k.random(t, 101, 50)
	for _, words := range []string{"", " ", "unheard-of"} {
		q := RandomQuery(r, k.Dim)
		q.Text = words
		if hits := search(t, s, q, 10); len(hits) != 0 {
			t.Errorf("%q matches %v", words, hits)
		}
	}
}

func (k *Retriever) testBatch(t *testing.T) {
	_, s, r := k.random(t, 102, 500)
	batch, ok := s.(retriever.BatchSearcher)
	if !ok {
		t.Skip("no batches")
	}
	for _, n := range []int{0, 1, 2, 5, 6, 7, 13, 300} {
		qs, want := make([]axes.Query, n), make([][]axes.Hit, n)
		for i := range qs {
			qs[i] = RandomQuery(r, k.Dim)
			want[i] = search(t, s, qs[i], 20)
		}
		got, err := batch.SearchBatch(t.Context(), qs, 20)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpEmpty); diff != "" {
			t.Fatalf("%d questions (-single +batch):\n%s", n, diff)
		}
	}
}

func (k *Retriever) testConcurrent(t *testing.T) {
	_, s, r := k.random(t, 103, 800)
	qs, want := make([]axes.Query, 30), make([][]axes.Hit, 30)
	for i := range qs {
		qs[i] = RandomQuery(r, k.Dim)
	}
	var group errgroup.Group
	results := make([][][]axes.Hit, 8)
	for worker := range results {
		group.Go(func() error {
			for _, q := range qs {
				hits, err := s.Search(t.Context(), q, 15, nil)
				if err != nil {
					return err
				}
				results[worker] = append(results[worker], hits)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, q := range qs {
		want[i] = search(t, s, q, 15)
	}
	for _, got := range results {
		if diff := cmp.Diff(want, got, cmpEmpty); diff != "" {
			t.Fatalf("(-alone +together):\n%s", diff)
		}
	}
}

func (k *Retriever) testRebuild(t *testing.T) {
	if k.Kind.Volatile {
		t.Skip("the kind is volatile")
	}
	c := RandomCorpus(rand.New(rand.NewPCG(goldenSeed, 1)), 300, k.Dim)
	first := k.build(t, c)
	rows := k.content(t, c)
	k.drop(t, c)
	if !bytes.Equal(first, k.build(t, c)) || !bytes.Equal(rows, k.content(t, c)) {
		t.Error("the bytes differ")
	}
	s, r, rankings := k.open(t, first), rand.New(rand.NewPCG(goldenSeed, 2)), []byte(nil)
	for range 20 {
		hits := search(t, s, RandomQuery(r, k.Dim), 30)
		for i := range hits {
			if k.Tolerance > 0 {
				hits[i].Score = 0
			}
		}
		if k.Oracle != nil {
			rankings = appendHits(rankings, hits)
		}
	}
	golden(t, k.Kind.Meta, slices.Concat(first, rows, rankings), k.Golden)
}

// testBroken opens an index cut off at every place and one with any byte
// changed: that must end in an error or in a searcher that does not panic.
func (k *Retriever) testBroken(t *testing.T) {
	r := rand.New(rand.NewPCG(104, 1))
	index := k.build(t, RandomCorpus(r, 12, k.Dim))
	leaf := instance(t, k.Kind, k.Set, k.Env)
	for n := range index {
		for _, size := range []int{n, len(index)} {
			s, err := leaf.Open(t.Context(), bytes.NewReader(index[:n]), int64(size), k.Analyzer)
			if err == nil {
				t.Errorf("opened %d of %d bytes, said to be %d", n, len(index), size)
				s.Close()
			}
		}
	}
	for n := range index {
		broken := slices.Clone(index)
		broken[n] ^= byte(1 + r.IntN(255))
		s, err := leaf.Open(t.Context(), bytes.NewReader(broken), int64(len(broken)), k.Analyzer)
		if err != nil {
			continue
		}
		if hits, err := s.Search(t.Context(), RandomQuery(r, k.Dim), 5, nil); err == nil {
			ordered(t, hits)
		}
		s.Close()
	}
}

var errBroken = errors.New("the pipe is broken")

// brokenPipe fails after some bytes, both ways.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func (b *brokenPipe) Read([]byte) (int, error) { return 0, errBroken }

func (k *Retriever) testFailures(t *testing.T) {
	c := RandomCorpus(rand.New(rand.NewPCG(105, 1)), 50, k.Dim)
	leaf, index := instance(t, k.Kind, k.Set, k.Env), k.build(t, c)
	for _, left := range []int{0, 30, len(index) - 1} {
		if err := k.buildTo(t.Context(), t, c, &brokenPipe{left}); !errors.Is(err, errBroken) {
			t.Errorf("writer that fails after %d bytes: %v", left, err)
		}
	}
	half := io.MultiReader(bytes.NewReader(index[:len(index)/2]), new(brokenPipe))
	if _, err := leaf.Open(t.Context(), half, int64(len(index)), k.Analyzer); !errors.Is(err, errBroken) {
		t.Errorf("reader that fails: %v", err)
	}
}

func (k *Retriever) testCancelled(t *testing.T) {
	c, s, r := k.random(t, 106, 50)
	why := errors.New("the user said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := k.buildTo(ctx, t, c, io.Discard); !errors.Is(err, why) {
		t.Errorf("build: %v", err)
	}
	if _, err := s.Search(ctx, RandomQuery(r, k.Dim), 5, nil); !errors.Is(err, why) {
		t.Errorf("search: %v", err)
	}
}
