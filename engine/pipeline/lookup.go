package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/internal/stats"
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
	lines, err := c.readLinesOf(id)
	if err != nil {
		return nil, err
	}
	for _, row := range p.Rows {
		if lines[row.Run] == nil {
			continue
		}
		rank, err := c.lookUp(row, *q, *lines[row.Run])
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
	judged, err := parseJudgements(raw)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(judged, func(q golden.Question) bool { return q.ID == id })
	if at < 0 {
		return nil, nil
	}
	texts, err := c.questionTexts()
	judged[at].Text = texts[id]
	return &judged[at], err
}

// questionTexts are what is asked, by question: it stands apart from how it is judged.
func (c *collector) questionTexts() (map[string]string, error) {
	raw, err := c.read(c.p.Questions, "queries")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(raw)); dec.More(); {
		var q queryLine
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("read questions: %w", err)
		}
		texts[q.ID] = q.Text
	}
	return texts, nil
}

// readLinesOf reads, on all cores, the lines of a question in the final rankings of the
// rows that are scored, by the stage that ranked. A ranking that is not there is left
// out; one that says nothing of the question has no lines.
func (c *collector) readLinesOf(question string) (map[*engine.Stage]*[]byte, error) {
	var runs []*engine.Stage
	for _, row := range c.p.Rows {
		if c.out.State[row.Score.Index()] == engine.StateDone && !slices.Contains(runs, row.Run) {
			runs = append(runs, row.Run)
		}
	}
	lines, errs := make([]*[]byte, len(runs)), make([]error, len(runs))
	var buffers sync.Pool // rankings are long, and nothing stays of one but the lines
	stats.Parallel(len(runs), func(i int) {
		raw, _ := buffers.Get().(*bytes.Buffer)
		raw = cmp.Or(raw, &bytes.Buffer{})
		defer buffers.Put(raw)
		there, err := c.readInto(raw, runs[i], "run")
		if errs[i] = err; there && err == nil {
			found := bytes.Clone(linesOf(raw.Bytes(), question))
			lines[i] = &found
		}
	})
	by := make(map[*engine.Stage]*[]byte, len(runs))
	for i, s := range runs {
		by[s] = lines[i]
	}
	return by, cmp.Or(errs...)
}

// readInto reads an output into a buffer, in place of what is in it, and reports whether
// there is one.
func (c *collector) readInto(raw *bytes.Buffer, s *engine.Stage, output string) (bool, error) {
	blob, ok := c.out.Output(s, output)
	if !ok {
		return false, nil
	}
	lost := func(err error) error { return &engine.LostInputError{Input: output, From: s, Err: err} }
	r, err := c.store.Open(c.ctx, blob.Digest)
	if err != nil {
		return true, lost(err)
	}
	raw.Reset()
	if _, err := raw.ReadFrom(r); err != nil {
		return true, lost(errors.Join(err, r.Close()))
	}
	return true, r.Close()
}

// lookUp is where a row ranks what is relevant to a question, by the question's lines of
// its run; nil where the question is not scored.
func (c *collector) lookUp(row Row, q golden.Question, lines []byte) (*report.Rank, error) {
	tr, err := c.tracing(row, func(id string) bool { return id == q.ID })
	if err != nil {
		return nil, err
	}
	place := slices.IndexFunc(tr.questions, func(other golden.Question) bool { return other.ID == q.ID })
	if place < 0 {
		return nil, nil
	}
	run, err := artifact.ReadRun(lines)
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
