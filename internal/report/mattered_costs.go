package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// measure is something that an option costs, with the least difference worth a
// word: smaller ones lie within what a machine measures of one and the same work.
type measure struct {
	name  string
	value func(*Configuration) *float64
	least float64
	show  func(float64) string
}

// measures are the costs that sentences tell, in their order.
var measures = []measure{
	{"ingest", func(c *Configuration) *float64 { return c.IngestSeconds }, 0.5, func(v float64) string { return seconds(&v) + " s" }},
	{"p50 of a question", func(c *Configuration) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P50
	}, 1, func(v float64) string { return millis(&v) + " ms" }},
	{"p95", func(c *Configuration) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P95
	}, 1, func(v float64) string { return millis(&v) + " ms" }},
	{"index", func(c *Configuration) *float64 {
		if c.IndexBytes == nil {
			return nil
		}
		v := float64(*c.IndexBytes)
		return &v
	}, 1e5, func(v float64) string { return number(&v, 1e6, 2) + " MB" }},
	{"ingest bill", func(c *Configuration) *float64 {
		if c.Cost == nil {
			return nil
		}
		return c.Cost.Ingest
	}, 0, func(v float64) string { return dollars(&v, false) + " USD" }},
	{"bill of 1,000 questions", func(c *Configuration) *float64 {
		if c.Cost == nil {
			return nil
		}
		return c.Cost.Questions
	}, 0, func(v float64) string { return dollars(&v, false) + " USD" }},
}

// leastShare is the least difference of a cost, as a share of the larger one, that is
// worth a word.
const leastShare = 0.1

// costFindings say what the options of an axis cost against the one that they are
// held against: the best leg of one that fuses, else the first. Options that cost
// the same have no sentence.
func (r *Report) costFindings(e Effect) []Finding {
	axis := r.factor(e.Axis)
	if axis == nil {
		return nil
	}
	rows, _ := r.comparable(*axis)
	var found []Finding
	base := ""
	for _, label := range axis.Labels {
		against := r.bestLeg(e, label)
		if against == "" && base == "" {
			base = label
			continue
		}
		if against == "" {
			against = base
		}
		if f, ok := r.costFinding(e.Axis, label, against, rows); ok {
			found = append(found, f)
		}
	}
	return found
}

func (r *Report) costFinding(axis, label, base string, rows map[string][]*Configuration) (Finding, bool) {
	f := Finding{Kind: "cost", Axis: axis}
	var told, unknown []string
	for _, m := range measures {
		a, b := meanOf(rows[label], m.value), meanOf(rows[base], m.value)
		if a == nil || b == nil {
			if anyOf(rows[label], m.value) || anyOf(rows[base], m.value) {
				unknown = append(unknown, m.name)
			}
			continue
		}
		difference, larger := math.Abs(*a-*b), max(math.Abs(*a), math.Abs(*b))
		if difference > 0 && difference >= m.least && difference >= leastShare*larger {
			f.Size = max(f.Size, difference/larger)
			told = append(told, fmt.Sprintf("%s %s (%s against %s)", m.name, plusMinus(*a-*b, m.show), m.show(*a), m.show(*b)))
		}
	}
	if len(told) == 0 {
		return f, false
	}
	f.Text = fmt.Sprintf("What %s costs against %s, on average: %s", r.called(axis, label), r.called(axis, base), strings.Join(told, ", "))
	if len(unknown) > 0 {
		f.Text += "; unmeasured: " + strings.Join(unknown, ", ")
	}
	f.Text += "."
	return f, true
}

// anyOf reports whether some row has the value.
func anyOf(rows []*Configuration, value func(*Configuration) *float64) bool {
	return slices.ContainsFunc(rows, func(c *Configuration) bool { return value(c) != nil })
}

func plusMinus(v float64, show func(float64) string) string {
	if v < 0 {
		return "−" + show(-v)
	}
	return "+" + show(v)
}
