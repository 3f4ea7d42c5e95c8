package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// limit finds the limit that begins in a way; its figures come after.
func (d told) limit(pattern string) []string {
	for _, sentence := range d.Limits {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(sentence); m != nil {
			return m
		}
	}
	return nil
}

// trueLimits recomputes the figures of the limits, and holds that each that applies is there.
func trueLimits(t *rapid.T, d told) {
	questions := len(d.Configurations[0].PerQuestion)
	if m := d.limit(`^All means are over (\d+) test questions?\.`); m == nil {
		t.Fatalf("the limits do not count the questions: %q", d.Limits)
	} else {
		says(t, m[0], m[1], float64(questions))
	}
	trueResolution(t, d)
	trueCeiling(t, d, questions)
	inert, fitted := 0, []string{}
	for _, c := range d.Configurations {
		if len(c.Inert) > 0 {
			inert++
		}
	}
	for _, tu := range d.Tuning {
		fitted = append(fitted, tu.Names...)
	}
	single := 0
	for _, q := range d.Golden {
		if q.Part == "test" && q.Relevant == 1 {
			single++
		}
	}
	for _, tc := range []struct {
		pattern string
		there   bool
	}{
		{fmt.Sprintf(`^%d of %d rows are marked \*`, inert, len(d.Configurations)), inert > 0},
		{`^Fitted on \d+ dev questions? and frozen: ` + regexp.QuoteMeta(strings.Join(fitted, ", ")) + `\.`, len(fitted) > 0},
		{`^Each test question has one relevant judgement`, single == questions},
		{fmt.Sprintf(`^%d of %d test questions have one relevant judgement`, single, questions), single > 0 && single < questions},
		{unmeasuredPattern(d), unmeasuredPattern(d) != ""},
	} {
		if got := tc.pattern != "" && d.limit(tc.pattern) != nil; got != tc.there {
			t.Fatalf("%s: said is %v, true is %v: %q", tc.pattern, got, tc.there, d.Limits)
		}
	}
}

// unmeasuredPattern is the whole sentence about what is unmeasured, counted anew; empty for none.
func unmeasuredPattern(d told) string {
	counts := []struct {
		what string
		n    int
	}{{"latency", 0}, {"index size", 0}, {"ingest time", 0}}
	for _, c := range d.Configurations {
		for i, lacks := range []bool{c.Latency == nil, c.Index == nil, c.Ingest == nil} {
			if lacks {
				counts[i].n++
			}
		}
	}
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", c.what, count(c.n, "row", "rows")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "^Unmeasured: " + strings.Join(parts, ", ") + `\.$`
}

// trueResolution counts the measurements that are told from the best one.
func trueResolution(t *rapid.T, d told) {
	seen := map[string]bool{}
	var detectable []float64
	tells := 0
	for _, c := range d.Configurations {
		if c.Against == nil || seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		detectable = append(detectable, c.Against.Detectable)
		if c.Against.Tell {
			tells++
		}
	}
	m := d.limit(`^Of (\d+) other measurements? the data tell (\d+) from the best and (\d+) not .*?\.(?: A true difference of (\S+) ndcg@10)?`)
	if m == nil {
		if len(detectable) > 0 {
			t.Fatalf("the limits do not say what can be told: %q", d.Limits)
		}
		return
	}
	says(t, m[0], m[1], float64(len(detectable)))
	says(t, m[0], m[2], float64(tells))
	says(t, m[0], m[3], float64(len(detectable)-tells))
	slices.Sort(detectable)
	if middle := detectable[(len(detectable)+1)/2-1]; m[4] != "" {
		says(t, m[0], m[4], middle)
	}
}

