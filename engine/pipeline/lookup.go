package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/internal/trec"
)

// lookupHits is how many results of a row a lookup names.
const lookupHits = 3

// Lookup finds what is judged relevant to a question, and where each row ranks it:
// documents, or chunks, as the experiment judges. Rows without a result in the
// outcomes, and all rows for a question that is not scored, are left out; so are the
// tags, which nothing is judged by. It is nil when there is no such question.
func (p *Pipeline) Lookup(ctx context.Context, store cache.Store, out *engine.Outcomes, id string) (*report.Lookup, error) {
	c := &collector{ctx: ctx, store: store, out: out, p: p, traced: map[*engine.Stage]*tracing{}}
	q, err := c.judgedQuestion(id)
	if q == nil || err != nil {
		return nil, err
	}
	l := &report.Lookup{ID: q.ID, Text: q.Text}
	for _, r := range q.Relevant {
		l.Judged = append(l.Judged, report.Judgement{Document: r.Doc, Span: r.Span, Grade: r.Grade})
	}
	for _, row := range p.Rows {
		if out.State[row.Score.Index()] != engine.StateDone {
			continue
		}
		rank, err := c.lookUp(row, *q)
		if err != nil {
			return nil, fmt.Errorf("look up %s in %s: %w", id, row.Configuration.Name(), err)
		}
		if rank != nil {
			l.Ranks = append(l.Ranks, *rank)
		}
	}
	return l, nil
}

// judgedQuestion reads one question, nil when it is not there.
func (c *collector) judgedQuestion(id string) (*golden.Question, error) {
	raw, err := c.read(c.p.Questions, "judgements")
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var q golden.Question
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("read judgements: %w", err)
		}
		if q.ID == id {
			text, err := c.questionText(id)
			q.Text = text
			return &q, err
		}
	}
	return nil, nil
}

// questionText is what is asked, which stands apart from how it is judged.
func (c *collector) questionText(id string) (string, error) {
	raw, err := c.read(c.p.Questions, "queries")
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var q queryLine
		if err := dec.Decode(&q); err != nil {
			return "", fmt.Errorf("read queries: %w", err)
		}
		if q.ID == id {
			return q.Text, nil
		}
	}
	return "", nil
}

// lookUp is where a row ranks what is relevant to a question.
func (c *collector) lookUp(row Row, q golden.Question) (*report.Rank, error) {
	tr, err := c.tracing(row, func(id string) bool { return id == q.ID })
	if err != nil {
		return nil, err
	}
	place := slices.IndexFunc(tr.questions, func(other golden.Question) bool { return other.ID == q.ID })
	if place < 0 {
		return nil, nil
	}
	raw, err := c.read(row.Run, "run")
	if err != nil || raw == nil {
		return nil, err
	}
	run, err := artifact.ReadRun(linesOf(raw, q.ID))
	if err != nil {
		return nil, err
	}
	judged, err := tr.judge(run)
	if err != nil {
		return nil, err
	}
	grades := judged[place].Grades
	rank := &report.Rank{Row: row.Configuration.Name(), Ranked: len(grades)}
	rank.First = 1 + slices.IndexFunc(grades, func(g int32) bool { return g > 0 })
	if len(run.Chunks) > 0 {
		rank.Top = run.Chunks[0][:min(lookupHits, len(run.Chunks[0]))]
	}
	return rank, nil
}

// linesOf are the lines of a run that belong to a question; a run has them together.
func linesOf(run []byte, question string) []byte {
	head := append([]byte(trec.Escape(question)), ' ')
	from := 0
	if !bytes.HasPrefix(run, head) {
		at := bytes.Index(run, append([]byte{'\n'}, head...))
		if at < 0 {
			return nil
		}
		from = at + 1
	}
	to := from
	for bytes.HasPrefix(run[to:], head) {
		end := bytes.IndexByte(run[to:], '\n')
		if end < 0 {
			return run[from:]
		}
		to += end + 1
	}
	return run[from:to]
}
