package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// ParagraphParams are the parameters of the kind paragraph.
type ParagraphParams struct {
	MaxTokens int    `hcl:"max_tokens" default:"350" unit:"units" min:"1" doc:"Longest chunk, in the unit."`
	MinTokens int    `hcl:"min_tokens" default:"100" unit:"units" min:"0" doc:"A shorter chunk takes in the next paragraph if both fit; max_tokens packs them as full as they go, 0 leaves each by itself."`
	Unit      string `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer string `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Title     string `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title is cut along with the text, heads every chunk, or is dropped."`
}

// Paragraph is the kind that cuts between paragraphs.
func Paragraph() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "paragraph",
		Version: "1",
		Summary: "Paragraphs, the short ones put together and the long ones split between sentences.",
		Doc: "Paragraphs are what blank lines separate; in Markdown and HTML also headings, lists, tables and code in fences " +
			"are, and a heading goes with what follows it. A paragraph longer than max_tokens is split between sentences, and a " +
			"sentence between words; a list, a table or code is split between items or lines first. " + unitDoc,
	}, newParagraph)
	return axes.NeedsOf(kind, func(p ParagraphParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

type paragraph struct {
	ParagraphParams
	measure measure
	layout  layout
	prose   prose
}

func newParagraph(p ParagraphParams, env axes.Env) (Chunker, error) {
	if p.MinTokens > p.MaxTokens {
		return nil, param.Errorf("min_tokens", "%d is more than max_tokens, which is %d", p.MinTokens, p.MaxTokens)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	return &paragraph{
		ParagraphParams: p, measure: m, prose: newProse(rulesLanguage, nil, p.MaxTokens, longSplit, env),
		layout: layout{title: p.Title, headings: headingsKeep, collapse: collapseNone, most: p.MaxTokens},
	}, nil
}

func (c *paragraph) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	v, body := c.layout.open(doc)
	r, err := c.measure.ruler(v.text, false)
	if err != nil {
		return nil, err
	}
	paragraphs := titled(v.text, r, body)
	paragraphs = append(paragraphs, blocks(v.text, r, Span{Start: body, End: len(v.text)}, syntaxOf(doc))...)
	e := emitter{doc: doc, view: v, ruler: r}
	for _, s := range c.group(v.text, r, paragraphs, syntaxOf(doc)) {
		e.add(s, c.layout.heading(doc))
	}
	return c.layout.finish(&e, c.measure)
}

// block is a paragraph; leads tells that it is a title or heading, which does
// not stand by itself.
type block struct {
	unit
	leads bool
}

// titled is the title's line as a block, if it is to be cut.
func titled(text string, r ruler, body int) []block {
	for _, u := range measured(r, text, Span{End: body}) {
		return []block{{u, true}}
	}
	return nil
}

// blocks are the paragraphs of a part.
func blocks(text string, r ruler, s Span, syntax markdown.Syntax) []block {
	var out []block
	for _, b := range markdown.Blocks(text[s.Start:s.End], syntax) {
		for _, u := range measured(r, text, Span{Start: s.Start + b.Start, End: s.Start + b.End}) {
			out = append(out, block{u, b.Kind == markdown.Heading})
		}
	}
	return out
}

// group puts short paragraphs together and splits long ones.
func (c *paragraph) group(text string, r ruler, paragraphs []block, syntax markdown.Syntax) []Span {
	var spans []Span
	for i := 0; i < len(paragraphs); {
		s, n, leads := paragraphs[i].Span, paragraphs[i].n, paragraphs[i].leads
		for i++; i < len(paragraphs) && (n < c.MinTokens || leads); i++ {
			next := paragraphs[i]
			more := n + r.gap(s.End, next.Start) + next.n
			if more > c.MaxTokens && !leads {
				break
			}
			s.End, n, leads = next.End, more, next.leads && more <= c.MaxTokens
		}
		if n > c.MaxTokens {
			spans = append(spans, pack(c.prose.sentences(text, r, s, syntax), r, c.MaxTokens)...)
			continue
		}
		spans = append(spans, s)
	}
	return c.mergeLast(r, spans)
}

// mergeLast puts a short last chunk together with the one before it, if both fit.
func (c *paragraph) mergeLast(r ruler, spans []Span) []Span {
	last := len(spans) - 1
	if last < 1 || r.length(spans[last].Start, spans[last].End) >= c.MinTokens ||
		r.length(spans[last-1].Start, spans[last].End) > c.MaxTokens {
		return spans
	}
	spans[last-1].End = spans[last].End
	return spans[:last]
}
