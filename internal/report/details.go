package report

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
)

// Detailed is implemented by outputs that may show the rankings themselves, question
// by question, which a [Report] does not hold.
type Detailed interface {
	Output
	// WantsDetails tells whether this output shows them. Collecting them reads all
	// rankings and chunks again.
	WantsDetails() bool
	// RenderDetailed is Render with details, which it must not change.
	RenderDetailed(r *Report, d *Details, present []byte) ([]byte, error)
}

// WriteDetailed is [Write] for any output: details is called for one that wants them,
// and for no other.
func WriteDetailed(o Output, r *Report, details func() (*Details, error)) (bool, error) {
	detailed, ok := o.(Detailed)
	if !ok || !detailed.WantsDetails() {
		return Write(o, r)
	}
	d, err := details()
	if err != nil {
		return false, fmt.Errorf("collect details for %s: %w", o.Path(), err)
	}
	present, err := os.ReadFile(o.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read output: %w", err)
	}
	next, err := detailed.RenderDetailed(r, d, present)
	if err != nil {
		return false, fmt.Errorf("render %s: %w", o.Path(), err)
	}
	return replaceOther(o.Path(), present, next)
}

// Details are what a person needs to see why a row answers a question or does not:
// rankings, the chunks in them, and what the chunkers made of the answer spans. All is
// there once, and refers to the rest by its place in a list.
type Details struct {
	// Depth is how long a ranking is at most, Kept how many of its hits are here.
	Depth int `json:"depth"`
	Kept  int `json:"kept"`
	// Relevance is document, span or chunk: what the judgements are about.
	Relevance string `json:"relevance"`
	// Coverage is the share of a span that makes a chunk relevant, by span.
	Coverage float64 `json:"coverage,omitempty"`
	// Questions are those that details are kept of, in the order of the set.
	Questions []DetailQuestion `json:"questions"`
	Documents []DetailDocument `json:"documents"`
	Chunkers  []DetailChunker  `json:"chunkers"`
	Texts     []DetailText     `json:"texts"`
	Chunks    []DetailChunk    `json:"chunks"`
	Runs      []DetailRun      `json:"runs"`
	// Rows run parallel to the report's configurations.
	Rows []DetailRow `json:"rows"`
	// Notes are whole sentences about what was left out.
	Notes []string `json:"notes,omitempty"`
}

// DetailQuestion is a question with what is judged.
type DetailQuestion struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Judged are the judgements in the order of the set.
	Judged []DetailJudgement `json:"judged"`
}

// DetailJudgement is what the set says of one document, or chunk. A document that is a
// part of another is named by that, where documents are judged.
type DetailJudgement struct {
	Doc   string `json:"doc"`
	Grade int    `json:"grade"`
	Span  string `json:"span,omitempty"`
}

// DetailDocument is a document that some kept chunk is of. Whole is the id of what it
// is a part of, and is judged as; empty for one that stands for itself.
type DetailDocument struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Whole string `json:"whole,omitempty"`
}

// DetailChunker is one way in which the documents were cut.
type DetailChunker struct {
	Name string `json:"name"`
	// Relevant are, by question, pairs of a chunk and its grade, one after the other:
	// chunks of a grade above 0. Null where documents are judged.
	Relevant [][]int `json:"relevant"`
	// Fates are, by question, those of its answer spans.
	Fates [][]DetailFate `json:"fates"`
}

// DetailFate says what a chunker made of an answer span.
type DetailFate struct {
	// Judgement is its place among the question's.
	Judgement int `json:"judgement"`
	// Fate is whole, cut or dropped, as in [raglab/axes/metric.SpanCounts]. Share is the largest share of
	// the span's characters that one chunk holds.
	Fate  string  `json:"fate"`
	Share float64 `json:"share"`
	// Pieces are the chunks that hold the most of a span that none holds whole, at
	// most three, in the order of the document.
	Pieces []DetailPiece `json:"pieces,omitempty"`
}

// DetailPiece is a chunk with a part of a span.
type DetailPiece struct {
	Chunk int     `json:"chunk"`
	Share float64 `json:"share"`
}

// DetailText is a way of handling text, with the words by which it finds.
type DetailText struct {
	Name string `json:"name"`
	// Forms are, by question, the words of the kept chunks, as they are written there,
	// that have a term in common with the question.
	Forms [][]string `json:"forms"`
}

// DetailChunk is a chunk of some ranking, or one that holds an answer. It is what is
// returned for it: of chunks that share a passage the passage.
type DetailChunk struct {
	Document int `json:"document"`
	// N is its place in the document; Start and End are byte offsets into the
	// document's content.
	N       int    `json:"n"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Heading string `json:"heading,omitempty"`
	// Passage says that it is found by smaller chunks.
	Passage bool   `json:"passage,omitempty"`
	Text    string `json:"text,omitempty"`
	// Before and After count the characters of the text that are left out.
	Before int `json:"before,omitempty"`
	After  int `json:"after,omitempty"`
	// Marks are threes of a question and the UTF-16 offsets in Text, the end exclusive,
	// between which the longest piece of one of its answer spans stands.
	Marks []int `json:"marks,omitempty"`
}

// DetailRun is what one stage ranked. Rows that share the stage share it.
type DetailRun struct {
	// Stage is search, fuse or rerank, Label the option's.
	Stage string `json:"stage"`
	Label string `json:"label"`
	// Inputs are the rankings that went in: the legs of a fusion, or what was reranked.
	Inputs []int `json:"inputs,omitempty"`
	// Hits are, by question, the chunks of the first [Details.Kept] ranks; Scores run
	// parallel.
	Hits   [][]int  `json:"hits"`
	Scores []Scores `json:"scores"`
	// Beyond are, by question, threes of rank, chunk and score further down: of the
	// first relevant hit, and of those that rank high in a ranking made of this one.
	Beyond map[int]Scores `json:"beyond,omitempty"`
	// First is, by question, the rank of the first relevant hit, of documents where
	// they are judged; 0 where the ranking has none. Found is how many hits it has.
	First []int `json:"first"`
	Found []int `json:"found"`
}

// DetailRow is where a row's details are, -1 where there are none: rankings that are
// not in the cache, and rows whose retrievers read no words.
type DetailRow struct {
	Run     int `json:"run"`
	Chunker int `json:"chunker"`
	Text    int `json:"text"`
}

// Scores are numbers that are written with five digits, whole ones in full.
type Scores []float64

// MarshalJSON writes what is not finite as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 8*len(s)+2), '[')
	for i, v := range s {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = strconv.AppendFloat(b, v, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}
