// Package pairing holds two results against each other: row by row, by the options
// that rows have, and question by question.
package pairing

import (
	"maps"
	"slices"
	"strings"

	"raglab/internal/report"
)

// Pair is a row in the old results and the row of the same options in the new ones.
type Pair struct{ Old, New *report.Configuration }

// Matching are the rows of two results, paired.
type Matching struct {
	// Pairs are in the order of the new results.
	Pairs []Pair
	// OnlyOld and OnlyNew are rows without a counterpart, in the order of their results.
	OnlyOld, OnlyNew []*report.Configuration
	// Ambiguous tells that a factor which only one of the two has tells rows apart that
	// are the same by all others; such rows have no counterpart.
	Ambiguous bool
}

// Match pairs rows that have the same options of all factors that both results
// have. A factor that only one of them has does not part rows, as long as it leaves
// one row on each side.
func Match(old, new *report.Report) Matching {
	common := commonFactors(old, new)
	was, is := byOptions(old, common), byOptions(new, common)
	var m Matching
	paired := map[*report.Configuration]bool{}
	for i := range new.Configurations {
		c := &new.Configurations[i]
		key := optionsKey(c, common)
		switch a, b := was[key], is[key]; {
		case len(a) == 1 && len(b) == 1:
			m.Pairs = append(m.Pairs, Pair{a[0], c})
			paired[a[0]] = true
		default:
			m.Ambiguous = m.Ambiguous || len(a) > 0
			m.OnlyNew = append(m.OnlyNew, c)
		}
	}
	for i := range old.Configurations {
		if c := &old.Configurations[i]; !paired[c] {
			m.OnlyOld = append(m.OnlyOld, c)
		}
	}
	return m
}

func commonFactors(a, b *report.Report) []string {
	var names []string
	for _, f := range a.Factors {
		if slices.ContainsFunc(b.Factors, func(g report.Factor) bool { return g.Name == f.Name }) {
			names = append(names, f.Name)
		}
	}
	return names
}

func byOptions(r *report.Report, factors []string) map[string][]*report.Configuration {
	rows := map[string][]*report.Configuration{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		key := optionsKey(c, factors)
		rows[key] = append(rows[key], c)
	}
	return rows
}

func optionsKey(c *report.Configuration, factors []string) string {
	var b strings.Builder
	for _, f := range factors {
		b.WriteString(c.Options[f])
		b.WriteByte(0)
	}
	return b.String()
}

// Questions counts the questions of two results that some row is scored on.
type Questions struct {
	Old  int `json:"old"`
	New  int `json:"new"`
	Both int `json:"both"`
	// OnlyOld and OnlyNew are the ids of the others, sorted.
	OnlyOld []string `json:"only_old,omitempty"`
	OnlyNew []string `json:"only_new,omitempty"`
}

// Same reports whether both results have the same questions.
func (q Questions) Same() bool { return q.Both == q.Old && q.Both == q.New }

// QuestionsOf compares the questions of two results. A row's question counts when
// the metric has a value for it.
func QuestionsOf(old, new *report.Report, metric string) Questions {
	was, is := scored(old, metric), scored(new, metric)
	q := Questions{Old: len(was), New: len(is)}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] {
			q.Both++
		} else {
			q.OnlyOld = append(q.OnlyOld, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(is)) {
		if !was[id] {
			q.OnlyNew = append(q.OnlyNew, id)
		}
	}
	return q
}

func scored(r *report.Report, metric string) map[string]bool {
	ids := map[string]bool{}
	for _, c := range r.Configurations {
		for id, values := range c.PerQuestion {
			if values[metric] != nil {
				ids[id] = true
			}
		}
	}
	return ids
}
