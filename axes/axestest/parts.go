package axestest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/axes"
	"raglab/axes/retriever"
)

// testParts tests what is asked of an index that is built part by part.
func (k *Retriever) testParts(t *testing.T) {
	t.Run("rank as one", func(t *testing.T) { t.Parallel(); k.testTogether(t) })
	if _, ok := instance(t, k.Kind, k.Set, k.Env).(retriever.Parted); ok {
		t.Run("must have places in the corpus", func(t *testing.T) { t.Parallel(); k.testWrongParts(t) })
	}
	if _, ok := instance(t, k.Kind, k.Set, k.Env).(retriever.Resident); ok {
		t.Run("one that is gone is noticed", func(t *testing.T) { t.Parallel(); k.testPartGone(t) })
	}
}

// cut is a part of a corpus and the places of its chunks.
type cut struct {
	*Corpus
	ordinals []uint32
}

// cutAt cuts a corpus into parts by documents of up to four chunks, some of which may
// have none: nobody knows the dimensions of their vectors.
func cutAt(r *rand.Rand, c *Corpus, n int) []cut {
	parts := make([]cut, n)
	for i := range parts {
		parts[i] = cut{&Corpus{}, []uint32{}}
	}
	for from := 0; from < c.Len(); {
		p := &parts[r.IntN(n)]
		for to := min(from+1+r.IntN(4), c.Len()); from < to; from++ {
			p.Dim, p.Chunks = c.Dim, append(p.Chunks, c.Chunks[from])
			p.Rows = append(p.Rows, c.Rows[from*c.Dim:(from+1)*c.Dim]...)
			p.ordinals = append(p.ordinals, uint32(from))
		}
	}
	return parts
}

// openParts builds an index over each part and opens them together.
func (k *Retriever) openParts(t *testing.T, parts []cut) retriever.Searcher {
	t.Helper()
	s, err := k.join(t, k.parts(t, parts))
	if err != nil {
		t.Fatalf("open parts: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (k *Retriever) parts(t *testing.T, parts []cut) []retriever.Part {
	t.Helper()
	var open []retriever.Part
	for _, p := range parts {
		open = append(open, retriever.Part{Index: k.build(t, p.Corpus), Ordinals: p.ordinals})
	}
	return open
}

// join opens the parts of an index as one.
func (k *Retriever) join(t *testing.T, parts []retriever.Part) (retriever.Searcher, error) {
	t.Helper()
	return retriever.OpenParts(t.Context(), instance(t, k.Kind, k.Set, k.Env), parts, k.Analyzer)
}

// testTogether compares with one index over the corpus, to the last bit of the
// scores, where the kind does not approximate.
func (k *Retriever) testTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(110, 1))
	for _, n := range []int{0, 1, 5, 60, 700} {
		for _, count := range []int{1, 2, 3, 9} {
			c := RandomCorpus(r, n, k.Dim)
			whole, parts := k.open(t, k.build(t, c)), k.openParts(t, cutAt(r, c, count))
			for range 8 {
				q, depth := RandomQuery(r, k.Dim), 1+r.IntN(40)
				want, got := search(t, whole, q, depth), search(t, parts, q, depth)
				if k.Oracle == nil {
					k.checkHits(t, c, got)
				} else if diff := cmp.Diff(want, got, cmpEmpty); diff != "" {
					t.Fatalf("%d chunks in %d parts, depth %d, question %q (-whole +parts):\n%s", n, count, depth, q.Text, diff)
				}
				kept := axes.Hit{Ordinal: 7, Score: 100}
				more, err := parts.Search(t.Context(), q, depth, []axes.Hit{kept})
				if err != nil || !slices.Equal(more, append([]axes.Hit{kept}, got...)) {
					t.Fatalf("dst is not kept: %v, %v", more, err)
				}
			}
			k.testTogetherInBatch(t, r, parts)
		}
	}
}

func (k *Retriever) testTogetherInBatch(t *testing.T, r *rand.Rand, s retriever.Searcher) {
	t.Helper()
	batch, ok := s.(retriever.BatchSearcher)
	if !ok {
		return
	}
	qs, want := make([]axes.Query, 7), make([][]axes.Hit, 7)
	for i := range qs {
		qs[i] = RandomQuery(r, k.Dim)
		want[i] = search(t, s, qs[i], 20)
	}
	got, err := batch.SearchBatch(t.Context(), qs, 20)
	if diff := cmp.Diff(want, got, cmpEmpty); err != nil || diff != "" {
		t.Fatalf("%v (-single +batch):\n%s", err, diff)
	}
}

// checkHits looks for places that there are not, and for some twice.
func (k *Retriever) checkHits(t *testing.T, c *Corpus, hits []axes.Hit) {
	t.Helper()
	seen := map[uint32]bool{}
	for _, h := range hits {
		if int(h.Ordinal) >= c.Len() || seen[h.Ordinal] {
			t.Fatalf("hit %v of %d chunks: %v", h, c.Len(), hits)
		}
		seen[h.Ordinal] = true
	}
}

func (k *Retriever) testWrongParts(t *testing.T) {
	r := rand.New(rand.NewPCG(111, 1))
	c := RandomCorpus(r, 40, k.Dim)
	for name, change := range map[string]func(parts []retriever.Part) []retriever.Part{
		"none with places": func(p []retriever.Part) []retriever.Part { p[0].Ordinals, p[1].Ordinals = nil, nil; return p },
		"a place too few":  func(p []retriever.Part) []retriever.Part { p[1].Ordinals = p[1].Ordinals[1:]; return p },
		"a place too many": func(p []retriever.Part) []retriever.Part { p[1].Ordinals = append(p[1].Ordinals, 99); return p },
	} {
		parts := cutAt(r, c, 2)
		for len(parts[1].ordinals) == 0 {
			parts = cutAt(r, c, 2)
		}
		s, err := k.join(t, change(k.parts(t, parts)))
		if err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
		}
	}
}

// isGone reports whether an error says that a part is gone.
func isGone(err error, part int) bool {
	of, ok := errors.AsType[*retriever.PartError](err)
	return ok && of.Part == part && errors.Is(err, retriever.ErrGone)
}

// testPartGone empties and drops one of three tables: the others have enough to find.
func (k *Retriever) testPartGone(t *testing.T) {
	r := rand.New(rand.NewPCG(112, 1))
	c := RandomCorpus(r, 90, k.Dim)
	parts := cutAt(r, c, 3)
	s := k.openParts(t, parts)
	q := RandomQuery(r, k.Dim)
	q.Text = parts[0].Chunks[0] + " " + parts[2].Chunks[0] + " w0 w1 w2"
	if hits := search(t, s, q, 5); len(hits) == 0 {
		t.Fatalf("%q finds nothing", q.Text)
	}
	name, err := k.database(t).Table(keyOf(parts[1].Corpus))
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"truncate ", "drop table "} {
		open := k.parts(t, parts)
		if _, err := k.database(t).Pool().Exec(t.Context(), how+name.Sanitize()); err != nil {
			t.Fatal(err)
		}
		if hits, err := s.Search(t.Context(), q, 5, nil); !isGone(err, 1) {
			t.Errorf("search after %s: %v, %v", how, hits, err)
		}
		if _, err := k.join(t, open); !isGone(err, 1) {
			t.Errorf("open after %s: %v", how, err)
		}
	}
	want := search(t, k.openParts(t, parts), q, 5)
	if got := search(t, s, q, 5); k.Oracle != nil && !slices.Equal(got, want) {
		t.Errorf("what was built anew is found as %v by who had it open, as %v by others", got, want)
	}
}
