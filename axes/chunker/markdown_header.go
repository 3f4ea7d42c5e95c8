package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// MarkdownHeaderParams are the parameters of the kind markdown_header.
type MarkdownHeaderParams struct {
	MaxTokens     int      `hcl:"max_tokens" default:"350" unit:"units" min:"1" doc:"Longest body of a chunk, in the unit."`
	MinTokens     int      `hcl:"min_tokens" default:"0" unit:"units" min:"0" doc:"A shorter section takes in the next one below or beside it, with its heading, if both fit."`
	Unit          string   `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer     string   `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Heading       string   `hcl:"heading" default:"prepend" enum:"prepend|path|keep|drop" doc:"Whether a chunk carries the path of headings above it, by their order or by their levels alone, or headings stay in the text, or are dropped."`
	Syntax        string   `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked."`
	Split         string   `hcl:"split" default:"paragraph" enum:"paragraph|sentence" doc:"Where long sections are split first."`
	Rules         string   `hcl:"rules" default:"language" enum:"language|punctuation" doc:"Whether sentences are found by the language's rules or by punctuation alone."`
	Abbreviations []string `hcl:"abbreviations" default:"" doc:"Words after whose full stop a sentence goes on, for the rules punctuation."`
	Long          string   `hcl:"long" default:"split" enum:"split|keep" doc:"Whether a sentence longer than max_tokens is split between words."`
	MinLast       int      `hcl:"min_last" default:"1" unit:"units" min:"1" doc:"A last chunk of a section that is shorter is dropped."`
	Collapse      string   `hcl:"collapse" default:"none" enum:"none|blanks|stops" doc:"Whether runs of blanks and tabs become one blank, before headings are looked for; white space between sentences then counts as one character. With stops, within a section, that behind . ! ? becomes one blank too, for the rules punctuation and split = \"sentence\"."`
}

// What becomes of headings.
const (
	headingPrepend = "prepend"
	headingPath    = "path"
	headingKeep    = "keep"
	headingDrop    = "drop"
)

