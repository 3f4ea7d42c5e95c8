package metric

import (
	"errors"
	"fmt"
	"hash/maphash"

	"raglab/internal/trec"
)

// JudgedRun is a TREC run seen through TREC qrels.
type JudgedRun struct {
	// Questions are the ids in the order of the qrels; Judged runs parallel.
	Questions []string
	Judged    []Judged
	// Extra are the questions that only the run names. They have no
	// judgements and enter no mean.
	Extra []string
}

// JudgeRun looks up the grades along each ranking of a run, in the order of its
// entries: the caller has decided which order that is (see [trec.Run]). The
// error names every document that is ranked twice for a question, with its
// lines, up to a limit.
func JudgeRun(qrels *trec.Qrels, run *trec.Run) (*JudgedRun, error) {
	rankings := make(map[string]*trec.Ranking, len(run.Rankings))
	for i := range run.Rankings {
		rankings[run.Rankings[i].Question] = &run.Rankings[i]
	}
	out := &JudgedRun{
		Questions: make([]string, len(qrels.Questions)),
		Judged:    make([]Judged, len(qrels.Questions)),
	}
	table := documents{seed: maphash.MakeSeed()}
	var twice []error
	for i, q := range qrels.Questions {
		out.Questions[i] = q.Question
		ranking, ok := rankings[q.Question]
		if !ok {
			out.Judged[i] = Judged{Ideal: idealOf(q.Docs), Missing: true}
			continue
		}
		delete(rankings, q.Question)
		var duplicate string
		if out.Judged[i], duplicate = table.judge(q.Docs, ranking.Entries); duplicate != "" {
			twice = append(twice, rankedTwice(run, q.Question, duplicate))
		}
		if len(twice) == maxDuplicates {
			break
		}
	}
	for _, r := range run.Rankings {
		if _, left := rankings[r.Question]; left {
			out.Extra = append(out.Extra, r.Question)
		}
	}
	if len(twice) > 0 {
		return nil, errors.Join(twice...)
	}
	return out, nil
}

const maxDuplicates = 20

func rankedTwice(run *trec.Run, question, doc string) error {
	if lines := run.Lines(question, doc); len(lines) > 1 {
		return fmt.Errorf("%s:%d: document %s is ranked twice for question %s, first on line %d", run.File, lines[1], doc, question, lines[0])
	}
	return fmt.Errorf("%s: document %s is ranked twice for question %s", run.File, doc, question)
}

func idealOf(docs []trec.Judgement) []int32 {
	out := make([]int32, 0, len(docs))
	for i := range docs {
		if g := docs[i].Grade; g > 0 {
			out = append(out, g)
		}
	}
	sortDescending(out)
	return out
}

// documents is a hash table of one question's documents, with open addressing.
// It serves question after question without being cleared and stays in the
// processor's first cache, where a map over all ids of a run would not.
type documents struct {
	seed  maphash.Seed
	slots []slot
	round uint32
}

type slot struct {
	doc    string
	round  uint32
	grade  int32
	ranked bool
}

// judge returns a document that is ranked twice, if there is one.
func (d *documents) judge(judgements []trec.Judgement, ranking []trec.Entry) (j Judged, duplicate string) {
	d.begin(len(judgements) + len(ranking))
	for i := range judgements {
		s := d.find(judgements[i].Doc)
		s.grade = judgements[i].Grade
	}
	j = Judged{Grades: make([]int32, len(ranking)), Ideal: idealOf(judgements)}
	for i := range ranking {
		s := d.find(ranking[i].Doc)
		if s.ranked {
			return Judged{}, s.doc
		}
		s.ranked = true
		j.Grades[i] = s.grade
	}
	return j, ""
}

// begin forgets the last question and makes room for n documents.
func (d *documents) begin(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	d.round++
	if size > len(d.slots) || d.round == 0 {
		d.slots, d.round = make([]slot, max(size, len(d.slots))), 1
	}
}

// find returns the document's slot, a new one of grade [Unjudged] if there is
// none.
func (d *documents) find(doc string) *slot {
	mask := uint64(len(d.slots) - 1)
	for i := maphash.String(d.seed, doc) & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.round != d.round {
			*s = slot{doc: doc, round: d.round, grade: Unjudged}
			return s
		}
		if s.doc == doc {
			return s
		}
	}
}
