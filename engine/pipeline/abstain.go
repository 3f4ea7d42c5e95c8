package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"raglab/axes/metric"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/spec"
)

// abstainWork is the work of an abstain stage.
type abstainWork struct {
	judging
	signal string
	// leg says that the signal is that of another run than the one judged.
	leg         bool
	thresholds  []float64
	floors      []float64
	minAnswered int
	// dev and test tell the parts; dev is nil without a split, and all questions
	// are test questions then.
	dev, test func(golden.Question) bool
}

// abstainKind sweeps a threshold over a signal of a run. A question's first result
// is right when it is relevant; a question to which nothing is relevant is one that
// should not have been answered, and counts.
var abstainKind = &engine.Kind{Name: "abstain", Version: "1", Outputs: []string{"abstention"}, Pure: true, Run: runAbstain}

// Abstention is what an abstain stage writes.
type Abstention struct {
	Version int `json:"version"`
	// Dev is nil without a split: thresholds are picked on the test questions
	// then, which flatters them.
	Dev  *AbstainPart `json:"dev,omitempty"`
	Test AbstainPart  `json:"test"`
	// Picks are in the order of the floors.
	Picks []AbstainPick `json:"picks"`
}

// AbstainPart is the curve over one part of the questions.
type AbstainPart struct {
	Questions int `json:"questions"`
	// Unanswerable are the questions to which nothing is relevant; Empty those
	// without a result, which no threshold answers.
	Unanswerable int                   `json:"unanswerable"`
	Empty        int                   `json:"empty"`
	Curve        []metric.AbstainPoint `json:"curve"`
	// Low and High are the smallest and the largest signal, nil without any.
	Low  *float64 `json:"signal_low"`
	High *float64 `json:"signal_high"`
}

// AbstainPick is the threshold picked for a floor of accuracy, by its place in the
// curves; -1 when none qualifies.
type AbstainPick struct {
	Floor float64 `json:"floor"`
	At    int     `json:"at"`
}

const abstentionVersion = 1

// abstain adds the stages for the curves of a row that the spec asks for.
func (b *builder) abstain(cfg *spec.Configuration, fit fitting, a asked) ([]RowAbstain, error) {
	var out []RowAbstain
	for _, block := range b.exp.Abstains {
		leg, ok := b.exp.SignalOf(block, cfg)
		if !ok {
			continue
		}
		s := b.abstainStage(block, a)
		if leg != nil {
			found, err := b.retrieve(cfg, fit, a.chunks, leg)
			if err != nil {
				return nil, err
			}
			s.Inputs = append(s.Inputs, engine.Input{Name: "signal", From: found.run, Output: "run"})
		}
		out = append(out, RowAbstain{block, b.p.Graph.Add(s)})
	}
	return out, nil
}

func (b *builder) abstainStage(block *spec.Abstain, a asked) *engine.Stage {
	split := b.exp.Golden.Split
	w := abstainWork{
		judging: b.judging(), signal: block.Signal, leg: block.Leg != "",
		thresholds: block.Thresholds, floors: block.Floors, minAnswered: block.MinAnswered, test: partOf(split, "test"),
	}
	if len(w.thresholds) == 0 {
		w.thresholds = metric.AbstainThresholds()
	}
	name := block.Signal
	if w.leg {
		name += " of " + block.Leg
	}
	s := &engine.Stage{
		Address: address("abstain", a.name+" by "+name), Kind: abstainKind, Needs: engine.Resources{CPU: 1},
		Inputs: b.judgingInputs(a),
		Fields: append(b.judgingFields(),
			engine.Field{Class: engine.Params, Path: "abstain.signal", Value: block.Signal},
			engine.Field{Class: engine.Params, Path: "abstain.thresholds", Value: engine.Canonical(w.thresholds)},
			engine.Field{Class: engine.Params, Path: "abstain.floors", Value: engine.Canonical(w.floors)},
			engine.Field{Class: engine.Params, Path: "abstain.min_answered", Value: int64(w.minAnswered)}),
	}
	if split != nil {
		w.dev = partOf(split, "dev")
		s.Fields = append(s.Fields, splitFields(split, "both")...)
	}
	s.Work = w
	return s
}

