package chunker_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/chunker/chunkertest"
	"raglab/internal/param"
)

// checkRefused checks that parameters are refused for the sake of an attribute.
func checkRefused[P any](t *testing.T, kind axes.Kind[chunker.Chunker], attribute string, set func(*P)) {
	t.Helper()
	p := kind.Params().(*P)
	set(p)
	_, err := kind.New(p, axes.Env{})
	var refused *param.Error
	if !errors.As(err, &refused) || refused.Attribute != attribute {
		t.Errorf("%+v: error %v, want one about %s", p, err, attribute)
	}
}

// at are vectors in the plane whose neighbours are at the given distances.
func at(distances ...float64) [][]float32 {
	// cos(a) = 1 - d; the distance of neighbours is that of their angles alone, and
	// those given here are of 0, 60, 90 and 180 degrees.
	x, y := 1.0, 0.0
	vectors := [][]float32{{1, 0}}
	for _, d := range distances {
		c := 1 - d
		s := map[float64]float64{1: 0, 0.5: 0.8660254037844386, 0: 1, -1: 0}[c]
		x, y = x*c-y*s, x*s+y*c
		vectors = append(vectors, []float32{float32(x), float32(y)})
	}
	return vectors
}

func TestSemantic(t *testing.T) {
	t.Parallel()
	doc := axes.Document{Title: "T", Text: "A a. B b. C c. D d. E e."}
	far := at(0, 0.5, 0, 1)
	for _, tc := range []struct {
		name    string
		set     func(*chunker.SemanticParams)
		vectors [][]float32
		want    string
	}{
		{"absolute", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "absolute", 0.4 }, far, "T\nA a. B b.|C c. D d.|E e."},
		{"absolute, further", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "absolute", 0.9 }, far, "T\nA a. B b. C c. D d.|E e."},
		{"absolute, too far", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "absolute", 1.5 }, far, "T\nA a. B b. C c. D d. E e."},
		// Distances 0, 0, 0.5, 1: the 95th percentile is 0.5 + 0.85 × 0.5.
		{"percentile", func(*chunker.SemanticParams) {}, far, "T\nA a. B b. C c. D d.|E e."},
		{"percentile, lower", func(p *chunker.SemanticParams) { p.Threshold = 50 }, far, "T\nA a. B b.|C c. D d.|E e."},
		{"percentile, all", func(p *chunker.SemanticParams) { p.Threshold = 100 }, far, "T\nA a. B b. C c. D d. E e."},
		// Their mean is 0.375, their deviation about 0.415.
		{"deviation", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "deviation", 1 }, far, "T\nA a. B b. C c. D d.|E e."},
		{"deviation, lower", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "deviation", 0.2 }, far, "T\nA a. B b.|C c. D d.|E e."},
		{"all alike", func(*chunker.SemanticParams) {}, at(0, 0, 0, 0), "T\nA a. B b. C c. D d. E e."},
		{"opposite", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "absolute", 1.9 }, at(2, 0, 0, 0), "T\nA a.|B b. C c. D d. E e."},
		{"a vector of zeros", func(p *chunker.SemanticParams) { p.Cut, p.Threshold = "absolute", 0.9 }, append(at(0, 0, 0), []float32{0, 0}), "T\nA a. B b. C c. D d.|E e."},
		{"shortest", func(p *chunker.SemanticParams) { p.Cut, p.Threshold, p.MinSize = "absolute", 0.4, 4 }, far, "T\nA a. B b.|C c. D d. E e."},
		{"shortest, longer than the first", func(p *chunker.SemanticParams) { p.Cut, p.Threshold, p.MinSize = "absolute", 0.4, 8 }, far, "T\nA a. B b. C c. D d. E e."},
		{"longest", func(p *chunker.SemanticParams) { p.Cut, p.Threshold, p.MaxSize = "absolute", 2, 7 }, far, "T\nA a. B b.|C c. D d.|E e."},
		{"a last one that is short", func(p *chunker.SemanticParams) { p.Cut, p.Threshold, p.MinSize = "absolute", 0.9, 4 }, far, "T\nA a. B b. C c. D d. E e."},
		{"a last one that has no room", func(p *chunker.SemanticParams) {
			p.Cut, p.Threshold, p.MinSize, p.MaxSize = "absolute", 0.9, 4, 13
		}, far, "T\nA a. B b. C c. D d.|E e."},
		{"title dropped", func(p *chunker.SemanticParams) { p.Cut, p.Threshold, p.Title = "absolute", 0.4, "drop" }, far, "A a. B b.|C c. D d.|E e."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newChunker(t, chunker.Semantic(), axes.Env{}, tc.set).(chunker.Embedded)
			chunks, err := c.Cut(doc, tc.vectors)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, c := range chunks {
				texts = append(texts, c.Text)
			}
			if got := strings.Join(texts, "|"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSemantic_sentences(t *testing.T) {
	t.Parallel()
	doc := axes.Document{Title: "Назва", Text: "Один\r\nі півтора. Два.\n\nТри."}
	for buffer, want := range map[int][]string{
		0: {"Один і півтора.", "Два.", "Три."},
		1: {"Один і півтора. Два.", "Один і півтора. Два. Три.", "Два. Три."},
		9: {"Один і півтора. Два. Три.", "Один і півтора. Два. Три.", "Один і півтора. Два. Три."},
	} {
		c := newChunker(t, chunker.Semantic(), axes.Env{Language: "uk"}, func(p *chunker.SemanticParams) { p.Buffer = buffer }).(chunker.Embedded)
		if got, err := c.Sentences(doc); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("buffer %d: %q, %v, want %q", buffer, got, err, want)
		}
		if got, err := c.Sentences(axes.Document{Title: "Назва", Text: "Одне."}); err != nil || len(got) > 0 {
			t.Errorf("there is nothing to decide, and yet %q are to be embedded, %v", got, err)
		}
		if _, err := c.Cut(doc, at(0)); err == nil {
			t.Error("three sentences are cut by two vectors")
		}
		if _, err := c.Chunk(doc); !errors.Is(err, chunker.ErrNoVectors) {
			t.Errorf("without vectors: %v", err)
		}
	}
}

func TestSemantic_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	checkRefused(t, chunker.Semantic(), "threshold", func(p *chunker.SemanticParams) { p.Cut = "deviation" })
	checkRefused(t, chunker.Semantic(), "threshold", func(p *chunker.SemanticParams) { p.Cut = "absolute" })
	checkRefused(t, chunker.Semantic(), "threshold", func(p *chunker.SemanticParams) { p.Threshold = 101 })
	checkRefused(t, chunker.Semantic(), "min_size", func(p *chunker.SemanticParams) { p.MinSize = p.MaxSize + 1 })
	checkRefused(t, chunker.Semantic(), "tokenizer", func(p *chunker.SemanticParams) { p.Unit = "tokens" })
	if !chunker.Semantic().Needs(chunker.Semantic().Params()).Embedder {
		t.Error("the kind does not ask for the embedder")
	}
}

// Texts that share words stay together.
func TestSemantic_withWords(t *testing.T) {
	t.Parallel()
	c := chunkertest.WithVectors(newChunker(t, chunker.Semantic(), axes.Env{}, func(p *chunker.SemanticParams) {
		p.Cut, p.Threshold, p.Buffer = "absolute", 0.6, 0
	}))
	checkCut(t, c, axes.Document{Text: "the river is long. the river is wide. cats eat fish. cats eat mice."},
		"|the river is long. the river is wide.", "|cats eat fish. cats eat mice.")
}
