package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// findings fills in [Report.Mattered]: what each axis, each option, each pair of
// axes, each tag and each fitted parameter is worth, largest first, and then what
// options cost. Sentences say no more than their numbers.
func (r *Report) findings(memory *Memory) {
	var found []Finding
	for _, e := range r.Effects {
		found = append(found, r.axisFinding(e))
		found = append(found, r.optionFindings(e, memory)...)
	}
	for _, i := range r.Interactions {
		found = append(found, r.interactionFinding(i))
	}
	for _, v := range r.Reversals {
		found = append(found, r.reversalFinding(v))
	}
	for _, t := range r.Tuning {
		found = append(found, r.tuningFinding(t))
	}
	bySize := func(a, b Finding) int { return cmp.Compare(math.Abs(b.Size), math.Abs(a.Size)) }
	slices.SortStableFunc(found, bySize)
	var costs []Finding
	for _, e := range r.Effects {
		costs = append(costs, r.costFindings(e)...)
	}
	slices.SortStableFunc(costs, bySize)
	r.Mattered = append(found, costs...)
}

func (r *Report) axisFinding(e Effect) Finding {
	f := Finding{Kind: "axis", Axis: e.Axis, Size: e.Worth, Verdict: NotTested}
	switch {
	case e.Best == "":
		f.Text = fmt.Sprintf("Of %s nothing can be told: no row is measured to which it makes a difference.", e.Axis)
	case e.measured(r.Primary) < 2:
		f.Text = fmt.Sprintf("Of %s nothing can be told: not all of its options are measured.", e.Axis)
	case e.Best == e.Worst:
		f.Text = fmt.Sprintf("The choice of %s is worth 0.000 %s: all of its options score %s, averaged over everything else.", e.Axis, r.Primary, score(e.mean(e.Best, r.Primary)))
		f.Verdict = Level
	default:
		f.Text = fmt.Sprintf("The choice of %s is worth %.3f %s: averaged over everything else, %s scores %s and %s scores %s",
			e.Axis, e.Worth, r.Primary, e.Best, score(e.mean(e.Best, r.Primary)), e.Worst, score(e.mean(e.Worst, r.Primary)))
		if e.Explained != nil {
			f.Text += fmt.Sprintf(", and it explains %s of the spread of the rows that it makes a difference to", share(*e.Explained))
		}
		f.compared("", e.Comparison)
		if e.Unbalanced {
			f.Text += " The options are averaged over different choices of everything else."
		}
	}
	return f
}

// mean is the mean of an option, nil when it is unmeasured or not there.
func (e Effect) mean(label, metric string) *float64 {
	for _, o := range e.Options {
		if o.Label == label {
			return o.Means[metric]
		}
	}
	return nil
}

// compared ends a sentence, in parentheses, with the figures, if any, and what the
// data say of their difference.
func (f *Finding) compared(figures string, c *Comparison) {
	f.Verdict = c.verdict()
	said := f.Verdict
	if c != nil {
		f.Interval = &Interval{c.Low, c.High}
		said = fmt.Sprintf("95 %% interval of the difference %s, %s", fineInterval(c.Low, c.High), f.Verdict)
	}
	if figures != "" {
		said = figures + "; " + said
	}
	f.Text += " (" + said + ")."
}

// verdict is the comparison's word.
func (c *Comparison) verdict() string {
	switch {
	case c == nil:
		return NotTested
	case c.Verdict != "":
		return c.Verdict
	case c.Tell:
		return Separated
	}
	return Level
}

func fineInterval(low, high float64) string { return signed(low) + "…" + signed(high) }

// signed is a difference with three decimals. What rounds to nothing has a plus.
func signed(v float64) string {
	if math.Abs(v) < 0.0005 {
		v = 0
	}
	return fmt.Sprintf("%+.3f", v)
}

// manyOptions is from how many options on an axis's sentences are about the best
// one and those that are told apart from the first.
const manyOptions = 8

// optionFindings holds the options of an axis against one of them: those that fuse
// against the best of their legs, and the others against the first, where that says
// more than the axis does.
func (r *Report) optionFindings(e Effect, memory *Memory) []Finding {
	axis := r.factor(e.Axis)
	if axis == nil || e.Best == "" {
		return nil
	}
	rows, _ := r.comparable(*axis)
	var plainOptions []string
	var found []Finding
	for _, label := range axis.Labels {
		leg := r.bestLeg(e, label)
		if leg == "" {
			plainOptions = append(plainOptions, label)
			continue
		}
		found = append(found, r.against(e, leg, []string{label}, rows, memory)...)
	}
	if len(plainOptions) < 2 || len(axis.Labels) == 2 {
		return found
	}
	told := r.against(e, plainOptions[0], plainOptions[1:], rows, memory)
	if len(plainOptions) > manyOptions {
		told = slices.DeleteFunc(told, func(f Finding) bool { return f.Verdict != Separated })
	}
	return append(told, found...)
}

