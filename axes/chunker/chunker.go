// Package chunker holds the kinds of chunker: how documents are cut.
//
// A chunker works in the text of a document as [axes.Document.Content] gives it,
// or in a view of it in which some headings or white space are left out, and
// finds byte offsets there. Lengths are counted in words, characters or a model's
// tokens: see [Counter].
package chunker

import (
	"errors"

	"raglab/axes"
)

// Chunker cuts a document into chunks. Implementations are deterministic and
// safe for concurrent use.
type Chunker interface {
	// Chunk returns the document's chunks in order, with Doc, N, Start, End and
	// Text set. A document with no text gives no chunk.
	Chunk(doc axes.Document) ([]axes.Chunk, error)
}

// Grouper is implemented by chunkers of which several chunks may share a passage.
type Grouper interface {
	Chunker
	// Groups reports whether they do under the chunker's parameters.
	Groups() bool
}

// Embedded is implemented by chunkers that cut by what sentences mean. They know no
// embedder: whoever has one embeds the texts that Sentences lists, of as many
// documents at once as it likes, and hands the vectors to Cut. Their method Chunk
// gives [ErrNoVectors] for every document.
type Embedded interface {
	Chunker
	// Sentences lists the texts whose embeddings decide where the document is cut.
	Sentences(doc axes.Document) ([]string, error)
	// Cut returns the document's chunks as Chunk does. Vectors run parallel to what
	// Sentences lists; they are of one length, which need not be 1.
	Cut(doc axes.Document, vectors [][]float32) ([]axes.Chunk, error)
}

// ErrNoVectors says that a document cannot be cut without embeddings.
var ErrNoVectors = errors.New("cutting by meaning takes the embeddings of the sentences")

// Kinds lists the kinds of chunker.
func Kinds() []axes.Kind[Chunker] {
	return []axes.Kind[Chunker]{Whole(), Fixed(), Sentence(), Paragraph(), MarkdownHeader(), Semantic(), Parent(), SentenceWindow()}
}
