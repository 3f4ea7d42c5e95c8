package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// SentenceParams are the parameters of the kind sentence.
type SentenceParams struct {
	MaxTokens     int      `hcl:"max_tokens" default:"350" unit:"units" min:"1" doc:"Longest chunk, in the unit."`
	Window        int      `hcl:"window" default:"0" unit:"sentences" min:"0" doc:"Sentences in a chunk; 0 packs as many as max_tokens allows."`
	Stride        int      `hcl:"stride" default:"0" unit:"sentences" min:"0" doc:"Sentences from one window to the next; 0 is the window."`
	Unit          string   `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer     string   `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Rules         string   `hcl:"rules" default:"language" enum:"language|punctuation" doc:"Whether sentences are found by the language's rules or by punctuation alone."`
	Abbreviations []string `hcl:"abbreviations" default:"" doc:"Words after whose full stop a sentence goes on, for the rules punctuation."`
	Long          string   `hcl:"long" default:"split" enum:"split|keep" doc:"Whether a sentence longer than max_tokens is split between words."`
	MinLast       int      `hcl:"min_last" default:"1" unit:"units" min:"1" doc:"A last chunk of a document that is shorter is dropped."`
	Collapse      string   `hcl:"collapse" default:"none" enum:"none|blanks|stops" doc:"Whether runs of blanks and tabs become one blank; white space between sentences then counts as one character. With stops, that behind . ! ? becomes one blank too, for the rules punctuation."`
	Title         string   `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title is cut along with the text, heads every chunk, or is dropped."`
	Headings      string   `hcl:"headings" default:"keep" enum:"keep|drop" doc:"Whether headings stay in the text."`
	Syntax        string   `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked."`
}

// Sentence is the kind that cuts between sentences.
func Sentence() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "sentence",
		Version: "1",
		Summary: "Whole sentences packed up to a length, or windows of some sentences.",
		Doc: "Sentences are packed greedily in order. With window, chunks are windows of that many sentences, and max_tokens " +
			"bounds a single sentence. " + unitDoc + " " + sentenceDoc,
		Examples: []axes.Example{{Title: "as turkish-rag-eval's sentence", Text: `fixed "chunker" {
  option "sentence" {
    max_tokens = 700
    unit       = "characters"
    rules      = "punctuation"
    abbreviations = [
      "dr", "doç", "prof", "op", "uzm", "yrd", "sn", "av", "bkz", "vb",
      "vs", "örn", "yy", "no", "sk", "mah", "cad", "tel", "bkm", "mg", "ml",
      "gr",
    ]
    long           = "keep"
    min_last       = 51
    collapse       = "stops"
    title          = "heading"
    headings       = "drop"
    heading_syntax = "mediawiki"
  }
}`}},
	}, newSentence)
	return axes.NeedsOf(kind, func(p SentenceParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

// sentenceDoc is what the kinds that look for sentences have to say of it.
const sentenceDoc = "The rules language know abbreviations, initials, ordinals and dates of Ukrainian, Turkish, Italian and " +
	"English (general ones serve other languages), take a lower-case letter as a sign that the sentence goes on, and end one at " +
	"a blank line, a list item, a table's row and a line of code; the corpus says which language it is in. The rules " +
	"punctuation end one at every . ! or ? before white space, save after the abbreviations given and after a bare number."

type sentence struct {
	SentenceParams
	sentences *splitSentences
}

func newSentence(p SentenceParams, env axes.Env) (Chunker, error) {
	switch {
	case p.Stride > p.Window:
		return nil, param.Errorf("stride", "%d is more than window, which is %d: sentences would be left out", p.Stride, p.Window)
	case p.Rules != rulesPunctuation && len(p.Abbreviations) > 0:
		return nil, param.Errorf("abbreviations", "are of use only with rules = %q", rulesPunctuation)
	case p.Rules != rulesPunctuation && p.Collapse == collapseStops:
		return nil, param.Errorf("collapse", "%q is of use only with rules = %q", collapseStops, rulesPunctuation)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	return &sentence{p, &splitSentences{
		measure: m, prose: newProse(p.Rules, p.Abbreviations, p.MaxTokens, p.Long, env),
		layout: layout{title: p.Title, headings: p.Headings, collapse: p.Collapse, syntax: markdown.Syntax(p.Syntax), most: p.MaxTokens},
	}}, nil
}

func (c *sentence) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	found, err := c.sentences.of(doc)
	if err != nil {
		return nil, err
	}
	e, units := found.emitter, found.units
	spans := windows(units, c.Window, c.Stride)
	if c.Window == 0 {
		spans = pack(units, e.ruler, c.MaxTokens)
	}
	for _, s := range dropShort(spans, e.ruler, c.MinLast) {
		e.add(s, c.sentences.layout.heading(doc))
	}
	return c.sentences.layout.finish(e, c.sentences.measure)
}

// windows are runs of units that begin every stride, up to the one that holds
// the last.
func windows(units []unit, window, stride int) []Span {
	if stride == 0 {
		stride = window
	}
	var spans []Span
	for at := 0; window > 0 && at < len(units); at += stride {
		end := min(at+window, len(units))
		spans = append(spans, Span{Start: units[at].Start, End: units[end-1].End})
		if end == len(units) {
			break
		}
	}
	return spans
}
