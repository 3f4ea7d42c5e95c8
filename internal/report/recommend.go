package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// CostNames are what cheap may mean.
var CostNames = []string{"p95", "ingest", "index", "usd"}

// DefaultCostOrder is what cheap means unless the spec says otherwise.
var DefaultCostOrder = []string{"p95", "ingest", "index"}

// cost is one of the things that a row costs.
type cost struct {
	// noun is a sentence's, with its article.
	noun, short string
	// of is nil where the row is not measured.
	of func(*Configuration) *float64
	// step is a difference that is never told.
	step float64
	show func(float64) string
}

// costsByName are the costs of [CostNames].
var costsByName = map[string]cost{
	"p95": {"a p95", "p95", func(c *Configuration) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P95
	}, 1, func(v float64) string { return millis(&v) + " ms" }},
	"ingest": {"an ingest", "ingest", func(c *Configuration) *float64 { return c.IngestSeconds }, 0.1, func(v float64) string { return seconds(&v) + " s" }},
	"index": {"an index", "index", func(c *Configuration) *float64 {
		if c.IndexBytes == nil {
			return nil
		}
		v := float64(*c.IndexBytes)
		return &v
	}, 1e4, func(v float64) string { return number(&v, 1e6, 2) + " MB" }},
	"usd": {"a price of 1,000 questions", "price of 1,000 questions", func(c *Configuration) *float64 {
		if c.Cost == nil {
			free := 0.0
			return &free
		}
		return c.Cost.Questions
	}, 1e-6, func(v float64) string { return dollars(&v, false) + " USD" }},
}

// tolerance is the share of a cost within which another is the same, because it was
// measured once and would come out otherwise again.
const tolerance = 0.05

// upTo is the highest cost that counts as the same as the least.
func (k cost) upTo(least float64) float64 { return least + max(tolerance*least, k.step) }

// compare says whether a costs less than b, or more, beyond the tolerance.
// An unmeasured cost is the highest.
func (k cost) compare(a, b *Configuration) int {
	x, y := valueOr(k.of(a), math.Inf(1)), valueOr(k.of(b), math.Inf(1))
	switch {
	case x > k.upTo(y):
		return 1
	case y > k.upTo(x):
		return -1
	}
	return 0
}

func (r *Report) costOrder() []string {
	if len(r.CostOrder) > 0 {
		return r.CostOrder
	}
	return DefaultCostOrder
}

// byCost orders rows, cheapest first. Of those left, the ones whose first cost is the
// least, or the same within the tolerance, stay in the running; of these those whose
// second cost is the least; and so on, until the primary metric decides, and at last
// the order of the cross. Held against the least, and not against each other, rows have
// an order although being the same within a tolerance is no equivalence.
func (r *Report) byCost(rows []*Configuration) []*Configuration {
	type priced struct {
		row   *Configuration
		costs []float64
	}
	left := make([]priced, len(rows))
	for i, c := range rows {
		left[i].row = c
		for _, name := range r.costOrder() {
			left[i].costs = append(left[i].costs, valueOr(costsByName[name].of(c), math.Inf(1)))
		}
	}
	var out []*Configuration
	running := make([]int, 0, len(left))
	for len(left) > 0 {
		running = running[:0]
		for i := range left {
			running = append(running, i)
		}
		for k, name := range r.costOrder() {
			least := math.Inf(1)
			for _, i := range running {
				least = min(least, left[i].costs[k])
			}
			limit := costsByName[name].upTo(least)
			running = slices.DeleteFunc(running, func(i int) bool { return left[i].costs[k] > limit })
		}
		chosen := running[0]
		for _, i := range running[1:] {
			if *left[i].row.Metrics[r.Primary] > *left[chosen].row.Metrics[r.Primary] {
				chosen = i
			}
		}
		out = append(out, left[chosen].row)
		left = slices.Delete(left, chosen, chosen+1)
	}
	return out
}

// recommend picks the cheapest of the rows whose difference from the best has an
// interval that holds 0. The interval decides, not the word that is corrected for many
// comparisons: the correction keeps rows from being called worse by luck, and the more
// rows there are the more would pass for as good as the best. A measurement that stands
// in several rows counts once, by the first of them.
func (r *Report) recommend() {
	r.Recommended = nil
	rows := r.measurements()
	if len(rows) < 2 {
		return
	}
	ranked := r.Ranked()
	best := ranked[0]
	var level, worse []*Configuration
	for _, c := range rows {
		a := c.Against
		switch {
		case c.Key == best.Key && c.Key != "" || c == best, a != nil && a.Verdict == Level && a.Low <= 0 && a.High >= 0:
			level = append(level, c)
		case a != nil && a.Verdict != NotTested:
			worse = append(worse, c)
		}
	}
	if len(level)+len(worse) < 2 {
		return
	}
	level = r.byCost(level)
	rec := &Recommendation{Row: level[0].Name, Best: best.Name, Order: r.costOrder()}
	for _, c := range level {
		rec.Level = append(rec.Level, c.Name)
	}
	o := otherwise{r: r, chosen: level[0], best: best, level: level, worse: worse}
	rec.Otherwise = o.sentences()
	r.Recommended = rec
}

// otherwise says what would have to be true for another row to be chosen.
type otherwise struct {
	r            *Report
	chosen, best *Configuration
	level, worse []*Configuration
}

// mostOthers is how many rows that are as good get a sentence each.
const mostOthers = 4