func (r *Report) factor(name string) *Factor {
	i := slices.IndexFunc(r.Factors, func(f Factor) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Factors[i]
}

// bestLeg is the best of the options that an option fuses, as far as these are
// options of the axis themselves; empty for one that fuses none.
func (r *Report) bestLeg(e Effect, label string) string {
	best := ""
	if d := r.detail(e.Axis, label); d != nil {
		for _, leg := range d.Legs {
			m := e.mean(leg, r.Primary)
			if m != nil && (best == "" || *m > *e.mean(best, r.Primary)) {
				best = leg
			}
		}
	}
	return best
}

// against says what options are worth over another, as far as both are measured and
// the axis's own sentence does not say it.
func (r *Report) against(e Effect, base string, labels []string, rows map[string][]*Configuration, memory *Memory) []Finding {
	_, values := r.option(base, rows[base])
	systems := [][]float64{values}
	var measured []string
	for _, l := range labels {
		if l == e.Best && base == e.Worst || l == e.Worst && base == e.Best {
			continue // the axis's own sentence
		}
		_, per := r.option(l, rows[l])
		if e.mean(l, r.Primary) != nil && e.mean(base, r.Primary) != nil && len(per) == len(values) {
			measured, systems = append(measured, l), append(systems, per)
		}
	}
	var compared []Comparison
	if len(values) > 1 && len(measured) > 0 {
		compared = memory.againstFirst(systems)
	}
	var found []Finding
	for i, l := range measured {
		a, b := *e.mean(l, r.Primary), *e.mean(base, r.Primary)
		f := Finding{
			Kind: "option", Axis: e.Axis, Size: a - b,
			Text: r.called(e.Axis, l) + " " + worthOver(a-b, r.Primary, r.called(e.Axis, base)),
		}
		var c *Comparison
		if i < len(compared) {
			c = &compared[i]
		}
		f.compared(fmt.Sprintf("%.3f against %.3f over %s", a, b, count(len(rows[l]), "row", "rows")), c)
		found = append(found, f)
	}
	return found
}

// called is an option as a sentence names it: one that is only a number says of
// what.
func (r *Report) called(axis, label string) string {
	if strings.Trim(label, "0123456789.-+eE") == "" {
		return axis + " " + label
	}
	return label
}

func worthOver(difference float64, metric, other string) string {
	if difference <= -0.0005 {
		return fmt.Sprintf("loses %.3f %s against %s", -difference, metric, other)
	}
	return fmt.Sprintf("is worth %s %s over %s", signed(difference), metric, other)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (r *Report) interactionFinding(i Interaction) Finding {
	f := Finding{
		Kind: "interaction", Axis: i.A + " × " + i.B, Size: i.Size,
		Text: fmt.Sprintf("What %s is worth depends on %s: what %s is worth over %s differs by %.3f %s between %s and %s",
			i.A, i.B, r.called(i.A, i.OptionA[0]), r.called(i.A, i.OptionA[1]), math.Abs(i.Size), r.Primary, r.called(i.B, i.OptionB[0]), r.called(i.B, i.OptionB[1])),
	}
	f.compared("", i.Tested)
	return f
}

// reversalFinding has the smaller of the two differences for its size: by so much at
// least the sign matters.
func (r *Report) reversalFinding(v Reversal) Finding {
	a, b := math.Abs(v.AheadA), math.Abs(v.AheadB)
	return Finding{
		Kind: "tag", Axis: v.Axis, Size: min(a, b), Verdict: v.Verdict,
		Text: fmt.Sprintf("Which of %s and %s is ahead depends on the question: %s by %.3f %s on those tagged %s, %s by %.3f on those tagged %s (%s).",
			r.called(v.Axis, v.A), r.called(v.Axis, v.B), r.called(v.Axis, v.A), a, r.Primary, v.TagA, r.called(v.Axis, v.B), b, v.TagB, v.Verdict),
	}
}

func (r *Report) tuningFinding(t Tuning) Finding {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range t.Points {
		if p.Mean != nil {
			low, high = min(low, *p.Mean), max(high, *p.Mean)
		}
	}
	names, chosen := strings.Join(t.Names, ", "), strings.Join(t.Chosen, ", ")
	f := Finding{Kind: "tuning", Axis: names}
	switch {
	case low > high:
		f.Text, f.Verdict = fmt.Sprintf("Of fitting %s nothing can be told: no value of its grid is measured.", names), NotTested
		return f
	case t.Flat:
		f.Text = fmt.Sprintf("Fitting %s decides nothing: the dev mean is %.3f for every value of its grid, and the first, %s, was taken.", names, high, chosen)
	default:
		f.Size = high - low
		f.Text = fmt.Sprintf("Fitting %s moves the dev mean of %s by %.3f over its grid, from %.3f to %.3f; %s was chosen.", names, r.Primary, f.Size, low, high, chosen)
	}
	for _, e := range t.Edge {
		f.Text += fmt.Sprintf(" The choice of %s lies at the edge of its grid, so that what lies beyond was not tried.", e)
	}
	if t.Dev != nil && t.Test != nil {
		f.Text += fmt.Sprintf(" The rows that read it average %.3f on the dev questions and %.3f on the test questions.", *t.Dev, *t.Test)
	}
	return f
}
