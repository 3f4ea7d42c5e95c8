package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"raglab/engine"
	"raglab/golden"
	"raglab/internal/report"
)

// writeGolden writes what a report says of each question, tags included. No other
// stage reads it, so that a changed tag asks and judges nothing again.
func (w questionsWork) writeGolden(t *engine.Task, set *golden.Set, wordings []*golden.Wording) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	part := w.parts()
	for i, q := range set.Questions {
		line := goldenLine(q, part(q))
		if wordings != nil && wordings[i] != nil {
			line.Wording = new(report.Wording(*wordings[i]))
		}
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("write golden questions: %w", err)
		}
	}
	return t.Write("golden", lines.Bytes())
}

// parts tells the part of a question.
func (w questionsWork) parts() func(golden.Question) string {
	if w.golden.Split == nil {
		return func(golden.Question) string { return "test" }
	}
	isDev, isTest := partOf(w.golden.Split, "dev"), partOf(w.golden.Split, "test")
	return func(q golden.Question) string {
		switch {
		case isDev(q):
			return "dev"
		case isTest(q):
			return "test"
		}
		return ""
	}
}

func goldenLine(q golden.Question, part string) report.GoldenQuestion {
	line := report.GoldenQuestion{ID: q.ID, Text: q.Text, Tags: q.Tags, Part: part}
	for _, r := range q.Relevant {
		if r.Grade <= 0 {
			continue
		}
		if line.Relevant == 0 {
			line.Span = r.Span != ""
		}
		line.Relevant++
	}
	return line
}

// golden reads the questions' table. A report without them is partial, not wrong.
func (c *collector) golden(r *report.Report) error {
	raw, err := c.read(c.p.Questions, "golden")
	if err != nil || raw == nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var q report.GoldenQuestion
		if err := dec.Decode(&q); err != nil {
			return fmt.Errorf("read golden questions: %w", err)
		}
		r.Golden = append(r.Golden, q)
	}
	return nil
}
