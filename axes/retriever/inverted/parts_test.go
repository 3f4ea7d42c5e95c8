package inverted_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/axes/retriever/inverted"
)

func mapped(tb rapid.TB, file []byte) *inverted.Mapped {
	tb.Helper()
	x, err := inverted.Map(file)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// drawDocs draws documents of few words, so that many score the same, or of words
// from many, some of them long and some often in one document.
func drawDocs(t *rapid.T) []string {
	words := strings.Fields("a b c d e ab abc abd їжак " + strings.Repeat("long", 20))
	if rapid.Bool().Draw(t, "many words") {
		for i := range 300 {
			words = append(words, strings.Repeat(string(rune('a'+i%26)), 1+i/26)+"x")
		}
	}
	word := rapid.SampledFrom(words)
	docs := make([]string, rapid.IntRange(0, 120).Draw(t, "docs"))
	for i := range docs {
		for range rapid.IntRange(0, 6).Draw(t, "words") {
			docs[i] += strings.Repeat(word.Draw(t, "word")+" ", rapid.SampledFrom([]int{1, 1, 1, 2, 3, 300}).Draw(t, "times"))
		}
	}
	return docs
}

// partition deals documents out to parts at random.
func partition(t *rapid.T, docs []string) []inverted.Part {
	n := rapid.IntRange(1, 7).Draw(t, "parts")
	texts, parts := make([][]string, n), make([]inverted.Part, n)
	for i, d := range docs {
		p := rapid.IntRange(0, n-1).Draw(t, "part")
		texts[p] = append(texts[p], d)
		parts[p].Ordinals = append(parts[p].Ordinals, uint32(i))
	}
	for i := range parts {
		parts[i].Index = mapped(t, index(t, texts[i]))
	}
	return parts
}

// TestParts_rankAsOnePiece: whatever documents, parts, variant and parameters,
// rankings and scores of an index in parts are the very ones of it in one piece.
func TestParts_rankAsOnePiece(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := drawDocs(t)
		p := inverted.BM25{
			K1: rapid.SampledFrom([]float64{0, 0.9, 1.2, 1.5}).Draw(t, "k1"), B: rapid.SampledFrom([]float64{0, 0.4, 0.75, 1}).Draw(t, "b"),
			Okapi: rapid.Bool().Draw(t, "okapi"), Epsilon: rapid.SampledFrom([]float64{0, 0.25, 3}).Draw(t, "epsilon"),
		}
		whole := inverted.NewSearcher(open(t, index(t, docs)), p)
		keep := rapid.SampledFrom([]int64{0, 600, 1 << 30}).Draw(t, "keep")
		parts, err := inverted.NewPartsSearcher(partition(t, docs), p, rapid.IntRange(0, 4).Draw(t, "threads"), keep)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			question := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(strings.Fields(strings.Join(docs, " ")), "unknown", "a")), 0, 9).Draw(t, "question"), " ")
			depth := rapid.IntRange(0, 40).Draw(t, "depth")
			want, err := whole.Search(t.Context(), fields(question), depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parts.Search(t.Context(), fields(question), depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q to depth %d (-one piece +parts):\n%s", question, depth, diff)
			}
		}
	})
}

func TestParts_placesMustBeAsManyAsDocuments(t *testing.T) {
	t.Parallel()
	parts := []inverted.Part{{Index: mapped(t, index(t, []string{"a", "b"})), Ordinals: []uint32{0}}}
	if _, err := inverted.NewPartsSearcher(parts, inverted.BM25{}, 1, 0); err == nil || !strings.Contains(err.Error(), "2 documents have 1 places") {
		t.Fatalf("got %v", err)
	}
}

// TestMap_findsWhatOpenFinds: at every place in the dictionary, around the landmarks
// too, and of words that are not there.
func TestMap_findsWhatOpenFinds(t *testing.T) {
	t.Parallel()
	var docs []string
	for i := range 200 {
		docs = append(docs, strings.Repeat("w", 1+i%7)+strings.Repeat(string(rune('a'+i%26)), 1+i/26))
	}
	file := index(t, docs)
	p := inverted.BM25{K1: 1.2, B: 0.75}
	whole := inverted.NewSearcher(open(t, file), p)
	ordinals := make([]uint32, len(docs))
	for i := range ordinals {
		ordinals[i] = uint32(i)
	}
	parts, err := inverted.NewPartsSearcher([]inverted.Part{{Index: mapped(t, file), Ordinals: ordinals}}, p, 1, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range append(docs, "", "a", "w", "wa!", "zzz", "wwwwwwwwww") {
		want, _ := whole.Search(t.Context(), fields(word), 9, nil)
		got, err := parts.Search(t.Context(), fields(word), 9, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-opened +mapped):\n%s", word, err, diff)
		}
	}
}

// TestParts_manyWindows asks over enough documents for frequent terms to be ruled
// out, and for parts to tell one another how much a document must score.
func TestParts_manyWindows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	docs, texts, parts := make([]string, 30_000), make([][]string, 5), make([]inverted.Part, 5)
	for i := range docs {
		var b strings.Builder
		for range 5 + r.IntN(20) {
			u := r.Float64()
			fmt.Fprintf(&b, "w%d ", int(3000*u*u*u*u))
		}
		docs[i] = b.String()
		p := r.IntN(1 + i*len(parts)/len(docs)) // parts of very different sizes
		texts[p], parts[p].Ordinals = append(texts[p], docs[i]), append(parts[p].Ordinals, uint32(i))
	}
	for i := range parts {
		parts[i].Index = mapped(t, index(t, texts[i]))
	}
	x := open(t, index(t, docs))
	for _, p := range []inverted.BM25{{K1: 1.2, B: 0.75}, {K1: 1.5, B: 0.75, Okapi: true, Epsilon: 0.25}, {K1: 2, B: 0}} {
		whole := inverted.NewSearcher(x, p)
		together, err := inverted.NewPartsSearcher(parts, p, 2, 1<<17)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			words := strings.Fields(docs[r.IntN(len(docs))])
			question := strings.Join(words[:min(len(words), 1+i%7)], " ")
			depth := 1 + i*3
			want, err := whole.Search(t.Context(), fields(question), depth, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := together.Search(t.Context(), fields(question), depth, nil)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%+v, %q: %v (-one piece +parts):\n%s", p, question, err, diff)
			}
		}
	}
}

func FuzzMap(f *testing.F) {
	for _, docs := range [][]string{nil, {""}, {"a"}, {"a b a", "", "b"}, {strings.Repeat("a ", 600) + "ab ac"}} {
		f.Add(index(f, docs))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := inverted.Map(file)
		if err != nil {
			return
		}
		ordinals := make([]uint32, x.Len())
		for i := range ordinals {
			ordinals[i] = uint32(2 * i)
		}
		s, err := inverted.NewPartsSearcher([]inverted.Part{{Index: x, Ordinals: ordinals}}, inverted.BM25{K1: 1.5, B: 0.75, Okapi: true, Epsilon: 0.25}, 1, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := s.Search(t.Context(), fields("a b ab"), 10, nil)
		if err != nil {
			return // damaged postings are found when they are asked for
		}
		for i, h := range hits {
			if int(h.Ordinal) >= 2*x.Len() || i > 0 && !hits[i-1].Before(h) {
				t.Errorf("hit %d of %v", i, hits)
			}
		}
	})
}
