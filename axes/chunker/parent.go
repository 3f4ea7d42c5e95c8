package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// ParentParams are the parameters of the kind parent.
type ParentParams struct {
	Passage   string `hcl:"passage" default:"paragraph" enum:"section|paragraph|sentence" doc:"What passages are made of: the sections under headings, paragraphs or sentences."`
	MaxTokens int    `hcl:"max_tokens" default:"350" unit:"units" min:"1" doc:"Longest passage, in the unit."`
	MinTokens int    `hcl:"min_tokens" default:"100" unit:"units" min:"0" doc:"A shorter section or paragraph takes in the next one if both fit; sentences are packed as full as they go."`
	Child     string `hcl:"child" default:"sentence" enum:"sentence|fixed" doc:"What is indexed: whole sentences packed up to child_tokens, or windows of that length."`
	ChildSize int    `hcl:"child_tokens" default:"70" unit:"units" min:"1" doc:"Longest part of a passage that is indexed by itself, in the unit."`
	Overlap   int    `hcl:"child_overlap" default:"0" unit:"units" min:"0" doc:"How much of a window the next one in the passage repeats; less than child_tokens."`
	Unit      string `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer string `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Title     string `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title is cut along with the text, heads every chunk, or is dropped; sections carry it in their path."`
	Syntax    string `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked, for sections."`
}

// Parent is the kind that indexes parts of passages and returns the passages.
func Parent() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "parent",
		Version: "1",
		Summary: "Small chunks are indexed; what is returned for one is the passage that it is part of.",
		Doc: "Passages are cut as the kinds markdown_header, paragraph and sentence cut with max_tokens and min_tokens, and each " +
			"of them again into the chunks that are indexed. A passage stands in a ranking where the best of its chunks stands, " +
			"once, and is reranked and judged by its whole text. For a ranking of depth passages to be full, the index is asked " +
			"for as many chunks as the depth - 1 largest passages of the corpus have together, and one more. One that gives fewer " +
			"at a time, as hnsw without iterative_scan does, is asked for what it gives, and a ranking may then end early, which " +
			"is warned of; what an approximate index misses among so many, it misses here too, and ann_recall tells of passages. " + unitDoc,
	}, newParent)
	return axes.NeedsOf(kind, func(p ParentParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

// The kinds of passage that this file names more than once.
const (
	passageSection   = "section"
	passageParagraph = "paragraph"
	childFixed       = "fixed"
)

type parent struct {
	ParentParams
	passages Chunker
	measure  measure
	prose    prose
}

func newParent(p ParentParams, env axes.Env) (Chunker, error) {
	switch {
	case p.ChildSize > p.MaxTokens:
		return nil, param.Errorf("child_tokens", "%d is more than max_tokens, which is %d", p.ChildSize, p.MaxTokens)
	case p.Overlap >= p.ChildSize:
		return nil, param.Errorf("child_overlap", "%d is not less than child_tokens, which is %d", p.Overlap, p.ChildSize)
	case p.Overlap > 0 && p.Child != childFixed:
		return nil, param.Errorf("child_overlap", "is of use only with child = %q", childFixed)
	}
	passages, err := p.newPassages(env)
	if err != nil {
		return nil, err
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	return &parent{ParentParams: p, passages: passages, measure: m, prose: newProse(rulesLanguage, nil, p.ChildSize, longSplit, env)}, err
}

// newPassages is the chunker that cuts the passages; it leaves their text as it is.
func (p ParentParams) newPassages(env axes.Env) (Chunker, error) {
	switch p.Passage {
	case passageSection:
		return newMarkdownHeader(MarkdownHeaderParams{
			MaxTokens: p.MaxTokens, MinTokens: p.MinTokens, Unit: p.Unit, Tokenizer: p.Tokenizer, Heading: headingPrepend, Syntax: p.Syntax,
			Split: passageParagraph, Rules: rulesLanguage, Long: longSplit, MinLast: 1, Collapse: collapseNone,
		}, env)
	case passageParagraph:
		return newParagraph(ParagraphParams{
			MaxTokens: p.MaxTokens, MinTokens: p.MinTokens, Unit: p.Unit, Tokenizer: p.Tokenizer, Title: p.Title,
		}, env)
	}
	return newSentence(SentenceParams{
		MaxTokens: p.MaxTokens, Unit: p.Unit, Tokenizer: p.Tokenizer, Rules: rulesLanguage, Long: longSplit, MinLast: 1,
		Collapse: collapseNone, Title: p.Title, Headings: headingsKeep, Syntax: string(markdown.Markdown),
	}, env)
}

// Groups implements [Grouper].
func (c *parent) Groups() bool { return true }

func (c *parent) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	passages, err := c.passages.Chunk(doc)
	if err != nil {
		return nil, err
	}
	content := doc.Content()
	r, err := c.measure.ruler(content, false)
	if err != nil {
		return nil, err
	}
	e := emitter{doc: doc, view: newView(content, []Span{{End: len(content)}}, collapseNone), ruler: r}
	for _, p := range passages {
		first := len(e.chunks)
		for _, s := range c.children(doc, content, r, Span{Start: p.Start, End: p.End}) {
			e.add(s, p.Heading)
		}
		surround(e.chunks[first:], axes.Passage{First: first, Start: p.Start, End: p.End, Text: p.Text})
	}
	return e.chunks, nil
}

// surround puts the passage around the chunks that are parts of it.
func surround(chunks []axes.Chunk, p axes.Passage) {
	if len(chunks) == 1 && chunks[0].Start == p.Start && chunks[0].End == p.End {
		return
	}
	for i := range chunks {
		chunks[i].Around = &p
	}
}

// children are the parts of a passage.
func (c *parent) children(doc axes.Document, content string, r ruler, passage Span) []Span {
	if c.Child == childFixed {
		return laid(r, passage, c.ChildSize, c.Overlap, true)
	}
	syntax := syntaxOf(doc)
	if c.Passage == passageSection {
		syntax = markdown.Syntax(c.Syntax)
	}
	var units []unit
	if body := bodyStart(doc, content); passage.Start < body && body < passage.End {
		units = c.prose.fit(content, r, measured(r, content, Span{Start: passage.Start, End: body}))
		passage.Start = body
	}
	return pack(append(units, c.prose.sentences(content, r, passage, syntax)...), r, c.ChildSize)
}