func (o otherwise) sentences() []string {
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	add(o.theBest())
	add(o.questions())
	others := slices.DeleteFunc(slices.Clone(o.level[1:]), func(c *Configuration) bool {
		return c == o.best || c.Key != "" && c.Key == o.best.Key
	})
	for _, c := range others[:min(mostOthers, len(others))] {
		add(o.asGood(c))
	}
	if n := len(others) - mostOthers; n > 0 {
		add(fmt.Sprintf("%s more may be as good as the best, and cost no less.", count(n, "row", "rows")))
	}
	add(o.cheaperButWorse())
	for _, name := range o.r.costOrder() {
		add(o.unmeasured(costsByName[name]))
	}
	if len(o.r.Machines) > 1 {
		add(fmt.Sprintf("Times come from %d machines and are not comparable: p95 and ingest may favour the wrong row.", len(o.r.Machines)))
	}
	return out
}

// isBest reports whether the best row is the chosen one.
func (o otherwise) isBest() bool {
	return o.chosen == o.best || o.chosen.Key != "" && o.chosen.Key == o.best.Key
}

// theBest is about the row with the best mean, when it is not chosen.
func (o otherwise) theBest() string {
	if o.isBest() {
		return ""
	}
	gain := *o.best.Metrics[o.r.Primary] - *o.chosen.Metrics[o.r.Primary]
	s := fmt.Sprintf("%s would be chosen if its %.3f %s more, whose interval holds 0, were real", o.best.Name, gain, o.r.Primary)
	if more := o.more(o.best); more != "" {
		s += " and worth " + more
	}
	return s + "."
}

// more says what a row costs beyond the chosen one.
func (o otherwise) more(c *Configuration) string {
	var parts []string
	for _, name := range o.r.costOrder() {
		k := costsByName[name]
		x, y := k.of(c), k.of(o.chosen)
		if x != nil && y != nil && k.compare(c, o.chosen) > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s instead of %s", k.noun, k.show(*x), k.show(*y)))
		}
	}
	return listed(parts)
}

// questions is about how many questions could tell the chosen row from the best.
func (o otherwise) questions() string {
	a := o.chosen.Against
	if o.isBest() || a == nil || a.Detectable <= 0 || math.Abs(a.Difference) <= rounded {
		return ""
	}
	n := float64(a.Wins + a.Ties + a.Losses)
	needed := n * a.Detectable / a.Difference * a.Detectable / a.Difference
	if needed > 1e7 {
		return fmt.Sprintf("No number of questions that anybody could judge would tell %s from %s: they differ by %.2g %s on average.", o.chosen.Name, o.best.Name, math.Abs(a.Difference), o.r.Primary)
	}
	return fmt.Sprintf("No fewer than about %s questions could be expected to tell %s from %s, if they differ by as much as they do on these %.0f and vary as much.", rough(needed), o.chosen.Name, o.best.Name, n)
}

// rough is a number with two digits that count.
func rough(v float64) string {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(v))-1))
	return strconv.FormatFloat(math.Ceil(v/unit)*unit, 'f', 0, 64)
}

// asGood is about a row that cannot be told from the best, but costs more.
func (o otherwise) asGood(c *Configuration) string {
	var noMatter, instead []string
	for _, name := range o.r.costOrder() {
		k := costsByName[name]
		x, y := k.of(c), k.of(o.chosen)
		switch {
		case x == nil || y == nil:
		case k.compare(c, o.chosen) > 0:
			noMatter = append(noMatter, fmt.Sprintf("%s of %s instead of %s", k.noun, k.show(*x), k.show(*y)))
		case k.compare(c, o.chosen) < 0:
			instead = append(instead, fmt.Sprintf("its %s of %s instead of %s", k.short, k.show(*x), k.show(*y)))
		}
	}
	score := fmt.Sprintf("%.3f %s", valueOr(c.Metrics[o.r.Primary], math.NaN()), o.r.Primary)
	switch {
	case len(noMatter) > 0 && len(instead) > 0:
		return fmt.Sprintf("%s (%s) would be chosen if %s counted more than %s.", c.Name, score, listed(instead), listed(noMatter))
	case len(noMatter) > 0:
		return fmt.Sprintf("%s (%s) would be as good a choice if %s were no matter.", c.Name, score, listed(noMatter))
	}
	return ""
}

// cheaperButWorse is about the best of the rows that cost less and may not pass for as
// good as the best.
func (o otherwise) cheaperButWorse() string {
	var found *Configuration
	for _, c := range o.worse {
		if o.r.costsLess(c, o.chosen) && (found == nil || *c.Metrics[o.r.Primary] > *found.Metrics[o.r.Primary]) {
			found = c
		}
	}
	if found == nil {
		return ""
	}
	k := costsByName[o.r.costOrder()[0]]
	return fmt.Sprintf("%s would be chosen if %.3f %s less than the best were no matter: it has %s of %s instead of %s.",
		found.Name, -found.Against.Difference, o.r.Primary, k.noun, k.show(*k.of(found)), k.show(*k.of(o.chosen)))
}

// costsLess reports whether the first cost of a row is measured and lower.
func (r *Report) costsLess(a, b *Configuration) bool {
	k := costsByName[r.costOrder()[0]]
	return k.of(a) != nil && k.of(b) != nil && k.compare(a, b) < 0
}

// unmeasured is about a cost that is not known of all rows.
func (o otherwise) unmeasured(k cost) string {
	var names []string
	for _, c := range o.level {
		if k.of(c) == nil {
			names = append(names, c.Name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == len(o.level):
		return fmt.Sprintf("The %s is measured of none of these rows.", k.short)
	case len(names) > mostOthers:
		names = append(names[:mostOthers-1], count(len(names)-mostOthers+1, "other row", "other rows"))
	}
	return fmt.Sprintf("The %s of %s is not measured, which counts as the highest.", k.short, listed(names))
}

// listed joins parts of a sentence.
func listed(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
