package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// SentenceWindowParams are the parameters of the kind sentence_window.
type SentenceWindowParams struct {
	Window        int      `hcl:"window" default:"3" unit:"sentences" min:"0" doc:"Sentences on each side that are returned with the one that is found."`
	MaxTokens     int      `hcl:"max_tokens" default:"350" unit:"units" min:"1" doc:"A longer sentence is split between words, in the unit."`
	Unit          string   `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer     string   `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Rules         string   `hcl:"rules" default:"language" enum:"language|punctuation" doc:"Whether sentences are found by the language's rules or by punctuation alone."`
	Abbreviations []string `hcl:"abbreviations" default:"" doc:"Words after whose full stop a sentence goes on, for the rules punctuation."`
	Title         string   `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title is the first sentence, heads every chunk, or is dropped."`
	Headings      string   `hcl:"headings" default:"keep" enum:"keep|drop" doc:"Whether headings stay in the text."`
	Syntax        string   `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked."`
}

// SentenceWindow is the kind that indexes sentences and returns what is around them.
func SentenceWindow() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "sentence_window",
		Version: "1",
		Summary: "Each sentence is indexed by itself; what is returned for it is a window of the sentences around it.",
		Doc: "A chunk is one sentence, and is ranked as one; rerankers read, and spans are looked for in, the window of window " +
			"sentences before it and as many after it, fewer at the ends of the document. Windows overlap, and each counts for " +
			"itself. " + unitDoc + " " + sentenceDoc,
	}, newSentenceWindow)
	return axes.NeedsOf(kind, func(p SentenceWindowParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

type sentenceWindow struct {
	window    int
	sentences *splitSentences
}

func newSentenceWindow(p SentenceWindowParams, env axes.Env) (Chunker, error) {
	if p.Rules != rulesPunctuation && len(p.Abbreviations) > 0 {
		return nil, param.Errorf("abbreviations", "are of use only with rules = %q", rulesPunctuation)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	return &sentenceWindow{p.Window, &splitSentences{
		measure: m, prose: newProse(p.Rules, p.Abbreviations, p.MaxTokens, longSplit, env),
		layout: layout{title: p.Title, headings: p.Headings, collapse: collapseNone, syntax: markdown.Syntax(p.Syntax), most: p.MaxTokens},
	}}, nil
}

func (c *sentenceWindow) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	found, err := c.sentences.of(doc)
	if err != nil {
		return nil, err
	}
	e, units := found.emitter, found.units
	for i, u := range units {
		e.add(u.Span, c.sentences.layout.heading(doc))
		start, end := units[max(0, i-c.window)].Start, units[min(len(units)-1, i+c.window)].End
		surround(e.chunks[i:], axes.Passage{
			First: i, Start: e.view.start(start), End: e.view.end(end), Text: e.view.text[start:end],
		})
	}
	return c.sentences.layout.finish(e, c.sentences.measure)
}

// splitSentences finds the sentences of documents.
type splitSentences struct {
	measure measure
	layout  layout
	prose   prose
}

// foundSentences are those of one document, none of which is white space.
type foundSentences struct {
	units []unit
	// lead is how many of the first are the title, where that is cut along.
	lead    int
	emitter *emitter
}

func (c *splitSentences) of(doc axes.Document) (foundSentences, error) {
	v, body := c.layout.open(doc)
	r, err := c.measure.ruler(v.text, c.layout.collapse != collapseNone)
	if err != nil {
		return foundSentences{}, err
	}
	title := c.prose.fit(v.text, r, measured(r, v.text, Span{End: body}))
	syntax := syntaxOf(doc)
	if c.layout.syntax == markdown.MediaWiki {
		syntax = markdown.MediaWiki
	}
	units := append(title, c.prose.sentences(v.text, r, Span{Start: body, End: len(v.text)}, syntax)...)
	return foundSentences{units, len(title), &emitter{doc: doc, view: v, ruler: r}}, nil
}
