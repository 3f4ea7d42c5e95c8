package report

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// told is what a report's JSON says, as somebody else would read it: sentences are held
// against numbers that are computed anew from this alone.
type told struct {
	Factors []struct {
		Name   string   `json:"name"`
		Axis   bool     `json:"axis"`
		Labels []string `json:"labels"`
	} `json:"factors"`
	Configurations []toldRow `json:"configurations"`
	Tuning         []struct {
		Names  []string `json:"names"`
		Chosen []string `json:"chosen"`
		Points []struct {
			Values []string `json:"values"`
			Mean   *float64 `json:"mean"`
		} `json:"points"`
		Dev  *float64 `json:"dev_mean"`
		Test *float64 `json:"test_mean"`
	} `json:"tuning"`
	Golden []struct {
		ID       string `json:"id"`
		Part     string `json:"part"`
		Relevant int    `json:"relevant"`
	} `json:"golden"`
	Mattered []Finding `json:"mattered"`
	Limits   []string  `json:"limits"`
}

type toldRow struct {
	Options     map[string]string              `json:"options"`
	Key         string                         `json:"key"`
	Inert       []string                       `json:"inert"`
	Metrics     map[string]*float64            `json:"metrics"`
	PerQuestion map[string]map[string]*float64 `json:"per_question"`
	Latency     *struct {
		P50 float64 `json:"p50"`
		P95 float64 `json:"p95"`
	} `json:"latency_ms"`
	Index   *float64 `json:"index_bytes"`
	Ingest  *float64 `json:"ingest_seconds"`
	Against *struct {
		Tell       bool    `json:"tell"`
		Detectable float64 `json:"detectable"`
	} `json:"against_best"`
}

// tell is the report as its readers get it.
func tell(t *rapid.T, r *Report) told {
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out told
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// rowsOf are the rows of an option of an axis that the axis makes a difference to and
// that stand in a line of all options, everything else being the same.
func (d told) rowsOf(axis, option string) []toldRow {
	labels := 0
	for _, f := range d.Factors {
		if f.Name == axis {
			labels = len(f.Labels)
		}
	}
	line := func(c toldRow) string {
		var parts []string
		for _, f := range d.Factors {
			if f.Name != axis {
				parts = append(parts, c.Options[f.Name])
			}
		}
		return strings.Join(parts, "\x00")
	}
	lines := map[string]int{}
	for _, c := range d.Configurations {
		if !slices.Contains(c.Inert, axis) {
			lines[line(c)]++
		}
	}
	var rows []toldRow
	for _, c := range d.Configurations {
		if c.Options[axis] == option && !slices.Contains(c.Inert, axis) && lines[line(c)] == labels {
			rows = append(rows, c)
		}
	}
	return rows
}

// average is the mean over rows, not a number where one lacks the value or there are none.
func average(rows []toldRow, of func(toldRow) *float64) float64 {
	sum := 0.0
	for _, c := range rows {
		v := of(c)
		if v == nil {
			return math.NaN()
		}
		sum += *v
	}
	return sum / float64(len(rows))
}

// quality is the mean of a row's own questions, and no mean that somebody states.
func quality(c toldRow) *float64 {
	sum := 0.0
	for _, values := range c.PerQuestion {
		sum += *values["ndcg@10"]
	}
	return new(sum / float64(len(c.PerQuestion)))
}

// says holds that the figure of a sentence is a value as rounded as the figure is.
func says(t *rapid.T, sentence, figure string, want float64) {
	t.Helper()
	text := strings.NewReplacer("−", "-", "+", "").Replace(figure)
	got, err := strconv.ParseFloat(text, 64)
	_, decimals, _ := strings.Cut(text, ".")
	if err != nil || !(math.Abs(got-want) <= 0.5001*math.Pow(10, -float64(len(decimals)))) {
		t.Fatalf("%q says %s, and it is %v", sentence, figure, want)
	}
}

var (
	optionSentence = regexp.MustCompile(`^(\S+) (?:is worth (\S+) ndcg@10 over|loses (\S+) ndcg@10 against) (\S+) \((\S+) against (\S+) over (\d+) rows?; (?:95 % interval of the difference (\S+)…(\S+), )?(separated|level|not tested)\)\.$`)
	costSentence   = regexp.MustCompile(`^What (\S+) costs against (\S+), on average: (.+)\.$`)
	costFigure     = regexp.MustCompile(`^(ingest|p50 of a question|p95|index) ([+−]\S+) (?:s|ms|MB) \((\S+) (?:s|ms|MB) against (\S+) (?:s|ms|MB)\)$`)
	tuningSentence = regexp.MustCompile(`^Fitting (.+?) moves the dev mean of ndcg@10 by (\S+) over its grid, from (\S+) to (\S+); (.+?) was chosen\.(.*)$`)
	fittedRows     = regexp.MustCompile(`The rows that read it average (\S+) on the dev questions and (\S+) on the test questions\.$`)
)

// trueOption recomputes a sentence about an option, whether it wins or loses.
func trueOption(t *rapid.T, d told, f Finding) {
	m := optionSentence.FindStringSubmatch(f.Text)
	if m == nil {
		t.Fatalf("no sentence about an option: %q", f.Text)
	}
	rows, base := d.rowsOf(f.Axis, m[1]), d.rowsOf(f.Axis, m[4])
	a, b := average(rows, quality), average(base, quality)
	says(t, f.Text, m[5], a)
	says(t, f.Text, m[6], b)
	says(t, f.Text, m[7], float64(len(rows)))
	if loses := m[3] != ""; loses {
		says(t, f.Text, m[3], b-a)
		if b-a < 0.0005-1e-9 {
			t.Fatalf("%q, and it does not lose", f.Text)
		}
	} else {
		says(t, f.Text, m[2], a-b)
	}
	if math.Abs(f.Size-(a-b)) > 1e-9 || f.Verdict != m[10] {
		t.Fatalf("%q has the size %v and the verdict %s", f.Text, f.Size, f.Verdict)
	}
	if f.Interval == nil {
		return
	}
	says(t, f.Text, m[8], f.Interval.Low)
	says(t, f.Text, m[9], f.Interval.High)
	if a-b < f.Interval.Low-1e-9 || a-b > f.Interval.High+1e-9 {
		t.Fatalf("%q: %v is not within its interval", f.Text, a-b)
	}
}

// costs are what sentences may tell: the unit, the least difference in it, and the value.
var costs = map[string]struct {
	unit, least float64
	of          func(toldRow) *float64
}{
	"ingest": {1, 0.5, func(c toldRow) *float64 { return c.Ingest }},
	"p50 of a question": {1, 1, func(c toldRow) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P50
	}},
	"p95": {1, 1, func(c toldRow) *float64 {
		if c.Latency == nil {
			return nil
		}
		return &c.Latency.P95
	}},
	"index": {1e6, 1e5, func(c toldRow) *float64 { return c.Index }},
}

