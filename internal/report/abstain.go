package report

import (
	"fmt"
	"slices"
	"strconv"
)

// Abstention is what a row is worth when it answers only the questions for which a
// signal is strong enough.
type Abstention struct {
	Row string `json:"configuration"`
	// Signal is margin or score, of the ranking of Leg, or of the one that is
	// scored when that is empty.
	Signal string `json:"signal"`
	Leg    string `json:"leg,omitempty"`
	// PickedOn is "dev" or, without a split, "test".
	PickedOn    string `json:"picked_on"`
	MinAnswered int    `json:"min_answered"`
	// Questions are those of the test part. To Unanswerable ones nothing is
	// relevant; Empty ones have no result, and no threshold answers them.
	Questions    int `json:"questions"`
	Unanswerable int `json:"unanswerable"`
	Empty        int `json:"empty"`
	// Low and High are the smallest and the largest signal of a test question.
	Low  *float64 `json:"signal_low"`
	High *float64 `json:"signal_high"`
	// Curve is that of the test questions, Dev the one that thresholds were picked
	// on, left out without a split. They have the same thresholds.
	Curve []AbstainPoint `json:"curve"`
	Dev   []AbstainPoint `json:"dev_curve,omitempty"`
	Picks []AbstainPick  `json:"picks"`
	// Block is the place of the abstain block in the spec.
	Block int `json:"-"`
}

// AbstainPoint is a threshold with what comes of it.
type AbstainPoint struct {
	Threshold float64 `json:"threshold"`
	// Coverage is the share of questions that are answered, Accuracy the share of
	// these whose first result is relevant; null when there is none.
	Coverage  *float64 `json:"coverage"`
	Accuracy  *float64 `json:"selective_accuracy"`
	Answered  int      `json:"answered"`
	Escalated int      `json:"escalated"`
}

// AbstainPick is the threshold for a floor of accuracy. All but the floor are null
// when none qualifies.
type AbstainPick struct {
	Floor     float64  `json:"floor"`
	Threshold *float64 `json:"threshold"`
	// Dev is what the pick promised on the dev questions, null without a split;
	// Test what comes of it on the test questions.
	Dev  *AbstainPoint `json:"dev"`
	Test *AbstainPoint `json:"test"`
}

// abstainRows is how many rows the tables of abstention have at most.
const abstainRows = 5

// abstentionTables are two for each abstain block: the picks of the best rows, and
// the whole curve of the best one.
func (r *Report) abstentionTables(ranked []*Configuration) []Table {
	var tables []Table
	for block := range r.abstainBlocks() {
		var rows []*Configuration
		var found []*Abstention
		seen := map[string]bool{}
		for _, c := range ranked {
			a := r.abstention(block, c.Name)
			if a == nil || c.Key != "" && seen[c.Key] {
				continue
			}
			seen[c.Key] = true
			rows, found = append(rows, c), append(found, a)
		}
		if len(found) > 0 {
			tables = append(tables, r.picksTable(rows, found), curveTable(found[0]))
		}
	}
	return tables
}

// abstainBlocks is the number of blocks.
func (r *Report) abstainBlocks() int {
	n := 0
	for _, a := range r.Abstentions {
		n = max(n, a.Block+1)
	}
	return n
}

func (r *Report) abstention(block int, row string) *Abstention {
	for i := range r.Abstentions {
		if a := &r.Abstentions[i]; a.Block == block && a.Row == row {
			return a
		}
	}
	return nil
}

func (a *Abstention) by() string {
	if a.Leg != "" {
		return a.Signal + " of " + a.Leg
	}
	return a.Signal
}

