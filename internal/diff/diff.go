// Package diff says how two results differ: in their settings, in the means of their
// rows, and in the questions that were won and lost.
package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"raglab/internal/pairing"
	"raglab/internal/report"
)

// Setting is something that results follow from and that is not the same in both.
// A side that lacks it is empty.
type Setting struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Metric is a mean of a row, null where it is unmeasured.
type Metric struct {
	Name string   `json:"name"`
	Old  *float64 `json:"old"`
	New  *float64 `json:"new"`
}

// Row is a row that both results have, by its options.
type Row struct {
	Name string `json:"configuration"`
	// Metrics are those that one of the results has, and P95 the 95th percentile of a
	// question's latency in ms, which two measurements of the same may differ in.
	Metrics []Metric `json:"metrics"`
	P95     Metric   `json:"p95_ms"`
	// Comparison is by the primary metric of the new results, over the questions that
	// both have; null when the old ones lack it.
	Comparison *pairing.Comparison `json:"comparison"`
	// Won and Lost are the questions whose value of it rose and fell, largest first.
	Won  []pairing.Change `json:"won,omitempty"`
	Lost []pairing.Change `json:"lost,omitempty"`
	// Changed tells that some mean or some question's value is another.
	Changed bool `json:"changed"`
}

// Question is one that changed, over all rows that both results have.
type Question struct {
	ID string `json:"id"`
	// Change is the mean change over the rows, each measurement once; Rows is in how
	// many of them it changed.
	Change float64 `json:"change"`
	Rows   int     `json:"rows"`
}

// Result is how two results differ.
type Result struct {
	Old     string `json:"old"` // what was compared, by name
	New     string `json:"new"`
	Primary string `json:"primary"`
	// Same tells that neither a setting, a row, a mean nor a question's value differs.
	// Times do not count.
	Same      bool              `json:"same"`
	Settings  []Setting         `json:"settings"`
	Questions pairing.Questions `json:"questions"`
	// Rows are in the order of the new results.
	Rows    []Row    `json:"rows"`
	OnlyOld []string `json:"only_old,omitempty"`
	OnlyNew []string `json:"only_new,omitempty"`
	// Won and Lost are the questions that changed for the better and for the worse,
	// largest first.
	Won   []Question `json:"won"`
	Lost  []Question `json:"lost"`
	Notes []string   `json:"notes,omitempty"`
}

// Of compares two results, which have names for people.
func Of(oldName string, old *report.Report, newName string, new *report.Report) *Result {
	m := pairing.Match(old, new)
	r := &Result{
		Old: oldName, New: newName, Primary: new.Primary,
		Settings: settings(old, new), Questions: pairing.QuestionsOf(old, new, new.Primary),
		OnlyOld: names(m.OnlyOld), OnlyNew: names(m.OnlyNew), Rows: []Row{}, Won: []Question{}, Lost: []Question{},
	}
	comparable := slices.Contains(old.Metrics, new.Primary)
	var found []pairing.Comparison
	if comparable {
		found = pairing.Compare(m.Pairs, new.Primary)
	} else {
		r.Notes = append(r.Notes, fmt.Sprintf("The old results lack %s: nothing is tested.", new.Primary))
	}
	for i, p := range m.Pairs {
		row := rowOf(p, metricsOf(old, new))
		if comparable {
			c := &found[i]
			row.Comparison, row.Won, row.Lost = c, c.Won(), c.Lost()
			row.Changed = row.Changed || len(c.Changes) > 0
		}
		r.Rows = append(r.Rows, row)
	}
	if q := r.Questions; !q.Same() {
		r.Notes = append(r.Notes, fmt.Sprintf("The questions are not the same: compared are the %d that both have; %d are in the old results alone and %d in the new ones alone.", q.Both, len(q.OnlyOld), len(q.OnlyNew)))
	}
	if m.Ambiguous {
		r.Notes = append(r.Notes, "A factor that only one of the two has tells rows apart that are the same otherwise; they have no counterpart.")
	}
	r.questions(m.Pairs, found)
	r.Same = len(r.Settings) == 0 && r.Questions.Same() && len(r.OnlyOld)+len(r.OnlyNew) == 0 &&
		!slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Changed })
	return r
}

func names(rows []*report.Configuration) []string {
	var out []string
	for _, c := range rows {
		out = append(out, c.Name)
	}
	return out
}

// metricsOf are those of the new results, then those that only the old ones have.
func metricsOf(old, new *report.Report) []string {
	all := slices.Clone(new.Metrics)
	for _, m := range old.Metrics {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

func rowOf(p pairing.Pair, metrics []string) Row {
	row := Row{Name: p.New.Name, P95: Metric{Name: "p95 ms"}}
	for _, name := range metrics {
		m := Metric{name, p.Old.Metrics[name], p.New.Metrics[name]}
		row.Changed = row.Changed || !m.same()
		row.Metrics = append(row.Metrics, m)
	}
	if p.Old.Latency != nil {
		row.P95.Old = &p.Old.Latency.P95
	}
	if p.New.Latency != nil {
		row.P95.New = &p.New.Latency.P95
	}
	return row
}

// same takes values for equal that differ in their last digits: sums may be made in
// another order.
func (m Metric) same() bool {
	if m.Old == nil || m.New == nil {
		return m.Old == m.New
	}
	return math.Abs(*m.Old-*m.New) <= 1e-12
}

// questions adds up what became of each question over the rows.
func (r *Result) questions(pairs []pairing.Pair, found []pairing.Comparison) {
	changed := map[string]*Question{}
	seen := map[[2]string]bool{}
	measurements := 0
	for i := range found {
		keys := [2]string{pairs[i].Old.Key, pairs[i].New.Key}
		if keys[0] != "" && keys[1] != "" && seen[keys] {
			continue
		}
		seen[keys] = true
		measurements++
		for _, c := range found[i].Changes {
			q := changed[c.Question]
			if q == nil {
				q = &Question{ID: c.Question}
				changed[c.Question] = q
			}
			q.Rows++
			q.Change += c.New - c.Old
		}
	}
	for _, q := range changed {
		q.Change /= float64(measurements)
		if q.Change > 0 {
			r.Won = append(r.Won, *q)
		} else {
			r.Lost = append(r.Lost, *q)
		}
	}
	largest := func(a, b Question) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)), cmp.Compare(b.Rows, a.Rows), strings.Compare(a.ID, b.ID))
	}
	slices.SortFunc(r.Won, largest)
	slices.SortFunc(r.Lost, largest)
}
