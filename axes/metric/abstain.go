package metric

import (
	"encoding/json"
	"fmt"
	"math"
)

// Attempt is one question as far as abstention goes: how sure the system is, and
// whether its first result is relevant.
type Attempt struct {
	// Signal is what is held against a threshold; NaN without a result, so that
	// the question is answered at no threshold.
	Signal  float64
	Correct bool
}

// Margin is the signal of a ranking's lead: (s1 − s2) / s1, for the scores of the
// first two results. It is 1 when there is only one, 0 when the first score is
// not above 0, and NaN without any.
func Margin(scores []float64) float64 {
	switch {
	case len(scores) == 0:
		return math.NaN()
	case !(scores[0] > 0):
		return 0
	case len(scores) == 1:
		return 1
	}
	return (scores[0] - scores[1]) / scores[0]
}

// TopScore is the signal of a ranking's first score, NaN without a result.
func TopScore(scores []float64) float64 {
	if len(scores) == 0 {
		return math.NaN()
	}
	return scores[0]
}

// AbstainThresholds are those that a curve has unless others are given: the
// twentieths from 0 to 1.
func AbstainThresholds() []float64 {
	out := make([]float64, 21)
	for i := range out {
		out[i] = float64(i) / 20
	}
	return out
}

// AbstainPoint is one threshold's place on a risk-coverage curve (El-Yaniv and
// Wiener, JMLR 11, 2010): questions with a signal of at least the threshold are
// answered, the others escalated.
type AbstainPoint struct {
	Threshold float64
	// Coverage is the share of the questions that are answered.
	Coverage float64
	// Accuracy is the share of the answered questions whose first result is
	// relevant, NaN when none is answered.
	Accuracy            float64
	Answered, Escalated int
}

// Curve returns the points for some thresholds, in their order. Without an attempt
// the coverage is NaN.
func Curve(attempts []Attempt, thresholds []float64) []AbstainPoint {
	points := make([]AbstainPoint, len(thresholds))
	for i, threshold := range thresholds {
		answered, correct := 0, 0
		for _, a := range attempts {
			if !(a.Signal >= threshold) {
				continue
			}
			answered++
			if a.Correct {
				correct++
			}
		}
		points[i] = AbstainPoint{
			Threshold: threshold, Answered: answered, Escalated: len(attempts) - answered,
			Coverage: float64(answered) / float64(len(attempts)), Accuracy: float64(correct) / float64(answered),
		}
	}
	return points
}

// PickThreshold returns the place of the point with the highest coverage among
// those with an accuracy of at least the floor and so many questions answered, the
// first among equals; false when none qualifies.
func PickThreshold(curve []AbstainPoint, floor float64, minAnswered int) (int, bool) {
	best := -1
	for i, p := range curve {
		if p.Answered < minAnswered || !(p.Accuracy >= floor) {
			continue
		}
		if best < 0 || p.Coverage > curve[best].Coverage {
			best = i
		}
	}
	return best, best >= 0
}

type abstainPointJSON struct {
	Threshold float64  `json:"threshold"`
	Coverage  *float64 `json:"coverage"`
	Accuracy  *float64 `json:"selective_accuracy"`
	Answered  int      `json:"answered"`
	Escalated int      `json:"escalated"`
}

// MarshalJSON writes what was not measured as null.
func (p AbstainPoint) MarshalJSON() ([]byte, error) {
	return json.Marshal(abstainPointJSON{p.Threshold, measured(p.Coverage), measured(p.Accuracy), p.Answered, p.Escalated})
}

// UnmarshalJSON reads what [AbstainPoint.MarshalJSON] writes.
func (p *AbstainPoint) UnmarshalJSON(data []byte) error {
	var in abstainPointJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read point of an abstention curve: %w", err)
	}
	*p = AbstainPoint{in.Threshold, unmeasured(in.Coverage), unmeasured(in.Accuracy), in.Answered, in.Escalated}
	return nil
}

func measured(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

func unmeasured(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}
