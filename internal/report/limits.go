package report

import (
	"fmt"
	"slices"
	"strings"

	"raglab/internal/stats"
)

// SetProvenance says what the results were made of, and what of it is a limit of
// what they show.
func (r *Report) SetProvenance(p Provenance) {
	r.Provenance = &p
	r.limit()
}

// limit fills in [Report.Limits]: what keeps the results from saying more.
func (r *Report) limit() {
	r.Limits = nil
	for _, sentences := range []func() []string{
		r.questionLimits, r.resolutionLimits, r.ceilingLimits, r.judgementLimits, r.wordingLimits, r.corpusLimits,
		r.tuningLimits, r.crossLimits, r.machineLimits, r.unmeasuredLimits, r.pinLimits,
	} {
		r.Limits = append(r.Limits, sentences()...)
	}
}

func (r *Report) questionLimits() []string {
	if r.Questions.Scored == 0 {
		return []string{"No question is scored."}
	}
	s := fmt.Sprintf("All means are over %s.", count(r.Questions.Scored, "test question", "test questions"))
	if r.Questions.Excluded > 0 {
		s += fmt.Sprintf(" To %d more nothing is relevant; they are left out.", r.Questions.Excluded)
	}
	return []string{s}
}

// resolution counts the measurements that were compared with the best one, those
// that the data tell from it, and the difference that they would show, which is the
// median over the measurements.
func (r *Report) resolution() (told, compared int, detectable float64) {
	ranked := r.Ranked()
	if len(ranked) == 0 {
		return 0, 0, 0
	}
	var all []float64
	seen := map[string]bool{ranked[0].Key: true}
	for _, c := range ranked[1:] {
		if c.Against == nil || seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		all = append(all, c.Against.Detectable)
		compared++
		if c.Against.Tell {
			told++
		}
	}
	if compared > 0 {
		detectable = stats.NearestRank(all, 50)
	}
	return told, compared, detectable
}

func (r *Report) resolutionLimits() []string {
	told, compared, detectable := r.resolution()
	if compared == 0 {
		return nil
	}
	s := fmt.Sprintf("Of %s the data tell %d from the best and %d not (paired randomisation test, Holm-corrected, p < 0.05).",
		count(compared, "other measurement", "other measurements"), told, compared-told)
	if detectable >= 0.0005 {
		s += fmt.Sprintf(" A true difference of %.3f %s is seen in four cases of five; a smaller one is seen less often, so that level does not mean equal.", detectable, r.Primary)
	}
	return []string{s}
}

func (r *Report) ceilingLimits() []string {
	c := r.Ceiling
	if c == nil {
		return nil
	}
	var out []string
	if c.All > 0 {
		s := fmt.Sprintf("Every row has something relevant in sight for %s of the questions", share(c.All))
		if c.Perfect > 0 {
			s += fmt.Sprintf(", and the highest possible %s for %s: on these no row can be better than another", r.Primary, share(c.Perfect))
		}
		out = append(out, s+".")
	}
	if c.None > 0 {
		s := fmt.Sprintf("No row solves %s of the questions", share(c.None))
		if len(c.Unsolved) > 0 {
			s += ": " + firstIDs(c.Unsolved)
		}
		out = append(out, s+".")
	}
	return out
}

// share is a share in whole per cent; what is not all or nothing is not rounded to
// that.
func share(v float64) string {
	percent := v * 100
	switch {
	case percent > 0 && percent < 1:
		return fmt.Sprintf("%.1f %%", percent)
	case percent > 99 && percent < 100:
		return "over 99 %"
	}
	return fmt.Sprintf("%.0f %%", percent)
}

func (r *Report) judgementLimits() []string {
	single, scored := 0, 0
	for _, q := range r.Golden {
		if q.Part != "test" || q.Relevant == 0 {
			continue
		}
		scored++
		if q.Relevant == 1 {
			single++
		}
	}
	var out []string
	switch {
	case scored == 0 || single == 0:
	case single == scored:
		out = append(out, "Each test question has one relevant judgement: recall is a hit rate, and a result that answers a question and is not judged counts as wrong.")
	default:
		out = append(out, fmt.Sprintf("%d of %d test questions have one relevant judgement: for these recall is a hit rate, and a result that answers and is not judged counts as wrong.", single, scored))
	}
	for _, s := range r.Spans {
		if lost := s.Spans - s.Reached; lost > 0 {
			out = append(out, fmt.Sprintf("Of %s no chunk of %s holds enough to be relevant.", count(lost, "answer span", "answer spans"), s.Chunker))
		}
	}
	return out
}