// MarkdownHeader is the kind that cuts into sections.
func MarkdownHeader() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "markdown_header",
		Version: "1",
		Summary: "The sections under the headings, long ones split, with the path of headings above them.",
		Doc: "Every document is read as Markdown, whatever its format, or as the plain text of MediaWiki. A section is what stands " +
			"under a heading up to the next one, of whatever level; headings in fenced code are none. With heading = \"prepend\" " +
			"the path from the document's title down, joined by \" > \", goes before the text that is indexed, and the chunk's " +
			"own text lacks the heading; a heading with nothing under it is a chunk of its own. With \"path\" it is none, the first " +
			"n headings of the path are those that stand above one of level n + 1, whatever their own levels are, and one that repeats " +
			"the title is kept. With \"drop\" the title is dropped " +
			"too. A section longer than max_tokens is split between paragraphs, those between sentences, and those between words; " +
			"lists, tables and code are split between items and lines first. " + unitDoc + " " + sentenceDoc,
		Examples: []axes.Example{{Title: "as turkish-rag-eval's hierarchical", Text: `fixed "chunker" {
  option "markdown_header" {
    max_tokens     = 700
    unit           = "characters"
    heading        = "path"
    heading_syntax = "mediawiki"
    split          = "sentence"
    rules          = "punctuation"
    abbreviations = [
      "dr", "doç", "prof", "op", "uzm", "yrd", "sn", "av", "bkz", "vb",
      "vs", "örn", "yy", "no", "sk", "mah", "cad", "tel", "bkm", "mg", "ml",
      "gr",
    ]
    long     = "keep"
    min_last = 51
    collapse = "stops"
  }
}`}},
	}, newMarkdownHeader)
	return axes.NeedsOf(kind, func(p MarkdownHeaderParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

type markdownHeader struct {
	MarkdownHeaderParams
	measure measure
	prose   prose
}

func newMarkdownHeader(p MarkdownHeaderParams, env axes.Env) (Chunker, error) {
	switch {
	case p.MinTokens > p.MaxTokens:
		return nil, param.Errorf("min_tokens", "%d is more than max_tokens, which is %d", p.MinTokens, p.MaxTokens)
	case p.MinTokens > 0 && p.Heading == headingDrop:
		return nil, param.Errorf("min_tokens", "puts sections together with their headings, which heading = %q drops", headingDrop)
	case p.Rules != rulesPunctuation && len(p.Abbreviations) > 0:
		return nil, param.Errorf("abbreviations", "are of use only with rules = %q", rulesPunctuation)
	case p.Collapse == collapseStops && (p.Rules != rulesPunctuation || p.Split != "sentence"):
		return nil, param.Errorf("collapse", `%q is of use only with rules = %q and split = "sentence"`, collapseStops, rulesPunctuation)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	prose := newProse(p.Rules, p.Abbreviations, p.MaxTokens, p.Long, env)
	return &markdownHeader{MarkdownHeaderParams: p, measure: m, prose: prose}, nil
}

func (c *markdownHeader) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	content := doc.Content()
	if c.Collapse == collapseStops {
		return c.bySection(doc, content)
	}
	v := newView(content, []Span{{End: len(content)}}, c.Collapse)
	body := 0
	if start := bodyStart(doc, content); len(content) > len(doc.Text) {
		body = v.place(start)
	}
	r, err := c.measure.ruler(v.text, c.Collapse != collapseNone)
	if err != nil {
		return nil, err
	}
	syntax := markdown.Syntax(c.Syntax)
	parts := sections(v.text, body, doc.Title, syntax, c.Heading)
	e := emitter{doc: doc, view: v, ruler: r}
	for _, g := range c.group(r, parts) {
		for _, s := range dropShort(c.cut(v.text, r, g.Span, syntax), r, c.MinLast) {
			e.add(s, g.heading(c.Heading))
		}
	}
	if len(parts) == 0 && c.Heading != headingPath {
		for _, s := range c.cut(v.text, r, Span{End: len(v.text)}, syntax) {
			e.add(s, "")
		}
	}
	return e.chunks, nil
}

// bySection finds the sections in the content as it is, and collapses white space
// in each.
func (c *markdownHeader) bySection(doc axes.Document, content string) ([]axes.Chunk, error) {
	body := 0
	if len(content) > len(doc.Text) {
		body = bodyStart(doc, content)
	}
	whole, err := c.measure.ruler(content, true)
	if err != nil {
		return nil, err
	}
	syntax := markdown.Syntax(c.Syntax)
	parts := sections(content, body, doc.Title, syntax, c.Heading)
	if len(parts) == 0 && c.Heading != headingPath {
		parts = []section{{Span: Span{End: len(content)}}}
	}
	e := emitter{doc: doc}
	for _, g := range c.group(whole, parts) {
		e.view = newView(content, []Span{g.Span}, c.Collapse)
		if e.ruler, err = c.measure.ruler(e.view.text, true); err != nil {
			return nil, err
		}
		cuts := c.cut(e.view.text, e.ruler, Span{End: len(e.view.text)}, syntax)
		for _, s := range dropShort(cuts, e.ruler, c.MinLast) {
			e.add(s, g.heading(c.Heading))
		}
	}
	return e.chunks, nil
}

// cut splits a section that is too long.
func (c *markdownHeader) cut(text string, r ruler, s Span, syntax markdown.Syntax) []Span {
	if c.Split == "sentence" {
		return pack(c.prose.sentences(text, r, s, syntax), r, c.MaxTokens)
	}
	if r.length(s.Start, s.End) <= c.MaxTokens {
		return []Span{s}
	}
	var units []unit
	for _, b := range blocks(text, r, s, syntax) {
		if b.n <= c.MaxTokens {
			units = append(units, b.unit)
			continue
		}
		units = append(units, c.prose.sentences(text, r, b.Span, syntax)...)
	}
	return pack(units, r, c.MaxTokens)
}

// group puts short sections together with those that follow, and what is still
// short with what goes before.
func (c *markdownHeader) group(r ruler, parts []section) []section {
	var groups []section
	for i := 0; i < len(parts); {
		g := parts[i]
		for i++; i < len(parts) && r.length(g.Start, g.End) < c.MinTokens; i++ {
			both, ok := g.with(parts[i], c.Heading)
			if !ok || r.length(both.Start, both.End) > c.MaxTokens {
				break
			}
			g = both
		}
		groups = append(groups, g)
	}
	merged := groups[:0]
	for _, g := range groups {
		if last := len(merged) - 1; last >= 0 && r.length(g.Start, g.End) < c.MinTokens {
			if both, ok := merged[last].with(g, c.Heading); ok && r.length(both.Start, both.End) <= c.MaxTokens {
				merged[last] = both
				continue
			}
		}
		merged = append(merged, g)
	}
	return merged
}