// trueCost recomputes what an option costs against another, and holds that no cost that
// differs by as much as is worth a word is kept back.
func trueCost(t *rapid.T, d told, f Finding) {
	m := costSentence.FindStringSubmatch(f.Text)
	if m == nil {
		t.Fatalf("no sentence about a cost: %q", f.Text)
	}
	rows, base := d.rowsOf(f.Axis, m[1]), d.rowsOf(f.Axis, m[2])
	list, unmeasured, _ := strings.Cut(m[3], "; unmeasured: ")
	named := map[string]bool{}
	for figure := range strings.SplitSeq(list, ", ") {
		n := costFigure.FindStringSubmatch(figure)
		if n == nil {
			t.Fatalf("no cost in %q: %q", f.Text, figure)
		}
		c := costs[n[1]]
		a, b := average(rows, c.of)/c.unit, average(base, c.of)/c.unit
		says(t, f.Text, n[2], a-b)
		says(t, f.Text, n[3], a)
		says(t, f.Text, n[4], b)
		named[n[1]] = true
	}
	for name, c := range costs {
		a, b := average(rows, c.of), average(base, c.of)
		worth := math.Abs(a-b) >= c.least && math.Abs(a-b) >= 0.1*max(a, b)
		if worth != named[name] {
			t.Fatalf("%q: %s is %v against %v", f.Text, name, a, b)
		}
		if lacks := math.IsNaN(a) || math.IsNaN(b); !lacks && slices.Contains(strings.Split(unmeasured, ", "), name) {
			t.Fatalf("%q: %s is measured", f.Text, name)
		}
	}
}

// trueTuning recomputes a curve's reach.
func trueTuning(t *rapid.T, d told, f Finding) {
	m := tuningSentence.FindStringSubmatch(f.Text)
	for _, tu := range d.Tuning {
		if strings.Join(tu.Names, ", ") != f.Axis {
			continue
		}
		low, high, best := math.Inf(1), math.Inf(-1), ""
		for _, p := range tu.Points {
			if p.Mean == nil {
				continue
			}
			if *p.Mean > high {
				high, best = *p.Mean, strings.Join(p.Values, ", ")
			}
			low = min(low, *p.Mean)
		}
		switch {
		case math.IsInf(low, 1):
			if !strings.Contains(f.Text, "nothing can be told") {
				t.Fatalf("%q, and nothing is measured", f.Text)
			}
			return
		case m == nil:
			if low != high || !strings.Contains(f.Text, fmt.Sprintf("is %.3f for every value", high)) {
				t.Fatalf("%q, and the curve goes from %v to %v", f.Text, low, high)
			}
			return
		}
		says(t, f.Text, m[2], high-low)
		says(t, f.Text, m[3], low)
		says(t, f.Text, m[4], high)
		if m[5] != best {
			t.Fatalf("%q, and %s is the best", f.Text, best)
		}
		if n := fittedRows.FindStringSubmatch(m[6]); n != nil {
			says(t, f.Text, n[1], *tu.Dev)
			says(t, f.Text, n[2], *tu.Test)
		} else if tu.Dev != nil && tu.Test != nil {
			t.Fatalf("%q does not say what the rows average", f.Text)
		}
		return
	}
	t.Fatalf("%q is of no fitted parameter", f.Text)
}

// losers holds that every option that loses against what it is held against is told as such.
func losers(t *rapid.T, d told) {
	for _, f := range d.Mattered {
		if f.Kind != "option" {
			continue
		}
		if lost := f.Size <= -0.0005; lost != strings.Contains(f.Text, " loses ") {
			t.Fatalf("%q: the difference is %v", f.Text, f.Size)
		}
	}
	for _, f := range d.Factors {
		for i, label := range f.Labels {
			if !f.Axis || i == 0 || len(d.rowsOf(f.Name, label)) == 0 {
				continue
			}
			if !slices.ContainsFunc(d.Mattered, func(o Finding) bool { return o.Axis == f.Name && strings.Contains(o.Text, label) }) {
				t.Fatalf("nothing is told of %s %s", f.Name, label)
			}
		}
	}
}
