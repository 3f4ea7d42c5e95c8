package metric

import (
	"strings"
	"unicode/utf8"

	"raglab/golden"
)

// What a chunker can make of an answer span, as [SpanCounts] counts it.
const (
	SpanWhole   = "whole"
	SpanCut     = "cut"
	SpanDropped = "dropped"
)

// Fate is what a chunker made of one answer span.
type Fate struct {
	// Judgement is the span's place in the question's list.
	Judgement int
	// Fate is [SpanWhole], [SpanCut] or [SpanDropped].
	Fate string
	// Share is the largest share of the span's characters that one chunk holds.
	Share float64
}

// Fates returns what became of the spans of the question at a place in the list given
// to [NewSpans], those of grade 0 and below left out, after the last chunk was added.
func (s *Spans) Fates(question int) []Fate {
	s.finish()
	var out []Fate
	for j, w := range s.judged[question] {
		if w.grade > 0 {
			out = append(out, Fate{j, w.fate(), float64(w.best) / float64(w.characters)})
		}
	}
	return out
}

func (w *wanted) fate() string {
	switch {
	case w.best == w.characters:
		return SpanWhole
	case w.cut:
		return SpanCut
	}
	return SpanDropped
}

// Piece is the longest piece of an answer span that a text holds in one stretch.
type Piece struct {
	// Start and End are byte offsets into the text as it is, End exclusive.
	Start, End int
	// Share is the piece's characters among the span's, white space left out on both
	// sides; 0 for a text that holds nothing of it.
	Share float64
}

// FindPiece looks for a span in a text, both folded as [Spans] does. The first of
// several pieces that are equally long is found.
func FindPiece(span, text string) Piece {
	span = golden.Fold(span)
	characters := len([]rune(squeeze(span)))
	if characters == 0 {
		return Piece{}
	}
	folded, places := foldPlaces(text)
	if at := strings.Index(folded, span); at >= 0 {
		return Piece{places[at], places[at+len(span)], 1}
	}
	from, to, n := newPieces(span).find(folded)
	if n == 0 {
		return Piece{}
	}
	for from < to && folded[from] == ' ' {
		from++
	}
	for to > from && folded[to-1] == ' ' {
		to--
	}
	return Piece{places[from], places[to], float64(n) / float64(characters)}
}

// find returns where the longest piece of the span stands in a folded text, in bytes,
// and how many characters it has, blanks left out.
func (p *pieces) find(text string) (from, to int, characters int) {
	best, at, size := int32(0), int32(0), int32(0)
	starts := make([]int, 0, len(text)) // of the runes, in bytes
	for i, r := range text {
		starts = append(starts, i)
		next := p.states[at].next(r)
		for next < 0 && at > 0 {
			at = p.states[at].link
			size = p.states[at].size
			next = p.states[at].next(r)
		}
		if next < 0 {
			continue
		}
		at = next
		size++
		end := p.states[at].end
		if n := p.bare[end] - p.bare[end-size]; n > best {
			best = n
			from, to = starts[len(starts)-int(size)], i+len(string(r))
		}
	}
	return from, to, int(best)
}

// foldPlaces folds a text and tells where in it each byte of the result comes from,
// and at last where the text ends that the result has been made of.
func foldPlaces(text string) (folded string, places []int) {
	var b strings.Builder
	b.Grow(len(text))
	places = make([]int, 0, len(text)+1)
	known := map[rune]string{} // what letters fold to
	end := 0
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		one, ok := known[r]
		if !ok {
			one = golden.Fold(text[i : i+size])
			known[r] = one
		}
		if one == "" { // white space
			continue
		}
		if b.Len() > 0 && end < i {
			b.WriteByte(' ')
			places = append(places, end)
		}
		end = i + size
		b.WriteString(one)
		for range len(one) {
			places = append(places, i)
		}
	}
	return b.String(), append(places, end)
}