func (r *Report) picksTable(rows []*Configuration, found []*Abstention) Table {
	first := found[0]
	t := Table{Name: "abstention", Title: "Abstention by " + first.by(), Note: first.note()}
	if len(rows) > abstainRows {
		rows = rows[:abstainRows]
		t.Title += fmt.Sprintf(": the best %d", abstainRows)
	}
	axes := r.axes()
	for _, name := range axes {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	names := []string{"floor", "threshold", "coverage", "accuracy", "answered", "escalated"}
	if first.Dev != nil {
		names = slices.Insert(names, 2, "dev coverage", "dev accuracy")
	}
	for _, name := range names {
		t.Columns = append(t.Columns, Column{name, true})
	}
	for i, c := range rows {
		for _, p := range found[i].Picks {
			t.Rows = append(t.Rows, append(c.labels(axes), p.cells(first.Dev != nil)...))
		}
	}
	return t
}

// cells are a pick's, with those of the dev questions when there are any.
func (p AbstainPick) cells(dev bool) []string {
	cells := []string{decimal(p.Floor), "none qualifies"}
	if p.Threshold != nil {
		cells[1] = decimal(*p.Threshold)
	}
	if dev {
		cells = append(cells, p.Dev.cells()[:2]...)
	}
	return append(cells, p.Test.cells()...)
}

func (p *AbstainPoint) cells() []string {
	if p == nil {
		return []string{notApplicable, notApplicable, notApplicable, notApplicable}
	}
	return []string{scoreOrNone(p.Coverage), scoreOrNone(p.Accuracy), strconv.Itoa(p.Answered), strconv.Itoa(p.Escalated)}
}

func scoreOrNone(v *float64) string {
	if v == nil {
		return notApplicable
	}
	return score(v)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// note says what the table is about, and what to beware of.
func (a *Abstention) note() string {
	what := map[string]string{"margin": "the margin (s1 − s2) / s1 of the first two scores", "score": "the first score"}[a.Signal]
	if a.Leg != "" {
		what += " of " + a.Leg
	}
	s := fmt.Sprintf("A question is answered when %s is at least the threshold, else escalated; accuracy is the share of answered questions whose first result is relevant. For each floor of accuracy the threshold is the one with the highest coverage that answers at least %d questions,", what, a.MinAnswered)
	if a.Dev != nil {
		s += " picked on the dev questions; what it then does is told on the test questions."
	} else {
		s += " picked on the very questions that it is told on, as there is no split: the figures flatter it."
	}
	if a.Unanswerable > 0 {
		s += fmt.Sprintf(" To %d of the %d questions nothing is relevant: any answer to them is wrong.", a.Unanswerable, a.Questions)
	}
	return s + a.misfit()
}

// misfit says that the thresholds are not those for the signal: it lies beyond the
// last, or between the first two.
func (a *Abstention) misfit() string {
	n := len(a.Curve)
	switch {
	case n < 2 || a.High == nil:
		return ""
	case *a.High > a.Curve[n-1].Threshold:
		return fmt.Sprintf(" The signal goes up to %.4g, beyond the last threshold, %s: other thresholds may tell more.", *a.High, decimal(a.Curve[n-1].Threshold))
	case *a.High < a.Curve[1].Threshold:
		return fmt.Sprintf(" The signal goes up to %.4g only, below the second threshold, %s: other thresholds may tell more.", *a.High, decimal(a.Curve[1].Threshold))
	}
	return ""
}

// curveTable is the curve of one row.
func curveTable(a *Abstention) Table {
	t := Table{
		Name: "abstention", Title: fmt.Sprintf("Abstention by %s: the curve of %s", a.by(), a.Row),
		Columns: []Column{{"threshold", true}, {"coverage", true}, {"accuracy", true}, {"answered", true}, {"escalated", true}},
	}
	if a.Dev != nil {
		t.Columns = slices.Insert(t.Columns, 1, Column{"dev coverage", true}, Column{"dev accuracy", true})
	}
	left := 0
	for i, p := range a.Curve {
		if i > 0 && p.Answered == a.Curve[i-1].Answered && (a.Dev == nil || a.Dev[i].Answered == a.Dev[i-1].Answered) {
			left++
			continue
		}
		row := []string{decimal(p.Threshold)}
		if a.Dev != nil {
			row = append(row, a.Dev[i].cells()[:2]...)
		}
		t.Rows = append(t.Rows, append(row, p.cells()...))
	}
	if left > 0 {
		t.Foot = fmt.Sprintf("Thresholds that answer the same questions as the one before are left out: %d.", left)
	}
	return t
}
