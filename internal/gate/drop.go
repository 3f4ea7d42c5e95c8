package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"raglab/internal/pairing"
	"raglab/internal/report"
	"raglab/internal/stats"
)

// mostRegressed is how many questions a failed drop lists.
const mostRegressed = 10

// compare checks that no row fell below the baseline's.
func (o *Outcome) compare(q Request) error {
	primary := q.Results.Primary
	if !slices.Contains(q.Baseline.Metrics, primary) {
		return fmt.Errorf("the baseline has no metric %s, by which the results are compared; it has %s", primary, strings.Join(q.Baseline.Metrics, ", "))
	}
	m := pairing.Match(q.Baseline, q.Results)
	var pairs []pairing.Pair
	for _, p := range m.Pairs {
		if q.compared(p.New) {
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return fmt.Errorf("no row of the results has the options of a row of the baseline, %s: nothing can be compared", q.BaselineName)
	}
	questions := pairing.QuestionsOf(q.Baseline, q.Results, primary)
	if questions.Both == 0 {
		return fmt.Errorf("the results and the baseline, %s, have no question in common: nothing can be compared", q.BaselineName)
	}
	o.Baseline, o.Questions = q.BaselineName, &questions
	o.note(q, m, questions)
	for _, metric := range q.comparedMetrics() {
		if !slices.Contains(q.Baseline.Metrics, metric) {
			return fmt.Errorf("the baseline has no metric %s; it has %s", metric, strings.Join(q.Baseline.Metrics, ", "))
		}
		o.drops(q, pairs, metric)
	}
	return nil
}

// compared reports whether a row is to be held against the baseline.
func (q Request) compared(c *report.Configuration) bool {
	if len(q.Rows) > 0 {
		return slices.ContainsFunc(q.Rows, c.Has)
	}
	return len(q.Rules) == 0 || slices.ContainsFunc(q.Rules, func(r report.GateRule) bool { return c.Has(r.Where) })
}

// comparedMetrics are the primary one and those that some rule allows to fall, in the
// order of the results.
func (q Request) comparedMetrics() []string {
	metrics := []string{q.Results.Primary}
	for _, m := range q.Results.Metrics {
		named := func(r report.GateRule) bool { _, ok := r.Allow[m]; return ok }
		if m != q.Results.Primary && slices.ContainsFunc(q.Rules, named) {
			metrics = append(metrics, m)
		}
	}
	return metrics
}

// allowed is how far a row's metric may fall, and false when no rule about the row
// names it: only the primary metric is compared then.
func (q Request) allowed(c *report.Configuration, metric string) (float64, bool) {
	for _, rule := range slices.Backward(q.Rules) {
		if v, ok := rule.Allow[metric]; ok && c.Has(rule.Where) {
			return v, true
		}
	}
	return 0, metric == q.Results.Primary
}

// drops compares rows by one metric. Rows that are one measurement under several
// labels are checked once.
func (o *Outcome) drops(q Request, pairs []pairing.Pair, metric string) {
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p pairing.Pair) bool { _, ok := q.allowed(p.New, metric); return !ok })
	seen := map[[2]string]bool{}
	for i, c := range pairing.Compare(pairs, metric) {
		keys := [2]string{pairs[i].Old.Key, pairs[i].New.Key}
		if keys[0] != "" && keys[1] != "" && seen[keys] {
			continue
		}
		seen[keys] = true
		allowed, _ := q.allowed(pairs[i].New, metric)
		o.Checks = append(o.Checks, dropOf(c, allowed))
	}
	o.notePower(metric)
}

// notePower says how small a drop the comparison could have seen, and warns when it
// could see none: the exact test over n questions has no p below 2 / 2^n, which the
// correction multiplies by the number of rows that changed.
func (o *Outcome) notePower(metric string) {
	questions, changed := 0, 0
	var detectable []float64
	for _, c := range o.Checks {
		if c.Kind != Drop || c.Metric != metric {
			continue
		}
		questions, changed = max(questions, c.Comparison.Questions), c.Comparison.Family
		if c.Comparison.Detectable > 0 {
			detectable = append(detectable, c.Comparison.Detectable)
		}
	}
	switch least := math.Ldexp(float64(changed), 1-questions); {
	case changed == 0:
	case least >= pairing.Alpha:
		o.Notes = append(o.Notes, fmt.Sprintf("%s cannot tell any drop of %s from noise, with %s: this comparison fails nothing.", plural(questions, "question"), metric, plural(changed, "changed row")))
	case len(detectable) > 0:
		o.Notes = append(o.Notes, fmt.Sprintf("So many questions show a true change of %s by about %s in four cases of five; a smaller one mostly goes unseen.", metric, figure(stats.NearestRank(detectable, 50))))
	}
}

