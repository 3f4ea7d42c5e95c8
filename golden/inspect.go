package golden

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits are what [Inspect] takes for wrong.
type Limits struct {
	// SpanMin and SpanMax bound a span's length in characters.
	SpanMin, SpanMax int
	// Copied is the highest share of a question's words that may stand in the
	// span, see [CopiedShare].
	Copied float64
	// Jaccard and Containment make two questions near-duplicates: at least that
	// Jaccard index of their words, or that containment of the three-letter
	// runs of one in the other, where neither is more than twice as long.
	Jaccard, Containment float64
	// Part is the smallest share of the questions that dev and test may have.
	Part float64
}

// DefaultLimits are those of the Turkish set for spans and copied words, and for
// near-duplicates such as keep different questions about one thing apart.
func DefaultLimits() Limits {
	return Limits{SpanMin: 20, SpanMax: 400, Copied: 0.6, Jaccard: 0.7, Containment: 0.9, Part: 0.2}
}

// Code names a sort of finding.
type Code string

// The findings. Those up to SameQuestion are errors, the others warnings.
const (
	Unreadable      Code = "unreadable"       // the file's shape
	MissingDocument Code = "document"         // a document that the corpus lacks
	MissingSpan     Code = "span_missing"     // a span that its document does not hold
	ShortSpan       Code = "span_short"       //
	LongSpan        Code = "span_long"        //
	Copied          Code = "copied"           // too many words of the question stand in the span
	NoPart          Code = "split"            // tagged for both of dev and test, or neither
	SameQuestion    Code = "duplicate"        // asked twice
	NearQuestion    Code = "near_duplicate"   // asked nearly twice, within one part
	LeakedQuestion  Code = "leak_question"    // asked nearly twice, in dev and in test
	LeakedSpan      Code = "leak_span"        // the same span answers a dev and a test question
	Unbalanced      Code = "unbalanced"       // few questions, or none of a kind, in one part
	Unanswered      Code = "nothing_relevant" // left out of every mean
)

// Finding is something wrong or odd about a set.
type Finding struct {
	Problem
	Code    Code
	Warning bool
}

// Inspection is all that is found about a set, in file order.
type Inspection struct {
	Findings []Finding
}

// Errors counts the findings that are no warnings.
func (in Inspection) Errors() int {
	n := 0
	for _, f := range in.Findings {
		if !f.Warning {
			n++
		}
	}
	return n
}

type inspector struct {
	set   *Set
	split *Split
	words Words
	Limits
	out []Finding
}

