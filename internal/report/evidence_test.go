package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/internal/stats"
)

// crossed makes a report of two axes, x and y, with a value for each cell and
// question, and tags by question.
func crossed(xs, ys []string, questions int, tags func(q int) []string, value func(x, y, q int) float64) *Report {
	r := &Report{Metrics: []string{"ndcg@10"}, Primary: "ndcg@10", Factors: []Factor{{"x", true, xs}, {"y", true, ys}}}
	for q := range questions {
		g := GoldenQuestion{ID: fmt.Sprintf("q%03d", q), Part: "test"}
		if tags != nil {
			g.Tags = tags(q)
		}
		r.Golden = append(r.Golden, g)
	}
	for x, a := range xs {
		for y, b := range ys {
			c := Configuration{
				Name: a + " / " + b, Key: a + b, Options: map[string]string{"x": a, "y": b},
				Metrics: map[string]*float64{}, PerQuestion: map[string]map[string]*float64{},
			}
			sum := 0.0
			for q := range questions {
				v := value(x, y, q)
				sum += v
				c.PerQuestion[r.Golden[q].ID] = map[string]*float64{"ndcg@10": &v}
			}
			sum /= float64(questions)
			c.Metrics["ndcg@10"] = &sum
			r.Configurations = append(r.Configurations, c)
		}
	}
	r.Questions.Scored = questions
	return r
}

// jitter is noise that depends on its arguments alone.
func jitter(size float64, parts ...int) float64 {
	seed := uint64(17)
	for _, p := range parts {
		seed = seed*1_000_003 + uint64(p)
	}
	return size * (rand.New(rand.NewPCG(seed, 1)).Float64() - 0.5)
}

func TestInteractions_pairThatInteractsIsNamed(t *testing.T) {
	t.Parallel()
	// x and y add up, but for the cell c × v, which is worth 0.3 more.
	r := crossed([]string{"a", "b", "c"}, []string{"u", "v"}, 60, nil, func(x, y, q int) float64 {
		v := 0.2 + 0.05*float64(x) + 0.1*float64(y) + jitter(0.2, x, y, q) + jitter(0.3, q)
		if x == 2 && y == 1 {
			v += 0.3
		}
		return v
	})
	r.Complete(nil)
	if len(r.Interactions) != 1 {
		t.Fatalf("%+v", r.Interactions)
	}
	i := r.Interactions[0]
	if i.OptionA[0] != "a" && i.OptionA[0] != "b" || i.OptionA[1] != "c" || i.OptionB != [2]string{"u", "v"} {
		t.Errorf("named are %v and %v, want c at its largest against v", i.OptionA, i.OptionB)
	}
	if i.Tested == nil || i.Tested.Verdict != Separated || math.Abs(i.Size-0.3) > 0.05 || math.Abs(i.Tested.Difference-i.Size) > 1e-12 || i.Tested.Low > i.Size || i.Tested.High < i.Size {
		t.Errorf("%+v, %+v", i, i.Tested)
	}
	explained := i.Explained
	for _, e := range r.Effects {
		explained += *e.Explained
	}
	if math.Abs(explained-1) > 1e-9 {
		t.Errorf("the axes and their interaction explain %v of the spread, want all", explained)
	}
}

func TestInteractions_additiveIsLevel(t *testing.T) {
	t.Parallel()
	r := crossed([]string{"a", "b", "c", "d"}, []string{"u", "v", "w"}, 60, nil, func(x, y, q int) float64 {
		return 0.2 + 0.05*float64(x) + 0.1*float64(y) + jitter(0.3, x, y, q)
	})
	r.Complete(nil)
	if i := r.Interactions[0]; i.Tested.Verdict != Level {
		t.Errorf("%+v: %+v", i, i.Tested)
	}
	// What just adds up is no interaction at all.
	r = crossed([]string{"a", "b"}, []string{"u", "v"}, 10, nil, func(x, y, q int) float64 { return float64(x+2*y) / 4 })
	r.Complete(nil)
	if len(r.Interactions) != 0 {
		t.Errorf("%+v", r.Interactions)
	}
}