func (r *Report) corpusLimits() []string {
	s := "One corpus and one set of questions were measured"
	if held := r.held(); held != "" {
		s += ", with " + held
	}
	return []string{s + ": what matters elsewhere, these results cannot say."}
}

// held are the factors that have one option, with it, but those that no row reads.
func (r *Report) held() string {
	var parts []string
	for _, f := range r.Factors {
		unread := len(r.Options) > 0 && !slices.ContainsFunc(r.Options, func(o OptionDetail) bool { return o.Factor == f.Name })
		if !f.Axis && len(f.Labels) == 1 && !unread {
			parts = append(parts, f.Name+" "+f.Labels[0])
		}
	}
	return strings.Join(parts, ", ")
}

func (r *Report) tuningLimits() []string {
	if len(r.Tuning) == 0 {
		return nil
	}
	var names []string
	flat := 0
	for _, t := range r.Tuning {
		names = append(names, t.Names...)
		if t.Flat {
			flat++
		}
	}
	on := "dev questions"
	if r.Questions.Dev > 0 {
		on = count(r.Questions.Dev, "dev question", "dev questions")
	}
	s := fmt.Sprintf("Fitted on %s and frozen: %s.", on, strings.Join(names, ", "))
	if flat > 0 {
		s += fmt.Sprintf(" Flat curves, on which the dev questions cannot choose: %d of %d.", flat, len(r.Tuning))
	}
	return []string{s}
}

func (r *Report) crossLimits() []string {
	var inert []string
	for _, c := range r.Configurations {
		if len(c.Inert) > 0 {
			inert = append(inert, c.Name)
		}
	}
	var out []string
	if len(inert) > 0 {
		out = append(out, fmt.Sprintf("%d of %d rows are marked *: an axis makes no difference to them, and they are one measurement under several labels. Averages over that axis leave them out.", len(inert), len(r.Configurations)))
	}
	for _, e := range r.Effects {
		if e.Unbalanced {
			out = append(out, fmt.Sprintf("The options of %s are averaged over different choices of everything else, as no choice is crossed with all of them.", e.Axis))
		}
	}
	return out
}

func (r *Report) machineLimits() []string {
	var out []string
	switch len(r.Machines) {
	case 0:
	case 1:
		out = append(out, "Times are those of one machine, "+r.Machines[0]+".")
	default:
		out = append(out, fmt.Sprintf("Times come from %d machines and are not comparable: %s.", len(r.Machines), strings.Join(r.Machines, "; ")))
	}
	if slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Latency != nil && c.Latency.Composed }) {
		out = append(out, "Latencies marked ≈ are in part sums of what pairs of question and passage took when they were scored.")
	}
	return out
}

// unmeasuredLimits count the rows that lack a value.
func (r *Report) unmeasuredLimits() []string {
	lacking := []struct {
		what string
		is   func(*Configuration) bool
	}{
		{"quality", func(c *Configuration) bool { return c.Metrics[r.Primary] == nil }},
		{"latency", func(c *Configuration) bool { return c.Latency == nil }},
		{"index size", func(c *Configuration) bool { return c.IndexBytes == nil }},
		{"ingest time", func(c *Configuration) bool { return c.IngestSeconds == nil }},
		{"recall of the approximate index", func(c *Configuration) bool { return c.Approximate && len(c.ANNRecall) == 0 }},
		{"change of scores by rounding", func(c *Configuration) bool { return c.Rounded && c.ScoreDifference == nil }},
		{"bill", func(c *Configuration) bool {
			return c.Cost != nil && (c.Cost.Ingest == nil || c.Cost.Questions == nil)
		}},
	}
	var parts []string
	for _, l := range lacking {
		n := 0
		for i := range r.Configurations {
			if l.is(&r.Configurations[i]) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", l.what, count(n, "row", "rows")))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Unmeasured: " + strings.Join(parts, ", ") + "."}
}

func (r *Report) pinLimits() []string {
	if r.Provenance == nil {
		return nil
	}
	return r.Provenance.Unpinned
}