func runAbstain(_ context.Context, t *engine.Task) error {
	w := t.Work.(abstainWork)
	questions, err := readJudgements(t)
	if err != nil {
		return err
	}
	run, err := readRun(t, "run")
	if err != nil {
		return err
	}
	v, err := w.judge(t, questions, run)
	if err != nil {
		return err
	}
	signal := run
	if w.leg {
		if signal, err = readRun(t, "signal"); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(w.sweep(questions, v.judged, signal))
	if err != nil {
		return fmt.Errorf("encode abstention: %w", err)
	}
	return t.Write("abstention", raw)
}

// sweep makes the curves, and picks thresholds on the dev questions when there are
// any apart.
func (w abstainWork) sweep(questions []golden.Question, judged []metric.Judged, signal artifact.Run) Abstention {
	a := Abstention{Version: abstentionVersion, Test: w.part(questions, judged, signal, w.test)}
	on := a.Test.Curve
	if w.dev != nil {
		dev := w.part(questions, judged, signal, w.dev)
		a.Dev, on = &dev, dev.Curve
	}
	for _, floor := range w.floors {
		at, ok := metric.PickThreshold(on, floor, w.minAnswered)
		if !ok {
			at = -1
		}
		a.Picks = append(a.Picks, AbstainPick{floor, at})
	}
	return a
}

// part is the curve over the questions that belong to a part; nil takes all.
func (w abstainWork) part(questions []golden.Question, judged []metric.Judged, signal artifact.Run, belongs func(golden.Question) bool) AbstainPart {
	var p AbstainPart
	var attempts []metric.Attempt
	by := signal.By()
	for i, q := range questions {
		if belongs != nil && !belongs(q) {
			continue
		}
		j := judged[i]
		a := metric.Attempt{Signal: w.signalOf(signal, by, q.ID), Correct: len(j.Grades) > 0 && j.Grades[0] > 0}
		if len(j.Grades) == 0 {
			a.Signal = math.NaN() // the leg found something, but the row has nothing to answer with
		}
		if len(j.Ideal) == 0 {
			p.Unanswerable++
		}
		p.see(a.Signal)
		attempts = append(attempts, a)
	}
	p.Questions, p.Curve = len(attempts), metric.Curve(attempts, w.thresholds)
	return p
}

func (p *AbstainPart) see(signal float64) {
	switch {
	case math.IsNaN(signal):
		p.Empty++
		return
	case p.Low == nil:
		p.Low, p.High = &signal, &signal
	case signal < *p.Low:
		p.Low = &signal
	case signal > *p.High:
		p.High = &signal
	}
}

func (w abstainWork) signalOf(run artifact.Run, by map[string]int, question string) float64 {
	at, ok := by[question]
	if !ok {
		return math.NaN()
	}
	var scores []float64
	for _, h := range run.Hits[at][:min(2, len(run.Hits[at]))] {
		scores = append(scores, h.Score)
	}
	if w.signal == spec.SignalMargin {
		return metric.Margin(scores)
	}
	return metric.TopScore(scores)
}

// ReadAbstention reads what an abstain stage wrote.
func ReadAbstention(raw []byte) (*Abstention, error) {
	var a Abstention
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("read abstention: %w", err)
	}
	if a.Version != abstentionVersion {
		return nil, fmt.Errorf("read abstention: version %d, not %d", a.Version, abstentionVersion)
	}
	for _, p := range a.Picks {
		if p.At >= len(a.Test.Curve) || p.At >= 0 && a.Dev != nil && len(a.Dev.Curve) != len(a.Test.Curve) {
			return nil, fmt.Errorf("read abstention: the pick for %v is outside the curve", p.Floor)
		}
	}
	return &a, nil
}

// abstentions reads the curves of all rows, block by block.
func (c *collector) abstentions(r *report.Report) error {
	for i, block := range c.p.Experiment.Abstains {
		for _, row := range c.p.Rows {
			for _, asked := range row.Abstains {
				if asked.Block != block {
					continue
				}
				raw, err := c.read(asked.Stage, "abstention")
				if err != nil {
					return err
				}
				if raw == nil {
					continue
				}
				a, err := ReadAbstention(raw)
				if err != nil {
					return err
				}
				out := a.report()
				out.Row, out.Block, out.Signal, out.Leg, out.MinAnswered = row.Configuration.Name(), i, block.Signal, block.Leg, block.MinAnswered
				r.Abstentions = append(r.Abstentions, out)
			}
		}
	}
	return nil
}

func (a *Abstention) report() report.Abstention {
	out := report.Abstention{
		PickedOn: "test", Questions: a.Test.Questions, Unanswerable: a.Test.Unanswerable, Empty: a.Test.Empty,
		Low: a.Test.Low, High: a.Test.High, Curve: pointsOf(a.Test.Curve),
	}
	if a.Dev != nil {
		out.PickedOn, out.Dev = "dev", pointsOf(a.Dev.Curve)
	}
	for _, p := range a.Picks {
		pick := report.AbstainPick{Floor: p.Floor}
		if p.At >= 0 {
			pick.Threshold, pick.Test = &out.Curve[p.At].Threshold, &out.Curve[p.At]
			if out.Dev != nil {
				pick.Dev = &out.Dev[p.At]
			}
		}
		out.Picks = append(out.Picks, pick)
	}
	return out
}

func pointsOf(curve []metric.AbstainPoint) []report.AbstainPoint {
	out := make([]report.AbstainPoint, len(curve))
	for i, p := range curve {
		out[i] = report.AbstainPoint{Threshold: p.Threshold, Answered: p.Answered, Escalated: p.Escalated}
		if !math.IsNaN(p.Coverage) {
			out[i].Coverage = &p.Coverage
		}
		if !math.IsNaN(p.Accuracy) {
			out[i].Accuracy = &p.Accuracy
		}
	}
	return out
}
