package chunker

import "raglab/axes"

// WholeParams are the parameters of the kind whole.
type WholeParams struct {
	Empty string `hcl:"empty" default:"skip" enum:"skip|keep" doc:"Whether a document without text, if the corpus keeps such, gives an empty chunk."`
}

// Whole is the kind that does not cut.
func Whole() axes.Kind[Chunker] {
	return axes.Define(axes.Meta{
		Name:    "whole",
		Version: "1",
		Summary: "Each document as one chunk: its title, a new line and its text.",
		Doc: "An empty chunk is in no ranking but counts among the chunks of the corpus, from which a retriever may take its " +
			"statistics; some references do so.",
	}, func(p WholeParams, _ axes.Env) (Chunker, error) { return whole{keep: p.Empty == "keep"}, nil })
}

type whole struct{ keep bool }

func (w whole) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	content := doc.Content()
	e := emitter{doc: doc, view: newView(content, []Span{{End: len(content)}}, collapseNone)}
	e.add(Span{End: len(content)}, "")
	if len(e.chunks) == 0 && w.keep {
		return []axes.Chunk{{Doc: doc.ID}}, nil
	}
	return e.chunks, nil
}