// With option b of x, y makes no difference: only a and c are crossed with it.
func TestInteractions_inertOptionsAreLeftOut(t *testing.T) {
	t.Parallel()
	r := crossed([]string{"a", "b", "c"}, []string{"u", "v"}, 40, nil, func(x, y, q int) float64 {
		if x == 1 {
			return 0.9 + jitter(0.1, q)
		}
		return 0.2 + 0.1*float64(x*y) + jitter(0.2, x, y, q)
	})
	for i := range r.Configurations {
		if r.Configurations[i].Options["x"] == "b" {
			r.Configurations[i].Key = "b"
		}
	}
	r.Complete(nil)
	if len(r.Interactions) != 1 || slices.Contains(r.Interactions[0].OptionA[:], "b") {
		t.Errorf("%+v", r.Interactions)
	}
}

// Kinds of question between which options of x change places.
func TestTags_tablesAndReversals(t *testing.T) {
	t.Parallel()
	tags := func(q int) []string {
		return []string{"split:test", fmt.Sprintf("kind:%d", q%2), fmt.Sprintf("source:wiki:%d", q), "rare", "origin:one"}[:4+q%2]
	}
	r := crossed([]string{"a", "b"}, []string{"u", "v"}, 80, tags, func(x, y, q int) float64 {
		sign := float64(1 - 2*(q%2))
		return 0.5 + 0.1*sign*float64(1-2*x) + 0.02*float64(y) + jitter(0.2, x, y, q)
	})
	for i := range r.Golden {
		if i >= 3 {
			r.Golden[i].Tags = slices.DeleteFunc(r.Golden[i].Tags, func(tag string) bool { return tag == "rare" })
		}
	}
	r.Complete(nil)
	var names []string
	for _, tag := range r.Tags {
		names = append(names, tag.Tag)
		if tag.Questions != 40 || len(tag.Means) != 4 || len(tag.Effects) != 2 {
			t.Errorf("%+v", tag)
		}
	}
	// All have split:test, source:wiki:* would be all of them, and rare has three.
	if want := []string{"kind:0", "kind:1", "origin:one"}; !slices.Equal(names, want) {
		t.Fatalf("tags %v, want %v", names, want)
	}
	if r.Tags[0].Best != "a / v" || r.Tags[1].Best != "b / v" {
		t.Errorf("best are %s and %s", r.Tags[0].Best, r.Tags[1].Best)
	}
	if e := r.Tags[1].Effects[0]; e.Best != "b" || e.Comparison == nil || e.Comparison.Verdict != Separated || len(e.Comparison.Decisive) > 0 {
		t.Errorf("%+v", e)
	}
	if len(r.Reversals) == 0 {
		t.Fatal("no reversal")
	}
	v := r.Reversals[0]
	if v.Axis != "x" || v.A != "a" || v.B != "b" || v.TagA != "kind:0" || v.TagB != "kind:1" || v.Verdict != Separated || math.Abs(v.AheadA-0.2) > 0.04 || math.Abs(v.AheadB-0.2) > 0.04 {
		t.Errorf("%+v", v)
	}
	for _, v := range r.Reversals[1:] {
		if v.Axis == "x" || v.Verdict == Separated {
			t.Errorf("a reversal by chance is told: %+v", v)
		}
	}
}

