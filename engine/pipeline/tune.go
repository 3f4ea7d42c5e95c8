package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"raglab/engine"
	"raglab/internal/stats"
)

// tuneWork is the work of a tune stage: for each assignment of grid places to
// variables, the score inputs whose mean decides.
type tuneWork struct {
	primary   string
	variables []variable
	// assignments hold a place in the grid for each variable; inputs run
	// parallel and name the score inputs of each.
	assignments [][]int
	inputs      [][]string
}

// variable is a tuned parameter, or one of its groups.
type variable struct {
	Name   string   `json:"name"`
	Labels []string `json:"grid"`
}

// tuneKind chooses, on the dev questions, the values with the best mean of the
// primary metric over all configurations that read them; among equals the
// first of the grid. The output curve holds every candidate's mean.
var tuneKind = &engine.Kind{Name: "tune", Version: "1", Outputs: []string{"choice", "curve"}, Pure: true, Run: runTune}

// Curve is what a tune stage found.
type Curve struct {
	Version   int        `json:"version"`
	Metric    string     `json:"metric"`
	Variables []variable `json:"variables"`
	// Points are in the order of the grid, the last variable varying fastest.
	Points []CurvePoint `json:"points"`
	// Chosen is the place of the choice among the points.
	Chosen int `json:"chosen"`
	// Flat says that every candidate scored the same: the data cannot choose.
	Flat bool `json:"flat"`
	// Edge names the variables whose choice is the first or last of a grid of
	// three or more, where the curve is not flat: the optimum may lie outside.
	Edge []string `json:"edge,omitempty"`
}

// CurvePoint is one candidate.
type CurvePoint struct {
	Values []string `json:"values"`
	// Mean of the metric over configurations; nil when no dev question could
	// be scored.
	Mean *float64 `json:"mean"`
}

func runTune(_ context.Context, t *engine.Task) error {
	w := t.Work.(tuneWork)
	means := map[string]float64{}
	curve := Curve{Version: 1, Metric: w.primary, Variables: w.variables, Chosen: -1}
	for i, places := range w.assignments {
		var sum stats.Accumulator
		for _, input := range w.inputs[i] {
			m, ok := means[input]
			if !ok {
				var err error
				if m, err = devMean(t, input, w.primary); err != nil {
					return err
				}
				means[input] = m
			}
			sum.Add(m)
		}
		mean := sum.Sum() / float64(len(w.inputs[i]))
		curve.add(w.values(places), mean)
	}
	if curve.Chosen < 0 {
		return &engine.InputError{Err: fmt.Errorf("no dev question has a relevant document: nothing can be tuned on them")}
	}
	chosen := map[string]int{}
	for v, place := range w.assignments[curve.Chosen] {
		chosen[w.variables[v].Name] = place
	}
	curve.judge(w.assignments[curve.Chosen])
	return writeTune(t, chosen, curve)
}

func (w tuneWork) values(places []int) []string {
	out := make([]string, len(places))
	for v, p := range places {
		out[v] = w.variables[v].Labels[p]
	}
	return out
}

func (c *Curve) add(values []string, mean float64) {
	p := CurvePoint{Values: values}
	if !math.IsNaN(mean) {
		p.Mean = &mean
		if c.Chosen < 0 || mean > *c.Points[c.Chosen].Mean {
			c.Chosen = len(c.Points)
		}
	}
	c.Points = append(c.Points, p)
}

// judge says what the shape of the curve means for the choice.
func (c *Curve) judge(places []int) {
	best := *c.Points[c.Chosen].Mean
	c.Flat = len(c.Points) > 1
	for _, p := range c.Points {
		if p.Mean == nil || *p.Mean != best {
			c.Flat = false
		}
	}
	if c.Flat {
		return
	}
	for v, place := range places {
		last := len(c.Variables[v].Labels) - 1
		if last >= 2 && (place == 0 || place == last) {
			c.Edge = append(c.Edge, c.Variables[v].Name)
		}
	}
}

func devMean(t *engine.Task, input, primary string) (float64, error) {
	raw, err := t.Bytes(input)
	if err != nil {
		return 0, err
	}
	s, err := ReadScores(raw)
	if err != nil {
		return 0, err
	}
	for i, m := range s.Metrics {
		if m == primary {
			return s.Summaries[i].Mean, nil
		}
	}
	return 0, fmt.Errorf("scores lack the metric %s", primary)
}

func writeTune(t *engine.Task, chosen map[string]int, curve Curve) error {
	for name, v := range map[string]any{"choice": chosen, "curve": curve} {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		if err := t.Write(name, raw); err != nil {
			return err
		}
	}
	return nil
}

// ReadCurve reads the curve that a tune stage wrote.
func ReadCurve(raw []byte) (*Curve, error) {
	var c Curve
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read curve: %w", err)
	}
	return &c, nil
}
