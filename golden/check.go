package golden

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Corpus is what a set is checked against.
type Corpus struct {
	// Has reports whether a document is there.
	Has func(id string) bool
	// Content returns the text in which spans are looked for. Nil leaves
	// spans unchecked.
	Content func(id string) (string, bool)
	// IDs lists the documents, to suggest the nearest id. It may be nil.
	IDs iter.Seq[string]
}

// Check holds a set against a corpus and returns all that does not fit, in file
// order: documents that the corpus lacks, and spans that their document does not
// hold, both folded by [Fold].
func Check(set *Set, corpus Corpus) []Problem {
	var out []Problem
	for _, f := range corpus.findings(set) {
		out = append(out, f.Problem)
	}
	return out
}

func (c Corpus) findings(set *Set) []Finding {
	found := make([][]Finding, len(set.Questions))
	// By document, so that each is read and folded once.
	spans := map[string][]spanAt{}
	var order []string
	missing := map[string]string{}
	for i, q := range set.Questions {
		for _, r := range q.Relevant {
			if !c.Has(r.Doc) {
				found[i] = append(found[i], Finding{c.lacks(q, r.Doc, missing), MissingDocument, false})
				continue
			}
			if r.Span == "" || c.Content == nil {
				continue
			}
			if spans[r.Doc] == nil {
				order = append(order, r.Doc)
			}
			spans[r.Doc] = append(spans[r.Doc], spanAt{i, r.Span})
		}
	}
	for _, doc := range order {
		content, ok := c.Content(doc)
		folded := Fold(content)
		for _, s := range spans[doc] {
			q := set.Questions[s.question]
			switch {
			case !ok:
				found[s.question] = append(found[s.question], Finding{q.problem("", "document %s has no text", doc), MissingSpan, false})
			case !strings.Contains(folded, Fold(s.span)):
				problem := q.problem(departure(folded, Fold(s.span)), "document %s does not hold the span %q", doc, s.span)
				found[s.question] = append(found[s.question], Finding{problem, MissingSpan, false})
			}
		}
	}
	return slices.Concat(found...)
}

type spanAt struct {
	question int
	span     string
}

// lacks reports a missing document. Suggestions are remembered, and made for the
// first few only: each looks at every id.
func (c Corpus) lacks(q Question, doc string, suggested map[string]string) Problem {
	const limit = 20
	near, known := suggested[doc]
	if !known && len(suggested) < limit && c.IDs != nil {
		near = nearestID(doc, c.IDs)
		suggested[doc] = near
	}
	detail := ""
	if near != "" {
		detail = fmt.Sprintf("did you mean %s?", near)
	}
	return q.problem(detail, "document %s is not in the corpus", doc)
}

// nearestID returns the id that a wrong one most likely means, or "". Another
// case, folder or file extension is nearer than any misspelling.
func nearestID(wrong string, ids iter.Seq[string]) string {
	bare := bareID(wrong)
	best, distance := "", max(2, len(wrong)/4)+1
	for id := range ids {
		if bareID(id) == bare {
			return id
		}
		if d := len(id) - len(wrong); d >= distance || -d >= distance {
			continue
		}
		if d := levenshtein.Distance(wrong, id, nil); d < distance {
			best, distance = id, d
		}
	}
	return best
}

// bareID is an id without folder, extension and case.
func bareID(id string) string {
	id = id[strings.LastIndexByte(id, '/')+1:]
	if dot := strings.LastIndexByte(id, '.'); dot > 0 {
		id = id[:dot]
	}
	return strings.ToLower(id)
}

// departure says how far a span, which the text does not hold, goes with it.
func departure(text, span string) string {
	runes := []rune(span)
	// The longest beginning of the span that the text holds.
	low, high := 0, len(runes)
	for low < high {
		middle := (low + high + 1) / 2
		if strings.Contains(text, string(runes[:middle])) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	const least, shown = 8, 20
	if low < least {
		return ""
	}
	held := string(runes[:low])
	after := []rune(text[strings.Index(text, held)+len(held):])
	return fmt.Sprintf("after %q it has %q, where the span has %q",
		string(runes[max(0, low-shown):low]), string(after[:min(shown, len(after))]), string(runes[low:min(low+shown, len(runes))]))
}

// Lint returns what is allowed in a set and often an oversight: questions to
// which nothing is relevant, and questions asked twice.
func Lint(set *Set) []Problem {
	var out []Problem
	asked := map[string]string{}
	for _, q := range set.Questions {
		if !slices.ContainsFunc(q.Relevant, func(r Relevant) bool { return r.Grade > 0 }) {
			out = append(out, q.problem("it is left out of every mean", "nothing is relevant to it"))
		}
		text := Fold(q.Text)
		if first, twice := asked[text]; twice {
			out = append(out, q.problem("", "question %s asks the same", first))
		} else {
			asked[text] = q.ID
		}
	}
	return out
}
