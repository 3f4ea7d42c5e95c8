package inverted_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes/retriever/inverted"
)

// fields calls emit for the words of s.
func fields(s string) func(emit func([]byte)) {
	return func(emit func([]byte)) {
		for word := range strings.FieldsSeq(s) {
			emit([]byte(word))
		}
	}
}

func index(tb rapid.TB, docs []string) []byte {
	tb.Helper()
	b := inverted.NewBuilder()
	for _, d := range docs {
		if err := b.Add(fields(d)); err != nil {
			tb.Fatal(err)
		}
	}
	var out bytes.Buffer
	n, err := b.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		tb.Fatalf("wrote %d of %d bytes: %v", n, out.Len(), err)
	}
	return out.Bytes()
}

func open(tb rapid.TB, file []byte) *inverted.Index {
	tb.Helper()
	x, err := inverted.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// TestIndex_keepsEveryCount asks for single terms with k1 so large that a score
// tells how often the document has the term.
func TestIndex_keepsEveryCount(t *testing.T) {
	t.Parallel()
	const k1 = 1 << 40
	words := rapid.SampledFrom([]string{"a", "ab", "abc", "b", "ї", "їжак", strings.Repeat("long", 9), strings.Repeat("long", 11), strings.Repeat("long", 50)})
	rapid.Check(t, func(t *rapid.T) {
		docs := make([]string, rapid.IntRange(0, 70).Draw(t, "docs"))
		counts := make([]map[string]int, len(docs))
		for i := range docs {
			counts[i] = map[string]int{}
			for range rapid.IntRange(0, 3).Draw(t, "words") {
				word := words.Draw(t, "word")
				times := rapid.SampledFrom([]int{1, 2, 3, 254, 255, 256, 700}).Draw(t, "times")
				docs[i] += strings.Repeat(word+" ", times)
				counts[i][word] += times
			}
		}
		s := inverted.NewSearcher(open(t, index(t, docs)), inverted.BM25{K1: k1})
		word := words.Draw(t, "asked")
		got, want := map[int]int{}, map[int]int{}
		hits, err := s.Search(t.Context(), fields(word), len(docs)+1, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for _, h := range hits {
			most = max(most, h.Score)
		}
		for i, c := range counts {
			if c[word] > 0 {
				want[i] = c[word]
			}
		}
		for _, h := range hits { // scores are as the counts, but for tf / k1
			share := h.Score / most
			top := want[int(hits[0].Ordinal)]
			got[int(h.Ordinal)] = int(share*float64(top) + 0.5)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-counted +indexed):\n%s", word, diff)
		}
	})
}

// TestSearch_manyWindows compares deep and shallow rankings over enough
// documents for frequent terms to be ruled out: the shallow one must be the
// start of the one that holds everything.
func TestSearch_manyWindows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	docs := make([]string, 8_000)
	for i := range docs {
		var b strings.Builder
		for range 5 + r.IntN(20) {
			u := r.Float64()
			fmt.Fprintf(&b, "w%d ", int(3000*u*u*u*u))
		}
		docs[i] = b.String()
	}
	x := open(t, index(t, docs))
	for _, p := range []inverted.BM25{{K1: 1.2, B: 0.75}, {K1: 1.5, B: 0.75, Okapi: true, Epsilon: 0.25}, {K1: 2, B: 0}} {
		s := inverted.NewSearcher(x, p)
		for i := range 50 {
			question := docs[r.IntN(len(docs))]
			words := strings.Fields(question)
			question = strings.Join(words[:min(len(words), 1+i%7)], " ")
			all, err := s.Search(t.Context(), fields(question), len(docs), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, depth := range []int{1, 10, 100, 1000} {
				hits, err := s.Search(t.Context(), fields(question), depth, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(all[:min(depth, len(all))], hits); diff != "" {
					t.Fatalf("%+v, %q at depth %d (-all +search):\n%s", p, question, depth, diff)
				}
			}
		}
	}
}

// TestBuilder_segments builds over enough postings for several segments.
func TestBuilder_segments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("five million postings")
	}
	const docs, words = 50_000, 100
	b := inverted.NewBuilder()
	for d := range docs {
		err := b.Add(func(emit func([]byte)) {
			for w := range words {
				emit(fmt.Appendf(nil, "%d", (d*words+w*w)%997))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err := b.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	x := open(t, out.Bytes())
	if x.Len() != docs || x.Terms() != 997 {
		t.Fatalf("%d documents, %d terms", x.Len(), x.Terms())
	}
	hits, err := inverted.NewSearcher(x, inverted.BM25{K1: 1.2, B: 0.75}).Search(t.Context(), fields("996"), docs, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint32]bool{}
	for _, h := range hits {
		found[h.Ordinal] = true
	}
	for d := range docs {
		has := false
		for w := range words {
			has = has || (d*words+w*w)%997 == 996
		}
		if has != found[uint32(d)] {
			t.Fatalf("document %d: found is %v", d, found[uint32(d)])
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, docs := range [][]string{nil, {""}, {"a"}, {"a b a", "", "b"}, {strings.Repeat("a ", 600) + "ab ac"}} {
		f.Add(index(f, docs))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := inverted.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		s := inverted.NewSearcher(x, inverted.BM25{K1: 1.5, B: 0.75, Okapi: true, Epsilon: 0.25})
		hits, err := s.Search(t.Context(), fields("a b ab"), 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range hits {
			if int(h.Ordinal) >= x.Len() || i > 0 && !hits[i-1].Before(h) {
				t.Errorf("hit %d of %v", i, hits)
			}
		}
	})
}
