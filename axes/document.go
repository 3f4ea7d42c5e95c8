package axes

import "strings"

// Document is one text of a corpus. Its place in the corpus is given by the
// order in which its source yields it.
type Document struct {
	// ID is unique in the corpus and never empty.
	ID string `json:"_id"`
	// Title may be empty.
	Title string `json:"title,omitempty"`
	// Text is valid UTF-8, as the source gave it. Markdown keeps its markup.
	Text string `json:"text"`
	// Format is "markdown", "text" or "html" (already reduced to text with
	// Markdown headings); empty means text.
	Format string `json:"format,omitempty"`
	// Meta holds what else the source knows, such as a URL or front matter.
	Meta map[string]string `json:"meta,omitempty"`
}

// Content is the text that chunkers cut and to which byte offsets refer: the
// title, a newline and the text, or the text alone when there is no title. A
// Markdown text that opens with its own title as a first-level heading is not
// given it twice.
func (d Document) Content() string {
	if d.Title == "" || opensWithTitle(d) {
		return d.Text
	}
	return d.Title + "\n" + d.Text
}

// opensWithTitle reports whether the text is Markdown whose first line that is
// not blank is "# " and the title.
func opensWithTitle(d Document) bool {
	if d.Format != "markdown" {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(d.Text, "\n\r \t"), "\n")
	heading, ok := strings.CutPrefix(strings.TrimSpace(first), "# ")
	return ok && strings.TrimSpace(heading) == d.Title
}

// Chunk is a piece of a document: what is indexed, ranked and judged.
type Chunk struct {
	// Doc is the document's id and N the chunk's place in it, from 0.
	Doc string `json:"doc"`
	N   int    `json:"n"`
	// Start and End are byte offsets into the document's Content, End
	// exclusive, on rune boundaries.
	Start int `json:"start"`
	End   int `json:"end"`
	// Text is the body, in which an answer span is looked for. It may differ
	// from the slice of Content that the offsets name in white space, and lacks
	// the headings within it where the chunker drops those.
	Text string `json:"text"`
	// Heading is the path of headings above the chunk, joined by " > ", when
	// the chunker keeps headings; else empty.
	Heading string `json:"heading,omitempty"`
	// Tokens is the chunk's length in the chunker's own unit, where it counts one.
	Tokens int `json:"tokens,omitempty"`
	// Around is the passage that is returned for the chunk where that is more than
	// the chunk itself; nil where it is the chunk.
	Around *Passage `json:"around,omitempty"`
}

// Passage is a part of a document that is found by the chunks in it, but ranked,
// reranked and judged as a whole.
type Passage struct {
	// First is the place N of the chunk that stands for the passage in rankings:
	// chunks with the same First share one passage. They follow one another in the
	// document, from the one with that place on.
	First int `json:"first"`
	// Start and End are byte offsets as a chunk's; Text is the passage's body. All
	// chunks of a passage say the same of it.
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Ranked is the place N of the chunk that stands for this one in rankings: the
// first of its passage, or the chunk itself.
func (c Chunk) Ranked() int {
	if c.Around != nil {
		return c.Around.First
	}
	return c.N
}

// Returned is the body that is judged, and read by rerankers below the heading: that
// of the passage around the chunk, or the chunk's own.
func (c Chunk) Returned() string {
	if c.Around != nil {
		return c.Around.Text
	}
	return c.Text
}

// Read is the text that rerankers read: the heading path, a newline and the body
// that is returned, or that body alone.
func (c Chunk) Read() string {
	if c.Heading == "" {
		return c.Returned()
	}
	return c.Heading + "\n" + c.Returned()
}

// Indexed is the text that retrievers index and embedders embed: the heading
// path, a newline and the body, or the body alone.
func (c Chunk) Indexed() string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + "\n" + c.Text
}

// Hit is one entry of a ranking of chunks. A ranking is ordered by score
// descending (compared as float64), ties by the lower ordinal.
type Hit struct {
	// Ordinal is the chunk's place among all chunks of the corpus, from 0: by
	// the document's place in the corpus, then the chunk's in the document.
	Ordinal uint32
	Score   float64
}

// Before reports whether h ranks above other.
func (h Hit) Before(other Hit) bool {
	if h.Score != other.Score {
		return h.Score > other.Score
	}
	return h.Ordinal < other.Ordinal
}

// Query is a question as retrievers and rerankers are asked it.
type Query struct {
	ID   string
	Text string
	// Vector is the question's embedding, of unit length, or nil where the
	// retriever does not use one.
	Vector []float32
}