// Inspect looks for everything that makes a set of questions doubtful. Without a
// corpus neither documents nor the place of spans are looked up; without a split
// the tags split:dev and split:test count, where any question has one.
func Inspect(set *Set, corpus *Corpus, split *Split, words Words, l Limits) Inspection {
	if split == nil && hasSplitTags(set) {
		split = &Split{By: "tag"}
	}
	in := inspector{set: set, split: split, words: words, Limits: l}
	if corpus != nil {
		in.out = corpus.findings(set)
	}
	for _, q := range set.Questions {
		in.spans(q)
	}
	in.parts()
	in.similar()
	in.sharedSpans()
	slices.SortStableFunc(in.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return Inspection{in.out}
}

func hasSplitTags(set *Set) bool {
	return slices.ContainsFunc(set.Questions, func(q Question) bool {
		return slices.Contains(q.Tags, "split:dev") || slices.Contains(q.Tags, "split:test")
	})
}

func (in *inspector) wrong(q Question, code Code, detail, summary string, args ...any) {
	in.out = append(in.out, Finding{q.problem(detail, summary, args...), code, false})
}

func (in *inspector) odd(q Question, code Code, detail, summary string, args ...any) {
	in.out = append(in.out, Finding{q.problem(detail, summary, args...), code, true})
}

// spans looks at the spans of one question.
func (in *inspector) spans(q Question) {
	answered := false
	for _, r := range q.Relevant {
		answered = answered || r.Grade > 0
		if r.Span == "" {
			continue
		}
		n := utf8.RuneCountInString(r.Span)
		if n < in.SpanMin {
			in.wrong(q, ShortSpan, fmt.Sprintf("at least %d are expected", in.SpanMin), "the span %q has %d characters", r.Span, n)
		}
		if in.SpanMax > 0 && n > in.SpanMax {
			in.wrong(q, LongSpan, fmt.Sprintf("at most %d are expected", in.SpanMax), "the span %q has %d characters", shorten(r.Span), n)
		}
		if share := CopiedShare(q.Text, r.Span, in.words); share > in.Copied {
			in.wrong(q, Copied, "ask in other words", "%.0f %% of its words stand in the span", 100*share)
		}
	}
	if !answered {
		in.odd(q, Unanswered, "it is left out of every mean", "nothing is relevant to it")
	}
}

func shorten(s string) string {
	const shown = 40
	if r := []rune(s); len(r) > shown {
		return string(r[:shown]) + "…"
	}
	return s
}

// parts looks at the split.
func (in *inspector) parts() {
	if in.split == nil || len(in.set.Questions) == 0 {
		return
	}
	counts := Count(in.set, in.split)
	for _, q := range in.set.Questions {
		if in.split.Part(q) == Neither {
			dev, test := in.split.tags()
			in.wrong(q, NoPart, "give it one of the two", "it has both or neither of the tags %s and %s", dev, test)
		}
	}
	file := Question{Pos: Position{File: in.set.Questions[0].Pos.File}}
	in.small(file, Dev, counts.Questions.Dev)
	in.small(file, Test, counts.Questions.Test)
	for _, t := range counts.Tags {
		if strings.HasPrefix(t.Tag, "kind:") && (t.Dev == 0 || t.Test == 0) && t.Total() > 1 {
			in.odd(file, Unbalanced, "", "%s: %d dev and %d test questions", t.Tag, t.Dev, t.Test)
		}
	}
}

func (in *inspector) small(file Question, part Part, n int) {
	if all := len(in.set.Questions); float64(n) < in.Part*float64(all) {
		in.odd(file, Unbalanced, "", "%d of %d questions are %s questions", n, all, part)
	}
}

func (in *inspector) part(q Question) Part {
	if in.split == nil {
		return Test
	}
	return in.split.Part(q)
}

// similar looks for questions that are asked twice, or nearly. A second
// annotation of a question, which says so by the tag second_of, is none.
func (in *inspector) similar() {
	s := similarity{ids: map[string]int32{}}
	prints := make([]likeness, len(in.set.Questions))
	folded := make([]string, len(in.set.Questions))
	for i, q := range in.set.Questions {
		prints[i], folded[i] = s.of(q.Text, in.words), Fold(q.Text)
	}
	for _, p := range nearPairs(prints, folded, in.Jaccard, in.Containment) {
		i, j := p[1], p[0]
		if again(in.set.Questions[i], in.set.Questions[j]) {
			continue
		}
		if folded[i] == folded[j] {
			in.twice(in.set.Questions[i], in.set.Questions[j])
		} else if how := in.alike(prints[i], prints[j]); how != "" {
			in.nearly(in.set.Questions[i], in.set.Questions[j], how)
		}
	}
}

const leaks = "one is a dev question and one a test question"

func (in *inspector) twice(q, other Question) {
	detail := ""
	if in.part(q) != in.part(other) {
		detail = leaks
	}
	in.wrong(q, SameQuestion, detail, "question %s on line %d asks the same", other.ID, other.Pos.Line)
}

func (in *inspector) nearly(q, other Question, how string) {
	code, detail := NearQuestion, ""
	if in.part(q) != in.part(other) {
		code, detail = LeakedQuestion, leaks
	}
	in.odd(q, code, detail, "question %s on line %d asks nearly the same (%s)", other.ID, other.Pos.Line, how)
}

// again reports whether one question is stated to be a second annotation of the
// other.
func again(a, b Question) bool {
	return slices.Contains(a.Tags, "second_of:"+b.ID) || slices.Contains(b.Tags, "second_of:"+a.ID)
}

// alike says by which measure two questions are near-duplicates, or "".
func (in *inspector) alike(a, b likeness) string {
	if v := a.jaccard(b, in.Jaccard); v > 0 && v >= in.Jaccard {
		return fmt.Sprintf("Jaccard index of their words %.2f", v)
	}
	if v := a.containment(b); v > 0 && v >= in.Containment {
		return fmt.Sprintf("%.2f of the three-letter runs of one are in the other", v)
	}
	return ""
}

// sharedSpans looks for spans that answer both dev and test questions.
func (in *inspector) sharedSpans() {
	if in.split == nil {
		return
	}
	first := map[[2]string]Question{}
	for _, q := range in.set.Questions {
		for _, r := range q.Relevant {
			if r.Span == "" || r.Grade <= 0 {
				continue
			}
			key := [2]string{r.Doc, Fold(r.Span)}
			other, ok := first[key]
			if !ok {
				first[key] = q
				continue
			}
			if in.part(q) != in.part(other) && !again(q, other) {
				in.odd(q, LeakedSpan, leaks,
					"question %s on line %d is answered by the same span of document %s", other.ID, other.Pos.Line, r.Doc)
			}
		}
	}
}