// dropOf decides about one row: a drop fails when the data can tell it from noise and
// it is larger than allowed. A row without values fails too: nothing says that it
// did not fall.
func dropOf(c pairing.Comparison, allowed float64) Check {
	check := Check{Kind: Drop, Row: c.Row, Metric: c.Metric, Limit: allowed, Comparison: &c}
	if c.Questions == 0 {
		check.Text = fmt.Sprintf("%s of %s has no values to compare with the baseline's.", c.Metric, c.Row)
		return check
	}
	now := c.New
	check.Measured = &now
	check.Passed = !(c.Tell && c.Difference < 0 && -c.Difference > allowed)
	check.Text = fmt.Sprintf("%s of %s %s", c.Metric, c.Row, dropSentence(c, allowed, check.Passed))
	if !check.Passed {
		lost := c.Lost()
		check.Regressed = lost[:min(mostRegressed, len(lost))]
	}
	return check
}

func dropSentence(c pairing.Comparison, allowed float64, passed bool) string {
	from := fmt.Sprintf("from %s to %s", figure(c.Old), figure(c.New))
	bounds := fmt.Sprintf("95 %% interval %+.3f to %+.3f, p %s over %s", c.Low, c.High, pValue(c.P), plural(c.Family, "changed row"))
	switch {
	case len(c.Changes) == 0:
		return fmt.Sprintf("is what it was, %s, on every question.", figure(c.Old))
	case c.Difference >= 0:
		return fmt.Sprintf("went %s (%s).", from, bounds)
	case !c.Tell:
		return fmt.Sprintf("went %s, which the data cannot tell from noise (%s).", from, bounds)
	case passed:
		return fmt.Sprintf("fell %s, by no more than the %s allowed (%s).", from, figure(allowed), bounds)
	case allowed == 0:
		return fmt.Sprintf("fell %s, which is not noise (%s); %s lost, %s won.", from, bounds, plural(c.Losses, "question"), strconv.Itoa(c.Wins))
	}
	return fmt.Sprintf("fell %s, by more than the %s allowed, which is not noise (%s); %s lost, %s won.", from, figure(allowed), bounds, plural(c.Losses, "question"), strconv.Itoa(c.Wins))
}

// note says what was left out of the comparison.
func (o *Outcome) note(q Request, m pairing.Matching, questions pairing.Questions) {
	add := func(format string, args ...any) { o.Notes = append(o.Notes, fmt.Sprintf(format, args...)) }
	if q.Baseline.Experiment != q.Results.Experiment {
		add("The baseline is of the experiment %s, the results are of %s.", q.Baseline.Experiment, q.Results.Experiment)
	}
	if !questions.Same() {
		add("The questions are not the same: compared are the %d that both have; %d are in the baseline alone and %d in the results alone.", questions.Both, len(questions.OnlyOld), len(questions.OnlyNew))
	}
	if q.Baseline.Depth != q.Results.Depth {
		add("Rankings were %d deep in the baseline and are %d deep now.", q.Baseline.Depth, q.Results.Depth)
	}
	if len(q.Rows) == 0 && len(m.OnlyOld) > 0 {
		add("Not compared, in the baseline alone: %s.", names(m.OnlyOld))
	}
	if len(q.Rows) == 0 && len(m.OnlyNew) > 0 {
		add("Not compared, in the results alone: %s.", names(m.OnlyNew))
	}
	if m.Ambiguous {
		add("A factor that only one of the two has tells rows apart that are the same otherwise.")
	}
}

// names lists the first few rows.
func names(rows []*report.Configuration) string {
	const few = 5
	var list []string
	for _, c := range rows[:min(few, len(rows))] {
		list = append(list, c.Name)
	}
	text := strings.Join(list, ", ")
	if more := len(rows) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func figure(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return "= " + strconv.FormatFloat(p, 'f', 3, 64)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
