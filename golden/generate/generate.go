package generate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"raglab/golden"
)

// Tools is what the styles need of a language, as functions.
type Tools struct {
	// Words calls emit for each word of a text in lower case. The slice is valid
	// during the call only.
	Words func(text string, emit func(term []byte))
	// Sentences takes a text without markup apart.
	Sentences func(text string) []string
	// Lemmas is as Words, with each word in its dictionary form; nil when there is
	// no dictionary, and then NoLemmas says why.
	Lemmas   func(text string, emit func(term []byte))
	NoLemmas string
}

// Options say what is wanted.
type Options struct {
	// Styles in use; none means all.
	Styles []Style
	// Count is how many questions are wanted in each style; 0 takes as many as
	// there are.
	Count int
	Seed  uint64
	// Language is a BCP 47 tag.
	Language string
	// Source goes before the document's id in the tag source:SOURCE:ID.
	Source string
	// Split gives each question the tag split:dev or split:test.
	Split golden.Split
}

// Dropped is a candidate that is not asked.
type Dropped struct {
	Style    Style  `json:"style"`
	Doc      string `json:"doc"`
	Question string `json:"question"`
	Reason   Reason `json:"reason"`
	Detail   string `json:"detail,omitempty"`
}

// Result is what came of a corpus.
type Result struct {
	// Set is in the order of styles, then of the corpus.
	Set     *golden.Set
	Dropped []Dropped
	// Skipped says why a style was left out as a whole.
	Skipped map[Style]string
	// Documents is how many were read.
	Documents int
}

type generator struct {
	Options
	Tools      Tools
	language   language
	documents  int
	held       map[string]int // documents that hold a term
	heldLemmas map[string]int
}

// Questions makes questions of documents. It returns [errors.ErrUnsupported]
// wrapped when not one style can be used.
func Questions(ctx context.Context, docs []Document, tools Tools, o Options) (*Result, error) {
	g := &generator{Options: o, Tools: tools, language: languageOf(o.Language), documents: len(docs)}
	r := &Result{Set: new(golden.Set), Skipped: map[Style]string{}, Documents: len(docs)}
	if len(g.Styles) == 0 {
		g.Styles = Styles()
	}
	if tools.Lemmas == nil && slices.Contains(g.Styles, Lemma) {
		r.Skipped[Lemma] = tools.NoLemmas
		g.Styles = slices.DeleteFunc(slices.Clone(g.Styles), func(s Style) bool { return s == Lemma })
	}
	if len(g.Styles) == 0 {
		return r, fmt.Errorf("make questions: %s: %w", tools.NoLemmas, errors.ErrUnsupported)
	}
	if err := g.count(ctx, docs); err != nil {
		return nil, err
	}
	var all []*candidate
	for _, d := range docs {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		a := read(d, tools.Sentences)
		for _, style := range g.Styles {
			for _, c := range g.candidates(a, style) {
				g.curate(c, a.title)
				all = append(all, c)
			}
		}
	}
	duplicates(all)
	g.choose(all)
	g.report(all, r)
	return r, nil
}

// count counts the documents that hold each term.
func (g *generator) count(ctx context.Context, docs []Document) error {
	g.held, g.heldLemmas = map[string]int{}, map[string]int{}
	for _, d := range docs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := d.Title + "\n" + plain(d.Text)
		countOnce(g.held, g.Tools.Words, text)
		if slices.Contains(g.Styles, Lemma) {
			countOnce(g.heldLemmas, g.Tools.Lemmas, text)
		}
	}
	return nil
}

func countOnce(held map[string]int, words func(string, func([]byte)), text string) {
	seen := map[string]bool{}
	words(text, func(term []byte) {
		if !seen[string(term)] {
			seen[string(term)] = true
			held[string(term)]++
		}
	})
}

func collect(words func(string, func([]byte)), text string) []string {
	var out []string
	words(text, func(term []byte) { out = append(out, string(term)) })
	return out
}

func (g *generator) terms(text string) []string { return collect(g.Tools.Words, text) }

// chance is a number that the seed gives to something.
func (g *generator) chance(doc string, style Style, i int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", g.Seed, doc, style, i))
	return binary.BigEndian.Uint64(sum[:])
}

// draw chooses some of n things, and returns their places in order.
func (g *generator) draw(doc string, style Style, n, most int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	if n <= most {
		return places
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.chance(doc, style, a), g.chance(doc, style, b)), a-b)
	})
	places = places[:most]
	slices.Sort(places)
	return places
}

// choose takes questions from the candidates that are left, one of each style in
// turn, so that articles are shared out evenly; no article gives two.
func (g *generator) choose(all []*candidate) {
	queues := make([][]*candidate, len(g.Styles))
	order := map[*candidate]uint64{}
	for _, c := range all {
		if c.reason != "" {
			continue
		}
		s := slices.Index(g.Styles, c.style)
		queues[s] = append(queues[s], c)
		order[c] = g.chance(c.doc, c.style, -1-c.place)
	}
	for _, q := range queues {
		slices.SortStableFunc(q, func(a, b *candidate) int { return cmp.Compare(order[a], order[b]) })
	}
	taken := map[string]*candidate{}
	kept := make([]int, len(queues))
	for more := true; more; {
		more = false
		for s := range queues {
			if g.Count > 0 && kept[s] == g.Count {
				continue
			}
			if c := g.next(&queues[s], taken); c != nil {
				taken[c.doc] = c
				kept[s]++
				more = true
			}
		}
	}
	for _, q := range queues {
		for _, c := range q {
			if first := taken[c.doc]; first != nil {
				c.drop(ArticleTaken, "%s", first.style)
			} else {
				c.drop(Enough, "%d wanted", g.Count)
			}
		}
	}
}

// next takes the next candidate of a queue whose article is free.
func (g *generator) next(queue *[]*candidate, taken map[string]*candidate) *candidate {
	for len(*queue) > 0 {
		c := (*queue)[0]
		*queue = (*queue)[1:]
		first, ok := taken[c.doc]
		if !ok {
			return c
		}
		c.drop(ArticleTaken, "%s", first.style)
	}
	return nil
}

// report sorts the candidates into questions and what was dropped.
func (g *generator) report(all []*candidate, r *Result) {
	for _, style := range g.Styles {
		for _, c := range all {
			if c.style == style && c.reason == "" {
				r.Set.Questions = append(r.Set.Questions, g.question(c))
			}
		}
	}
	for _, c := range all {
		if c.reason != "" {
			r.Dropped = append(r.Dropped, Dropped{c.style, c.doc, c.text, c.reason, c.detail})
		}
	}
}

func (g *generator) question(c *candidate) golden.Question {
	q := golden.Question{ID: string(c.style) + "-" + c.doc, Text: c.text, Relevant: []golden.Relevant{{Doc: c.doc, Grade: 1}}}
	q.Tags = []string{"split:" + string(g.Split.Part(q)), "kind:" + string(c.style), "source:" + g.Source + ":" + c.doc}
	return q
}
