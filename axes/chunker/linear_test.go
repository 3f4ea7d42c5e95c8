package chunker

import (
	"fmt"
	"strings"
	"testing"

	"raglab/axes"
)

// watchedRuler adds up how much text is measured.
type watchedRuler struct {
	ruler
	work *int
}

func (r watchedRuler) length(a, b int) int {
	*r.work += b - a
	return r.ruler.length(a, b)
}

func (r watchedRuler) gap(a, b int) int {
	*r.work += b - a
	return r.ruler.gap(a, b)
}

func (r watchedRuler) reach(a, n int) int {
	end := r.ruler.reach(a, n)
	*r.work += end - a
	return end
}

// watched makes a chunker whose measuring is added up.
func watched(t *testing.T, kind axes.Kind[Chunker], params any, work *int) Chunker {
	t.Helper()
	c, err := kind.New(params, axes.Env{Language: "uk"})
	if err != nil {
		t.Fatal(err)
	}
	watch(t, c, work)
	return c
}

func watch(t *testing.T, c Chunker, work *int) {
	see := func(r ruler) ruler { return watchedRuler{r, work} }
	switch c := c.(type) {
	case *fixed:
		c.measure.watch = see
	case *sentence:
		c.sentences.measure.watch = see
	case *sentenceWindow:
		c.sentences.measure.watch = see
	case *semantic:
		c.sentences.measure.watch = see
	case *paragraph:
		c.measure.watch = see
	case *markdownHeader:
		c.measure.watch = see
	case *parent:
		c.measure.watch = see
		watch(t, c.passages, work)
	default:
		t.Fatalf("nobody watches %T", c)
	}
}

// TestKinds_workGrowsWithTheText checks that four times the text takes about four
// times the measuring, for texts that are hard to cut.
func TestKinds_workGrowsWithTheText(t *testing.T) {
	t.Parallel()
	shapes := map[string]string{
		"sentences":       "Перше речення тут. Друге? ",
		"no stops":        "слово за словом ",
		"unbroken":        "довжелезнеслово",
		"paragraphs":      "Короткий абзац.\n\n",
		"empty headings":  "## Заголовок\n\n",
		"nested headings": "# А\n\n## Б\n\n### В\n\nТекст.\n\n",
		"items":           "- пункт без крапки\n",
		"rows":            "| а | б |\n",
		"lines":           "рядок без крапки\n",
		"blank lines":     "\n \n\n",
		"stops":           ". . . ",
		"combining":       "e\u0301",
	}
	for _, kind := range Kinds() {
		if kind.Name == "whole" {
			continue // it measures nothing
		}
		for _, unit := range []string{unitWords, unitCharacters} {
			t.Run(kind.Name+" "+unit, func(t *testing.T) {
				t.Parallel()
				for name, shape := range shapes {
					if small, large := measuring(t, kind, unit, shape, 500), measuring(t, kind, unit, shape, 2000); large > 5*small+1000 {
						t.Errorf("%s: %d bytes are measured, of four times the text %d", name, small, large)
					}
				}
			})
		}
	}
}

// measuring is how much is measured while a document is cut.
func measuring(t *testing.T, kind axes.Kind[Chunker], unit, shape string, times int) int {
	t.Helper()
	params := kind.Params()
	small(params, unit)
	work := 0
	c := watched(t, kind, params, &work)
	doc := axes.Document{ID: "d", Title: "Назва", Format: "markdown", Text: strings.Repeat(shape, times)}
	var err error
	if e, ok := c.(Embedded); ok {
		var texts []string
		if texts, err = e.Sentences(doc); err == nil {
			_, err = e.Cut(doc, turning(len(texts)))
		}
	} else {
		_, err = c.Chunk(doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return work
}

// turning are vectors of which some neighbours are further apart than others.
func turning(n int) [][]float32 {
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = []float32{float32(i % 7), 1}
	}
	return vectors
}

// small sets short lengths in the unit.
func small(params any, unit string) {
	switch p := params.(type) {
	case *FixedParams:
		p.Size, p.Overlap, p.Unit = 20, 5, unit
	case *SentenceParams:
		p.MaxTokens, p.Unit = 20, unit
	case *SentenceWindowParams:
		p.MaxTokens, p.Unit = 20, unit
	case *SemanticParams:
		p.MaxSize, p.MinSize, p.Unit = 20, 10, unit
	case *ParagraphParams:
		p.MaxTokens, p.MinTokens, p.Unit = 20, 10, unit
	case *MarkdownHeaderParams:
		p.MaxTokens, p.MinTokens, p.Unit = 20, 10, unit
	case *ParentParams:
		p.Passage, p.MaxTokens, p.MinTokens, p.ChildSize, p.Unit = passageSection, 30, 10, 8, unit
	default:
		panic(fmt.Sprintf("no short lengths for %T", params))
	}
}
