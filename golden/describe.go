package golden

import (
	"slices"
	"strings"
	"unicode/utf8"

	"raglab/internal/stats"
)

// Spread describes values: their number, the least, the median, the mean, the
// 95th percentile and the greatest. Percentiles are by nearest rank. Of no values
// all are 0.
type Spread struct {
	N                           int
	Min, Median, Mean, P95, Max float64
}

func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	ranks := stats.NearestRanks(values, 50, 95)
	return Spread{
		N: len(values), Min: slices.Min(values), Median: ranks[0], Mean: stats.Mean(values), P95: ranks[1], Max: slices.Max(values),
	}
}

// GradeCount counts the judgements of a grade.
type GradeCount struct{ Grade, Judgements int }

// Group are the tags that share what stands before their first colon.
type Group struct {
	// Name is that beginning, empty for tags without a colon.
	Name string
	Tags []TagCount // without the name and the colon
}

// Description says what a set consists of.
type Description struct {
	Counts
	// Split tells whether the questions are divided; if not, all count as test
	// questions.
	Split bool
	// Groups are in the order of their names.
	Groups []Group
	// Words and Characters are of a question, Relevant what answers one, Span
	// the characters of a span, Copied the share of the question's words that
	// stand in the span.
	Words, Characters, Relevant, Span, Copied Spread
	// Grades are sorted; Unjudged are judgements below 0, which count as none.
	Grades   []GradeCount
	Unjudged int
	// Second counts the questions with a second annotation.
	Second int
}

// Describe counts and measures a set. Without a split, the tags split:dev and
// split:test are one where any question has them.
func Describe(set *Set, split *Split, words Words) Description {
	if split == nil && hasSplitTags(set) {
		split = &Split{By: "tag"}
	}
	d := Description{Counts: Count(set, split), Split: split != nil}
	var lengths, characters, relevant, spans, copied []float64
	grades := map[int]int{}
	for _, q := range set.Questions {
		lengths = append(lengths, float64(len(words(q.Text))))
		characters = append(characters, float64(utf8.RuneCountInString(q.Text)))
		answers := 0
		for _, r := range q.Relevant {
			grades[r.Grade]++
			if r.Grade > 0 {
				answers++
			}
			if r.Span != "" {
				spans = append(spans, float64(utf8.RuneCountInString(r.Span)))
				copied = append(copied, CopiedShare(q.Text, r.Span, words))
			}
		}
		relevant = append(relevant, float64(answers))
		if q.Second != nil {
			d.Second++
		}
	}
	d.Words, d.Characters, d.Relevant, d.Span, d.Copied = spreadOf(lengths), spreadOf(characters), spreadOf(relevant), spreadOf(spans), spreadOf(copied)
	for grade, n := range grades {
		d.Grades = append(d.Grades, GradeCount{grade, n})
		if grade < 0 {
			d.Unjudged += n
		}
	}
	slices.SortFunc(d.Grades, func(a, b GradeCount) int { return a.Grade - b.Grade })
	d.Groups = groups(d.Tags)
	return d
}

// maxGroup is how many tags of a name are counted one by one: tags such as
// source:ukwiki:123 tell single questions apart.
const maxGroup = 24

func groups(tags []TagCount) []Group {
	var out []Group
	at := map[string]int{}
	for _, t := range tags {
		name, rest, ok := strings.Cut(t.Tag, ":")
		if !ok {
			name, rest = "", t.Tag
		}
		if _, have := at[name]; !have {
			at[name] = len(out)
			out = append(out, Group{Name: name})
		}
		g := &out[at[name]]
		t.Tag = rest
		g.Tags = append(g.Tags, t)
	}
	slices.SortFunc(out, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(out, func(g Group) bool { return g.Name == "split" || len(g.Tags) > maxGroup })
}
