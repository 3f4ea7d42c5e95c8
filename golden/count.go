package golden

import (
	"maps"
	"slices"
)

// PartCount counts questions by part.
type PartCount struct{ Dev, Test, Neither int }

// Total is the sum over the parts.
func (c PartCount) Total() int { return c.Dev + c.Test + c.Neither }

func (c *PartCount) add(p Part) {
	switch p {
	case Dev:
		c.Dev++
	case Test:
		c.Test++
	case Neither:
		c.Neither++
	}
}

// TagCount counts the questions that carry a tag.
type TagCount struct {
	Tag string
	PartCount
}

// Counts describes a set in numbers.
type Counts struct {
	Questions PartCount
	// Unanswered counts the questions to which nothing is relevant.
	Unanswered int
	// Judgements, and how many of them are relevant, state a span, and have a
	// grade above 1.
	Judgements, Relevant, Spans, Graded int
	// Documents counts the different documents with a judgement.
	Documents int
	// Tags are sorted by name.
	Tags []TagCount
}

// Count counts a set. Without a split, every question is a test question.
func Count(set *Set, split *Split) Counts {
	var c Counts
	tags, docs := map[string]*TagCount{}, map[string]bool{}
	for _, q := range set.Questions {
		part := Test
		if split != nil {
			part = split.Part(q)
		}
		c.Questions.add(part)
		c.judgements(q, docs)
		for _, tag := range q.Tags {
			if tags[tag] == nil {
				tags[tag] = &TagCount{Tag: tag}
			}
			tags[tag].add(part)
		}
	}
	c.Documents = len(docs)
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		c.Tags = append(c.Tags, *tags[tag])
	}
	return c
}

func (c *Counts) judgements(q Question, docs map[string]bool) {
	answered := false
	for _, r := range q.Relevant {
		docs[r.Doc] = true
		c.Judgements++
		if r.Grade > 0 {
			c.Relevant++
			answered = true
		}
		if r.Grade > 1 {
			c.Graded++
		}
		if r.Span != "" {
			c.Spans++
		}
	}
	if !answered {
		c.Unanswered++
	}
}