func TestTags_rareOnesStandTogether(t *testing.T) {
	t.Parallel()
	tags := func(q int) []string {
		return []string{[]string{"source:wiki:" + fmt.Sprint(q), "source:news:" + fmt.Sprint(q%2), "source:blog:x", "source:mail:" + fmt.Sprint(q)}[min(q/6, 3)]}
	}
	r := crossed([]string{"a", "b"}, []string{"u", "v"}, 20, tags, func(x, y, q int) float64 { return jitter(1, x, y, q) })
	r.align()
	got := map[string]int{}
	for _, g := range r.tagGroups(r.measurements()) {
		got[g.tag] = len(g.places)
	}
	// Two questions have a mail each: too few even together.
	if diff := cmp.Diff(map[string]int{"source:blog:x": 6, "source:news:*": 6, "source:wiki:*": 6}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	values := [][2]float64{{1, 1}, {1, 0.5}, {0, 0.5}, {0, 0}}
	r := crossed([]string{"a", "b"}, []string{"u"}, 4, nil, func(x, _, q int) float64 { return values[q][x] })
	r.Complete(nil)
	if diff := cmp.Diff(&Ceiling{All: 0.5, None: 0.25, Perfect: 0.25, Unsolved: []string{"q003"}}, r.Ceiling); diff != "" {
		t.Error(diff)
	}
}

// A question that some row is not measured on is left out of that row's comparison
// alone, and never paired with another question.
func TestCompareRows_pairsByQuestion(t *testing.T) {
	t.Parallel()
	r := crossed([]string{"a", "b", "c"}, []string{"u"}, 8, nil, func(x, _, q int) float64 { return float64(q)/10 - 0.1*float64(x) })
	delete(r.Configurations[1].PerQuestion, "q000")
	r.Configurations[1].PerQuestion["q001"]["ndcg@10"] = nil
	delete(r.Configurations[2].PerQuestion, "q007")
	delete(r.Configurations[2].PerQuestion, "q006")
	r.Complete(nil)
	for i, c := range r.Configurations[1:] {
		a := c.Against
		if a == nil || math.Abs(a.Difference+0.1*float64(i+1)) > 1e-12 || a.Losses != 6 || a.Wins+a.Ties != 0 {
			t.Errorf("%s: %+v", c.Name, a)
		}
	}
}

func TestCompareRows_decisiveQuestionsAreNamed(t *testing.T) {
	t.Parallel()
	r := crossed([]string{"a", "b"}, []string{"u"}, 6, nil, func(x, _, q int) float64 {
		return [][]float64{{1, 0.5, 0.5, 0.5, 0.5, 0.5}, {0, 0.6, 0.6, 0.6, 0.6, 0.5}}[x][q]
	})
	r.Complete(nil)
	a := r.Configurations[1].Against
	if !slices.Equal(a.Decisive, []string{"q000"}) || a.Wins != 4 || a.Ties != 1 || a.Losses != 1 || a.Verdict != Level || a.Wilcoxon <= 0 {
		t.Errorf("%+v", a)
	}
}

// priced gives rows of equal quality costs: p95, ingest and index.
func priced(costs ...[3]float64) *Report {
	var labels []string
	for i := range costs {
		labels = append(labels, string(rune('a'+i)))
	}
	r := crossed(labels, []string{"u"}, 30, nil, func(x, _, q int) float64 { return 0.5 + 0.125*float64(1-2*((q+x/2)%2)) })
	for i, c := range costs {
		row, bytes := &r.Configurations[i], int64(c[2])
		if c[0] > 0 {
			row.Latency = &Latency{Percentiles: Percentiles{c[0] / 2, c[0]}}
		}
		row.IngestSeconds, row.IndexBytes = &c[1], &bytes
	}
	return r
}

func TestRecommend_costOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		costs [][3]float64
		order []string
		want  string
	}{
		"p95 first":                  {[][3]float64{{20, 5, 1e6}, {10, 9, 9e6}}, nil, "b"},
		"index first":                {[][3]float64{{20, 5, 1e6}, {10, 9, 9e6}}, []string{"index", "p95"}, "a"},
		"equal within 1 ms":          {[][3]float64{{10.6, 9, 1e6}, {9.7, 5, 1e6}, {10.4, 3, 1e6}}, nil, "c"},
		"equal within 5 %":           {[][3]float64{{1200, 9, 1e6}, {1250, 5, 1e6}}, nil, "b"},
		"not equal":                  {[][3]float64{{1200, 9, 1e6}, {1270, 5, 1e6}}, nil, "a"},
		"not equal to the least":     {[][3]float64{{100, 9, 1e6}, {104, 8, 1e6}, {108, 1, 1e6}}, nil, "b"},
		"then the metric":            {[][3]float64{{100, 9, 1e6}, {101, 9, 1e6}, {100, 9, 1e6}}, nil, "a"},
		"unmeasured comes last":      {[][3]float64{{0, 1, 1e5}, {900, 5, 1e6}}, nil, "b"},
		"unmeasured in what matters": {[][3]float64{{0, 1, 1e5}, {900, 5, 1e6}}, []string{"ingest"}, "a"},
	} {
		r := priced(c.costs...)
		r.CostOrder = c.order
		r.Complete(nil)
		if rec := r.Recommended; rec == nil || rec.Row != c.want+" / u" || len(rec.Level) != len(c.costs) || rec.Level[0] != rec.Row {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

func TestRecommend_saysWhatWouldChangeIt(t *testing.T) {
	t.Parallel()
	r := priced([3]float64{16, 5, 4e6}, [3]float64{40, 3, 2e6}, [3]float64{60, 9, 9e6}, [3]float64{2, 1, 1e6}, [3]float64{0, 8, 9e6})
	for i, shift := range []float64{0, 0.01, 0.02, -0.4, 0.015} { // the third is the best, the fourth far behind
		c := &r.Configurations[i]
		sum := 0.0
		for q := range 30 {
			v := 0.5 + shift + jitter(0.1, i, q)
			sum += v / 30
			c.PerQuestion[fmt.Sprintf("q%03d", q)]["ndcg@10"] = &v
		}
		c.Metrics["ndcg@10"] = &sum
	}
	r.Machines = []string{"one", "two"}
	r.Complete(nil)
	rec := r.Recommended
	if rec.Row != "a / u" || rec.Best == rec.Row {
		t.Fatalf("%+v", rec)
	}
	text := strings.Join(rec.Otherwise, "\n")
	for _, part := range []string{
		rec.Best + " would be chosen if its", "No fewer than about ", "d / u would be chosen if 0.4", "a p95 of 2.00 ms instead of 16.0 ms",
		"b / u", "counted more than a p95 of 40.0 ms instead of 16.0 ms", "The p95 of e / u is not measured", "Times come from 2 machines",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("not said: %q\n%s", part, text)
		}
	}
}

func TestRecommend_oneMeasurementCountsOnce(t *testing.T) {
	t.Parallel()
	r := priced([3]float64{16, 5, 4e6}, [3]float64{16, 5, 4e6})
	r.Configurations[1].Key = r.Configurations[0].Key
	r.Complete(nil)
	if r.Recommended != nil {
		t.Errorf("nothing is compared: %+v", r.Recommended)
	}
}

// A report that was written and read again says the same.
func TestComplete_readAgainSaysTheSame(t *testing.T) {
	t.Parallel()
	tags := func(q int) []string { return []string{fmt.Sprintf("kind:%d", q%3)} }
	first := crossed([]string{"a", "b", "c"}, []string{"u", "v"}, 40, tags, func(x, y, q int) float64 { return jitter(1, x, y, q) + 0.5 })
	memory := ParseMemory(nil)
	first.Complete(memory)
	raw, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var second Report
	if err := json.Unmarshal(raw, &second); err != nil {
		t.Fatal(err)
	}
	again := ParseMemory(memory.Encode())
	second.Complete(again)
	if again.Encode() != nil {
		t.Error("resampled anew")
	}
	next, err := json.Marshal(&second)
	if err != nil || string(next) != string(raw) {
		t.Errorf("%v\n%s", err, cmp.Diff(string(raw), string(next)))
	}
}

func TestComplete_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "questions")
		grades := rapid.SampledFrom([]float64{0, 0, 0.25, 0.5, 1})
		cells := rapid.SliceOfN(grades, 6*n, 6*n).Draw(t, "values")
		holes := rapid.SliceOfN(rapid.IntRange(0, 9), 6*n, 6*n).Draw(t, "holes")
		tags := func(q int) []string { return []string{fmt.Sprintf("kind:%d", q%2)} }
		r := crossed([]string{"a", "b", "c"}, []string{"u", "v"}, n, tags, func(x, y, q int) float64 { return cells[(2*x+y)*n+q] })
		for i := range r.Configurations {
			c := &r.Configurations[i]
			var values []float64
			for q, g := range r.Golden {
				if holes[i*n+q] == 0 {
					c.PerQuestion[g.ID]["ndcg@10"] = nil
				} else {
					values = append(values, cells[i*n+q])
				}
			}
			c.Metrics["ndcg@10"] = nil
			if len(values) > 0 {
				mean := stats.Mean(values)
				c.Metrics["ndcg@10"] = &mean
			}
		}
		r.Complete(nil)
		for _, c := range r.Configurations {
			if i := c.Intervals["ndcg@10"]; (i == nil) != (c.Metrics["ndcg@10"] == nil) || i != nil && i.Low > i.High {
				t.Fatalf("%s: %v", c.Name, i)
			}
			if a := c.Against; a != nil && a.Verdict != NotTested && (a.P <= 0 || a.P > 1 || a.Tell != (a.Verdict == Separated)) {
				t.Fatalf("%s: %+v", c.Name, a)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Interactions {
			if i.Size < 0 || i.Explained < 0 || i.Explained > 1 {
				t.Fatalf("%+v", i)
			}
		}
	})
}
