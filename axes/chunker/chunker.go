// Package chunker holds the kinds of chunker: how documents are cut.
//
// A chunker works in the text of a document as [axes.Document.Content] gives it,
// or in a view of it in which some headings or white space are left out, and
// finds byte offsets there. Lengths are counted in words, characters or a model's
// tokens: see [Counter].
package chunker

import (
	"raglab/axes"
)

// Chunker cuts a document into chunks. Implementations are deterministic and
// safe for concurrent use.
type Chunker interface {
	// Chunk returns the document's chunks in order, with Doc, N, Start, End and
	// Text set. A document with no text gives no chunk.
	Chunk(doc axes.Document) ([]axes.Chunk, error)
}

// Kinds lists the kinds of chunker.
func Kinds() []axes.Kind[Chunker] {
	return []axes.Kind[Chunker]{Whole(), Fixed(), Sentence(), Paragraph(), MarkdownHeader()}
}
