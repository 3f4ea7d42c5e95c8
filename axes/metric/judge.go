package metric

import (
	"fmt"
	"math"
	"slices"
)

// Grade is the judgement of one item, a document or a chunk, by its ordinal.
type Grade struct {
	Item  uint32
	Grade int32
}

// Nowhere is the ordinal of something relevant that no ranking can hold: a
// document that the corpus lacks, an answer that no chunk holds.
const Nowhere uint32 = math.MaxUint32

// DuplicateError says that a ranking holds an item twice. It is never scored:
// counting both would pay twice, dropping one would hide the fault.
type DuplicateError struct {
	Item          uint32
	First, Second int // ranks, from 1
}

// Error tells the item and its two ranks.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("item %d is ranked twice, at ranks %d and %d", e.Item, e.First, e.Second)
}

// Judge turns rankings of ordinals into [Judged] values. It keeps arrays as long
// as the corpus, so that one Judge serves many rankings without looking anything
// up; it must not be used by two goroutines at once.
type Judge struct {
	round uint32
	seen  []uint32 // the round in which an item was last ranked
	known []uint32 // the round in which an item was last judged
	grade []int32
	chunk []uint32 // the round in which a chunk was last collapsed
}

// NewJudge returns a judge of rankings whose ordinals are below items.
func NewJudge(items int) *Judge {
	return &Judge{seen: make([]uint32, items), known: make([]uint32, items), grade: make([]int32, items)}
}

// next begins a round, in which no item has been seen or judged.
func (j *Judge) next() {
	j.round++
	if j.round == 0 {
		clear(j.seen)
		clear(j.known)
		clear(j.chunk)
		j.round = 1
	}
}

// Judge looks up the grades along a ranking, best item first. An item may be
// judged once only, and ordinals at or above the judge's number of items, such
// as [Nowhere], can be judged but not ranked. An item ranked twice is a
// [*DuplicateError].
func (j *Judge) Judge(ranking []uint32, judgements []Grade) (Judged, error) {
	j.next()
	for _, g := range judgements {
		if int64(g.Item) >= int64(len(j.known)) {
			continue
		}
		if j.known[g.Item] == j.round {
			return Judged{}, fmt.Errorf("item %d is judged twice", g.Item)
		}
		j.known[g.Item], j.grade[g.Item] = j.round, g.Grade
	}
	out := Judged{Grades: make([]int32, len(ranking)), Ideal: ideal(judgements)}
	for i, item := range ranking {
		if int64(item) >= int64(len(j.seen)) {
			return Judged{}, fmt.Errorf("item %d at rank %d is outside the corpus of %d", item, i+1, len(j.seen))
		}
		if j.seen[item] == j.round {
			return Judged{}, &DuplicateError{Item: item, First: slices.Index(ranking, item) + 1, Second: i + 1}
		}
		j.seen[item] = j.round
		out.Grades[i] = Unjudged
		if j.known[item] == j.round {
			out.Grades[i] = j.grade[item]
		}
	}
	return out, nil
}

// ideal returns the grades above 0 in descending order.
func ideal(judgements []Grade) []int32 {
	var out []int32
	for _, g := range judgements {
		if g.Grade > 0 {
			out = append(out, g.Grade)
		}
	}
	sortDescending(out)
	return out
}

func sortDescending(grades []int32) {
	slices.SortFunc(grades, func(a, b int32) int { return int(b) - int(a) })
}

// Collapse turns a ranking of chunks into one of documents: each document stands
// where its first chunk stands. It must come before any cut, or documents with
// many chunks would push others out. The judge's items must be documents;
// documentOf gives each chunk's. A chunk ranked twice is a [*DuplicateError].
func (j *Judge) Collapse(chunks, documentOf []uint32) ([]uint32, error) {
	j.next()
	if len(j.chunk) < len(documentOf) {
		j.chunk = make([]uint32, len(documentOf))
	}
	documents := make([]uint32, 0, len(chunks))
	for i, chunk := range chunks {
		if int64(chunk) >= int64(len(documentOf)) {
			return nil, fmt.Errorf("chunk %d at rank %d is outside the corpus of %d", chunk, i+1, len(documentOf))
		}
		if j.chunk[chunk] == j.round {
			return nil, &DuplicateError{Item: chunk, First: slices.Index(chunks, chunk) + 1, Second: i + 1}
		}
		j.chunk[chunk] = j.round
		document := documentOf[chunk]
		if int64(document) >= int64(len(j.seen)) {
			return nil, fmt.Errorf("document %d of chunk %d is outside the corpus of %d", document, chunk, len(j.seen))
		}
		if j.seen[document] != j.round {
			j.seen[document] = j.round
			documents = append(documents, document)
		}
	}
	return documents, nil
}
