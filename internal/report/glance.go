package report

import (
	"fmt"
	"slices"
	"strings"
)

// Baseline is the row that others are improvements on: the first, which has each
// axis at its first option, or at the base of the cross. It is nil without rows.
func (r *Report) Baseline() *Configuration {
	if len(r.Configurations) == 0 {
		return nil
	}
	return &r.Configurations[0]
}

// glanceTable says in a few lines what came out.
func (r *Report) glanceTable(ranked []*Configuration) Table {
	t := Table{Name: "glance", Title: "Results at a glance"}
	t.Items = append(t.Items, r.countItem())
	if len(ranked) == 0 || ranked[0].Metrics[r.Primary] == nil {
		t.Items = append(t.Items, "No configuration is measured.")
		return t
	}
	best := ranked[0]
	t.Items = append(t.Items, "Best: "+r.inShort(best))
	worst := best
	for _, c := range ranked {
		if c.Metrics[r.Primary] != nil {
			worst = c
		}
	}
	if worst != best {
		t.Items = append(t.Items, "Worst: "+r.inShort(worst)+r.behind(worst))
	}
	if base := r.Baseline(); base != nil && base.Metrics[r.Primary] != nil && base != worst {
		if base == best || base.Key == best.Key {
			t.Items = append(t.Items, "Baseline, the first row: "+base.marked()+", the same measurement as the best")
		} else {
			t.Items = append(t.Items, "Baseline, the first row: "+r.inShort(base)+r.behind(base))
		}
	}
	if held := r.held(); held != "" {
		t.Items = append(t.Items, fmt.Sprintf("Held fixed: %s; %d results deep.", held, r.Depth))
	}
	return r.recommended(t)
}

// recommended adds the recommendation.
func (r *Report) recommended(t Table) Table {
	rec := r.Recommended
	if rec == nil {
		return t
	}
	s := "Recommended: " + rec.Row
	if c := r.Row(rec.Row); c != nil {
		s = "Recommended: " + r.inShort(c)
	}
	if n := len(rec.Level); n > 1 {
		s += fmt.Sprintf(", the cheapest by %s of %d that may be as good as the best: the 95 %% interval of the difference holds 0.", strings.Join(rec.Order, ", then "), n)
	} else {
		s += ", as no other may be as good: the 95 % interval of no difference holds 0."
	}
	t.Items = append(t.Items, s)
	return t
}

// otherwiseTable says what would have to be true for another row to be chosen.
func (r *Report) otherwiseTable() Table {
	return Table{
		Name: "recommended", Title: "Recommended: " + r.Recommended.Row, Items: r.Recommended.Otherwise,
		Note: "The cheapest row, by " + strings.Join(r.Recommended.Order, ", then ") + ", of those that may be as good as the best: the 95 % interval of the difference holds 0. What would have to be true for another to be chosen:",
	}
}

func (r *Report) countItem() string {
	keys := map[string]bool{}
	for _, c := range r.Configurations {
		if c.Key != "" {
			keys[c.Key] = true
		}
	}
	s := "Configurations: " + fmt.Sprint(len(r.Configurations))
	if len(keys) < len(r.Configurations) {
		s += fmt.Sprintf(", which are %s", count(len(keys), "measurement", "measurements"))
	}
	s += fmt.Sprintf("; %s", count(r.Questions.Scored, "test question", "test questions"))
	if r.Questions.Dev > 0 {
		s += fmt.Sprintf(", %d held out for tuning", r.Questions.Dev)
	}
	return s + "."
}

// inShort is a row with its metrics, the primary one first with its interval, and
// its latency.
func (r *Report) inShort(c *Configuration) string {
	primary := r.Primary + " " + score(c.Metrics[r.Primary])
	if i := c.Intervals[r.Primary]; i != nil {
		primary += fmt.Sprintf(" (95 %% interval %.3f…%.3f)", i.Low, i.High)
	}
	parts := []string{primary}
	for _, m := range r.Metrics {
		if m != r.Primary && c.Metrics[m] != nil {
			parts = append(parts, m+" "+score(c.Metrics[m]))
		}
	}
	if c.Latency != nil {
		parts = append(parts, "p50 "+c.Latency.mark(millis(&c.Latency.P50))+" ms", "p95 "+c.Latency.mark(millis(&c.Latency.P95))+" ms")
	}
	return c.marked() + ": " + strings.Join(parts, ", ")
}

// marked is the row's name, with the marks of axes that make no difference to it.
func (c *Configuration) marked() string {
	if len(c.Inert) > 0 {
		return c.Name + "*"
	}
	return c.Name
}

// behind says how a row compares with the best.
func (r *Report) behind(c *Configuration) string {
	if c.Against == nil {
		return ""
	}
	word := "which the data cannot tell from the best (" + Level + ")"
	if c.Against.verdict() == Separated {
		word = Separated + " from the best"
	}
	return fmt.Sprintf("; %s %s, %s", signed(c.Against.Difference), r.Primary, word)
}

// matteredTable lists the first findings, all of them with most at 0.
func (r *Report) matteredTable(most int) Table {
	t := Table{Name: "mattered", Title: "What actually mattered", Ordered: true}
	found := r.Mattered
	if most > 0 && len(found) > most {
		found = found[:most]
		t.Foot = fmt.Sprintf("And %d more, in raglab report.", len(r.Mattered)-most)
	}
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Kind != "cost" }) {
		t.Note = fmt.Sprintf("By measured effect on %s, largest first, then costs. Made from the numbers, what lost and what cannot be told included. Verdicts are corrected for the comparisons made together, intervals are not.", r.Primary)
	}
	for _, f := range found {
		t.Items = append(t.Items, f.Text)
	}
	return t
}

func (r *Report) limitsTable() Table {
	return Table{Name: "limits", Title: "Limits", Items: r.Limits}
}

// briefFindings is how many findings an apply ends with.
const briefFindings = 5

// Brief returns the tables with which an apply ends: the glance, the best rows,
// the findings that matter most, and the expected figures.
func (r *Report) Brief() []Table {
	ranked := r.Ranked()
	tables := []Table{r.glanceTable(ranked), r.bestTable(ranked)}
	if len(r.Mattered) > 0 {
		tables = append(tables, r.matteredTable(briefFindings))
	}
	if len(r.Expectations) > 0 {
		tables = append(tables, r.expectationTable())
	}
	return tables
}
