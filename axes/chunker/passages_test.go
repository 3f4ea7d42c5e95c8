package chunker_test

import (
	"reflect"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
)

// returned are the chunks of a document as "ranked|text>returned", with the heading
// before the text where there is one.
func returned(t *testing.T, c chunker.Chunker, doc axes.Document) []string {
	t.Helper()
	chunks, err := c.Chunk(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range chunks {
		text := strings.TrimPrefix(c.Indexed(), "\n")
		if c.Around != nil {
			text += ">" + c.Returned()
		}
		out = append(out, string(rune('0'+c.Ranked()))+"|"+text)
	}
	return out
}

func checkReturned(t *testing.T, c chunker.Chunker, doc axes.Document, want ...string) {
	t.Helper()
	if got := returned(t, c, doc); !reflect.DeepEqual(got, want) {
		t.Errorf("document %+v:\n got %q\nwant %q", doc, got, want)
	}
}

func TestParent(t *testing.T) {
	t.Parallel()
	parent := func(set func(*chunker.ParentParams)) chunker.Chunker {
		return newChunker(t, chunker.Parent(), axes.Env{Language: "uk"}, func(p *chunker.ParentParams) {
			p.MaxTokens, p.MinTokens, p.ChildSize = 12, 0, 4
			set(p)
		})
	}
	doc := axes.Document{Title: "T", Text: "A b. C d. E f.\n\nG."}
	checkReturned(t, parent(func(*chunker.ParentParams) {}), doc,
		"0|T\nA b.>T\nA b. C d. E f.", "0|C d.>T\nA b. C d. E f.", "0|E f.>T\nA b. C d. E f.", "3|G.")
	checkReturned(t, parent(func(p *chunker.ParentParams) { p.MinTokens = 12 }), doc,
		"0|T\nA b.>T\nA b. C d. E f.\n\nG.", "0|C d.>T\nA b. C d. E f.\n\nG.", "0|E f.>T\nA b. C d. E f.\n\nG.", "0|G.>T\nA b. C d. E f.\n\nG.")
	checkReturned(t, parent(func(p *chunker.ParentParams) { p.Title, p.ChildSize = "heading", 9 }), doc,
		"0|T\nA b. C d. E f.", "1|T\nG.")
	checkReturned(t, parent(func(p *chunker.ParentParams) {
		p.Title, p.Child, p.ChildSize, p.Overlap = "drop", "fixed", 5, 2
	}), doc, "0|A b. C d>A b. C d. E f.", "0|C d. E f>A b. C d. E f.", "0|E f.>A b. C d. E f.", "3|G.")
	checkReturned(t, parent(func(p *chunker.ParentParams) { p.Passage, p.MaxTokens = "sentence", 7 }), doc,
		"0|T\nA b.>T\nA b. C d.", "0|C d.>T\nA b. C d.", "2|E f.>E f.\n\nG.", "2|G.>E f.\n\nG.")
	sections := axes.Document{Title: "T", Format: "markdown", Text: "A b. C d.\n\n# H\n\nE f. G h. I."}
	checkReturned(t, parent(func(p *chunker.ParentParams) { p.Passage = "section" }), sections,
		"0|T\nA b.>A b. C d.", "0|T\nC d.>A b. C d.", "2|T > H\nE f.>E f. G h. I.", "2|T > H\nG h.>E f. G h. I.", "2|T > H\nI.>E f. G h. I.")
	checkReturned(t, parent(func(p *chunker.ParentParams) { p.Passage, p.Syntax = "section", "mediawiki" }),
		axes.Document{Title: "T", Text: "A b. C d.\n== H ==\nE f."}, "0|T\nA b.>A b. C d.", "0|T\nC d.>A b. C d.", "2|T > H\nE f.")
}

func TestParent_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*chunker.ParentParams){
		"child_tokens":  func(p *chunker.ParentParams) { p.ChildSize = p.MaxTokens + 1 },
		"child_overlap": func(p *chunker.ParentParams) { p.Child, p.Overlap = "fixed", p.ChildSize },
		"min_tokens":    func(p *chunker.ParentParams) { p.MinTokens = p.MaxTokens + 1 },
		"tokenizer":     func(p *chunker.ParentParams) { p.Unit = "tokens" },
	} {
		checkRefused(t, chunker.Parent(), name, set)
	}
	checkRefused(t, chunker.Parent(), "child_overlap", func(p *chunker.ParentParams) { p.Overlap = 1 })
}

func TestSentenceWindow(t *testing.T) {
	t.Parallel()
	window := func(set func(*chunker.SentenceWindowParams)) chunker.Chunker {
		return newChunker(t, chunker.SentenceWindow(), axes.Env{Language: "uk"}, func(p *chunker.SentenceWindowParams) { p.Window = 1; set(p) })
	}
	doc := axes.Document{Title: "T", Text: "Один. Два у м. Києві!\n\nТри?"}
	checkReturned(t, window(func(*chunker.SentenceWindowParams) {}), doc,
		"0|T>T\nОдин.", "1|Один.>T\nОдин. Два у м. Києві!", "2|Два у м. Києві!>Один. Два у м. Києві!\n\nТри?", "3|Три?>Два у м. Києві!\n\nТри?")
	checkReturned(t, window(func(p *chunker.SentenceWindowParams) { p.Window, p.Title = 0, "heading" }), doc, "0|T\nОдин.", "1|T\nДва у м. Києві!", "2|T\nТри?")
	checkReturned(t, window(func(p *chunker.SentenceWindowParams) { p.Title = "drop" }), axes.Document{Title: "T", Text: "Один."}, "0|Один.")
	checkReturned(t, window(func(p *chunker.SentenceWindowParams) {
		p.Title, p.Headings, p.Syntax, p.Rules, p.Abbreviations = "drop", "drop", "mediawiki", "punctuation", []string{"м"}
	}), axes.Document{Title: "T", Text: "Один.\n== H ==\nДва у м. Києві!"}, "0|Один.>Один.\n \nДва у м. Києві!", "1|Два у м. Києві!>Один.\n \nДва у м. Києві!")
	checkRefused(t, chunker.SentenceWindow(), "abbreviations", func(p *chunker.SentenceWindowParams) { p.Abbreviations = []string{"м"} })
}
