package chunker

import (
	"raglab/axes"
	"raglab/internal/markdown"
	"raglab/internal/param"
)

// FixedParams are the parameters of the kind fixed.
type FixedParams struct {
	Size      int    `hcl:"size" default:"350" unit:"units" min:"1" doc:"Length of a window, in the unit."`
	Overlap   int    `hcl:"overlap" default:"50" unit:"units" min:"0" doc:"How much of it the next window repeats; less than the size."`
	Unit      string `hcl:"unit" default:"words" enum:"words|characters|tokens" doc:"What lengths are counted in."`
	Tokenizer string `hcl:"tokenizer" default:"" doc:"Asset of the model whose tokens are counted, for the unit tokens."`
	Collapse  string `hcl:"collapse" default:"none" enum:"none|blanks|all" doc:"Which runs of white space become one blank before windows are laid: none, those of blanks and tabs, or all."`
	Title     string `hcl:"title" default:"content" enum:"content|heading|drop" doc:"Whether the title is cut along with the text, heads every chunk, or is dropped."`
	Headings  string `hcl:"headings" default:"keep" enum:"keep|drop" doc:"Whether headings stay in the text."`
	Syntax    string `hcl:"heading_syntax" default:"markdown" enum:"markdown|mediawiki" doc:"How headings are marked."`
	MinSize   int    `hcl:"min_size" default:"1" unit:"units" min:"1" doc:"A shorter window is dropped."`
	Tail      string `hcl:"tail" default:"drop" enum:"drop|keep" doc:"Whether a last window that holds only what the one before it held is dropped."`
}

// Fixed is the kind that cuts by length alone.
func Fixed() axes.Kind[Chunker] {
	kind := axes.Define(axes.Meta{
		Name:    "fixed",
		Version: "1",
		Summary: "Windows of one length that overlap, wherever they begin and end.",
		Doc: "A window begins every size - overlap units. " + unitDoc + " Windows of characters may begin and end within a word. " +
			"Where headings are dropped, a chunk's text lacks those that lie between its first and last byte in the document.",
		Examples: []axes.Example{{Title: "as turkish-rag-eval's fixed", Text: `fixed "chunker" {
  option "fixed" {
    size           = 700
    overlap        = 100
    unit           = "characters"
    collapse       = "all"
    title          = "heading"
    headings       = "drop"
    heading_syntax = "mediawiki"
    min_size       = 51
    tail           = "keep"
  }
}`}},
	}, newFixed)
	return axes.NeedsOf(kind, func(p FixedParams) axes.Needs { return tokenizerNeeds(p.Unit, p.Tokenizer) })
}

// unitDoc is what the kinds that count have to say of it.
const unitDoc = "Lengths are counted in words (a word is a run of letters, marks, digits and _, and every other " +
	"character but white space counts as one too), in characters (code points), or in tokens of the model that tokenizer " +
	"names, special tokens and prefixes left out. The heading that a chunk carries is not counted."

type fixed struct {
	FixedParams
	measure measure
	layout  layout
}

func newFixed(p FixedParams, env axes.Env) (Chunker, error) {
	if p.Overlap >= p.Size {
		return nil, param.Errorf("overlap", "%d is not less than size, which is %d", p.Overlap, p.Size)
	}
	m, err := newMeasure(p.Unit, p.Tokenizer, env)
	if err != nil {
		return nil, err
	}
	l := layout{title: p.Title, headings: p.Headings, collapse: p.Collapse, syntax: markdown.Syntax(p.Syntax), most: p.Size}
	return &fixed{FixedParams: p, measure: m, layout: l}, nil
}

func (f *fixed) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	v, _ := f.layout.open(doc)
	r, err := f.measure.ruler(v.text, f.Collapse == collapseAll)
	if err != nil {
		return nil, err
	}
	e := emitter{doc: doc, view: v, ruler: r}
	heading := f.layout.heading(doc)
	all, _ := trim(v.text, Span{End: len(v.text)})
	for _, s := range laid(r, all, f.Size, f.Overlap, f.Tail == "drop") {
		if s, some := trim(v.text, s); some && (f.MinSize == 1 || r.length(s.Start, s.End) >= f.MinSize) {
			e.add(s, heading)
		}
	}
	return f.layout.finish(&e, f.measure)
}

// laid are windows of a size over a part of a text, each of which repeats so much of
// the one before. With drop the first to reach the end is the last.
func laid(r ruler, all Span, size, overlap int, drop bool) []Span {
	var spans []Span
	for at := all.Start; at < all.End; at = r.reach(at, size-overlap) {
		end := min(r.reach(at, size), all.End)
		spans = append(spans, Span{Start: at, End: end})
		if end == all.End && drop {
			break
		}
	}
	return spans
}