// trueCeiling counts the questions that all rows solve, and none.
func trueCeiling(t *rapid.T, d told, questions int) {
	all, none := 0, 0
	for id := range d.Configurations[0].PerQuestion {
		solved := 0
		for _, c := range d.Configurations {
			if *c.PerQuestion[id]["ndcg@10"] > 0 {
				solved++
			}
		}
		if solved == len(d.Configurations) {
			all++
		}
		if solved == 0 {
			none++
		}
	}
	for pattern, n := range map[string]int{
		`^Every row has something relevant in sight for (over )?(\S+) % of the questions`: all, `^No row solves (over )?(\S+) % of the questions`: none,
	} {
		m := d.limit(pattern)
		if (m != nil) != (n > 0) {
			t.Fatalf("%d of %d questions, and the limits say %q", n, questions, d.Limits)
		}
		if m != nil && m[1] == "" {
			says(t, m[0], m[2], 100*float64(n)/float64(questions))
		}
	}
}

// drawn is the study with values, costs and curves that nobody has chosen.
func drawn(t *rapid.T) *Report {
	r := study()
	value := rapid.SampledFrom([]float64{0, 0, 0.25, 0.3869, 0.5, 0.6309, 1, 1})
	cost := rapid.Float64Range(0.05, 2000)
	maybe := rapid.IntRange(0, 9)
	values := map[string][]float64{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if values[c.Key] == nil {
			values[c.Key] = rapid.SliceOfN(value, 12, 12).Draw(t, c.Key)
		}
		sum := 0.0
		c.Values = values[c.Key]
		for q, v := range c.Values {
			c.PerQuestion[fmt.Sprintf("q%d", q+1)] = map[string]*float64{"ndcg@10": new(v)}
			sum += v
		}
		c.Metrics["ndcg@10"] = new(sum / 12)
		c.IngestSeconds, c.IndexBytes = new(cost.Draw(t, "ingest")), new(int64(1e5*cost.Draw(t, "index")))
		c.Latency = &Latency{Percentiles: Percentiles{cost.Draw(t, "p50"), cost.Draw(t, "p95")}}
		switch maybe.Draw(t, "lacks") {
		case 0:
			c.IngestSeconds = nil
		case 1:
			c.Latency = nil
		}
	}
	for _, name := range []string{"k", "alpha"}[:rapid.IntRange(0, 2).Draw(t, "fitted")] {
		r.Tuning = append(r.Tuning, drawnTuning(t, name))
	}
	for i := range r.Golden {
		r.Golden[i].Relevant = rapid.IntRange(1, 2).Draw(t, "relevant")
	}
	return r
}

// drawnTuning is a curve of which the best value was chosen, the first of several.
func drawnTuning(t *rapid.T, name string) Tuning {
	tu := Tuning{Names: []string{name}}
	best := math.Inf(-1)
	for i, mean := range rapid.SliceOfN(rapid.SampledFrom([]float64{0.25, 0.5, 0.5004, 0.75}), 2, 5).Draw(t, name) {
		p := Point{Values: []string{fmt.Sprint(i)}, Mean: &mean}
		if mean > best {
			best, tu.Chosen = mean, p.Values
		}
		tu.Points = append(tu.Points, p)
	}
	tu.Flat = !slices.ContainsFunc(tu.Points, func(p Point) bool { return *p.Mean != best })
	if rapid.Bool().Draw(t, "scored") {
		tu.Dev, tu.Test = new(rapid.Float64Range(0, 1).Draw(t, "dev")), new(rapid.Float64Range(0, 1).Draw(t, "test"))
	}
	return tu
}

// TestMattered_true recomputes every number of every sentence from the report's JSON.
func TestMattered_true(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		r := drawn(rt)
		r.Complete(nil)
		d := tell(rt, r)
		for _, f := range d.Mattered {
			kinds[f.Kind]++
			switch f.Kind {
			case "option":
				trueOption(rt, d, f)
			case "cost":
				trueCost(rt, d, f)
			case "tuning":
				trueTuning(rt, d, f)
			}
		}
		losers(rt, d)
		trueLimits(rt, d)
	})
	for _, kind := range []string{"option", "cost", "tuning"} {
		if kinds[kind] == 0 {
			t.Errorf("no sentence about a %s was tried", kind)
		}
	}
}
