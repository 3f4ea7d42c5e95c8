package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sections are the names of the sections of a report, in the order in which it
// shows them. The names axes, losses, tuning and abstention stand for several tables.
var Sections = []string{
	"glance", "recommended", "mattered", "best", "worst", "axes", "tags", "interactions", "not_measured", "spans", "losses",
	"latency", "ingest", "cost", "tuning", "golden", "abstention", "expected", "limits", "full",
}

// tagsTable holds the questions of each tag beside all of them.
func (r *Report) tagsTable(ranked []*Configuration) Table {
	best := ranked[0]
	t := Table{
		Name: "tags", Title: "By tag", Note: fmt.Sprintf("Means of %s over the scored questions of each tag: of the best row there, of the best row over all questions, %s, and what each axis is worth there.", r.Primary, best.Name),
		Columns: []Column{{Name: "tag"}, {"questions", true}, {Name: "best"}, {"its mean", true}, {"best over all", true}},
	}
	for _, a := range r.axes() {
		t.Columns = append(t.Columns, Column{Name: a})
	}
	for _, tag := range r.Tags {
		row := []string{tag.Tag, strconv.Itoa(tag.Questions), tag.Best, score(tag.Means[tag.Best]), score(tag.Means[best.Name])}
		for _, a := range r.axes() {
			row = append(row, effectCell(tag.Effects, a))
		}
		t.Rows = append(t.Rows, row)
	}
	var turned []string
	for _, v := range r.Reversals {
		turned = append(turned, r.reversalFinding(v).Text)
	}
	t.Foot = strings.Join(turned, " ")
	return t
}

func effectCell(effects []Effect, axis string) string {
	for _, e := range effects {
		switch {
		case e.Axis != axis:
		case e.Best == "":
			return unmeasured
		case e.Best == e.Worst || e.Worth < 0.0005:
			return "0.000"
		default:
			return fmt.Sprintf("%.3f, %s over %s", e.Worth, e.Best, e.Worst)
		}
	}
	return notApplicable
}

// interactionsTable lists the pairs of axes.
func (r *Report) interactionsTable() Table {
	t := Table{
		Name: "interactions", Title: "Which axes depend on each other",
		Note:    "Size is the largest difference, between two options of the second axis, of what two options of the first differ by; explained is the share of the spread of the rows that the pair explains beyond both axes.",
		Columns: []Column{{Name: "axes"}, {"size", true}, {Name: "options"}, {Name: "between"}, {"95 %", true}, {Name: "verdict"}, {"explained", true}},
	}
	for _, i := range r.Interactions {
		bounds := notApplicable
		if i.Tested != nil {
			bounds = interval(i.Tested)
		}
		t.Rows = append(t.Rows, []string{
			i.A + " × " + i.B, number(&i.Size, 1, 3), i.OptionA[0] + ", " + i.OptionA[1], i.OptionB[0] + ", " + i.OptionB[1],
			bounds, i.Tested.verdict(), share(i.Explained),
		})
	}
	return t
}

// notMeasuredTable names the kinds that exist and were not measured.
func (r *Report) notMeasuredTable() Table {
	t := Table{
		Name: "not_measured", Title: "Not measured here",
		Note:    "Kinds that there are for each part of the pipeline and that no option of the spec uses: whether one of them would do better, these results cannot say.",
		Columns: []Column{{Name: "factor"}, {Name: "measured"}, {Name: "not measured"}},
	}
	size := 1
	for _, n := range r.NotCrossed {
		t.Rows = append(t.Rows, []string{n.Factor, strings.Join(n.Held, ", "), strings.Join(n.Kinds, ", ")})
	}
	for _, f := range r.Factors {
		more := 0
		if i := slices.IndexFunc(r.NotCrossed, func(n NotCrossed) bool { return n.Factor == f.Name }); i >= 0 {
			more = len(r.NotCrossed[i].Kinds)
		}
		if size *= max(1, len(f.Labels)+more); size > 1e9 {
			return t
		}
	}
	t.Foot = fmt.Sprintf("Crossing them all, each with its defaults, is %s combinations; %d are measured.", thousands(size), len(r.Configurations))
	return t
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// goldenTable counts the questions by tag and part.
func (r *Report) goldenTable() Table {
	t := Table{Name: "golden", Title: "Judged questions", Columns: []Column{{Name: "tag"}, {"dev", true}, {"test", true}, {"total", true}}}
	counts := map[string]*[2]int{}
	var tags []string
	all := &[2]int{}
	for _, q := range r.Golden {
		part := map[string]int{"dev": 0, "test": 1}
		at, ok := part[q.Part]
		if !ok {
			continue
		}
		all[at]++
		for _, tag := range q.Tags {
			if counts[tag] == nil {
				counts[tag] = &[2]int{}
				tags = append(tags, tag)
			}
			counts[tag][at]++
		}
	}
	slices.Sort(tags)
	left := 0
	for _, tag := range tags {
		c := counts[tag]
		if c[0]+c[1] == 1 || strings.HasPrefix(tag, "split:") {
			left++
			continue
		}
		t.Rows = append(t.Rows, partRow(tag, c))
	}
	t.Rows = append(t.Rows, partRow("all", all))
	if left > 0 {
		t.Foot = fmt.Sprintf("Left out are tags of the split and those that one question alone has: %d.", left)
	}
	return t
}

func partRow(name string, c *[2]int) []string {
	return []string{name, strconv.Itoa(c[0]), strconv.Itoa(c[1]), strconv.Itoa(c[0] + c[1])}
}
