package spec

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

type abstainBlock struct {
	Leg         string            `hcl:"leg" default:"" doc:"Option or leg of the retriever whose ranking has the signal, such as a dense leg of the fused one; the ranking that is scored unless set. Rows without it have no curve." example:"\"dense\""`
	Where       map[string]string `hcl:"where" default:"" doc:"Factors and the labels that a row must have; all rows unless set."`
	Thresholds  []float64         `hcl:"thresholds" default:"" doc:"Thresholds of the signal in ascending order; the twentieths from 0 to 1 unless set, which suits a margin or a cosine."`
	Floors      []float64         `hcl:"floors" default:"0.7,0.8,0.9" doc:"Accuracies between 0 and 1 for each of which the threshold with the highest coverage is picked."`
	MinAnswered int               `hcl:"min_answered" default:"5" min:"1" unit:"questions" doc:"How many questions a picked threshold answers at least."`
}

var signals = []string{SignalMargin, SignalScore}

func (l *loader) readAbstains() {
	var blocks []*hclsyntax.Block
	for _, b := range l.blocks["abstain"] {
		a := l.readAbstain(b)
		for i, other := range l.e.Abstains {
			if encode(other.written()) == encode(a.written()) {
				l.duplicate(b, blocks[i], "The same abstain block stands twice")
			}
		}
		l.e.Abstains, blocks = append(l.e.Abstains, a), append(blocks, b)
	}
}

func (l *loader) readAbstain(b *hclsyntax.Block) *Abstain {
	var p abstainBlock
	l.decode(&p, b)
	a := &Abstain{
		Signal: b.Labels[0], Leg: p.Leg, Where: p.Where, Thresholds: p.Thresholds, Floors: p.Floors,
		MinAnswered: p.MinAnswered, Range: b.DefRange(),
	}
	if !slices.Contains(signals, a.Signal) {
		l.report(errorAt(sumBadValue, b.LabelRanges[0], "The signal must be %s, not %q.%s", list(signals, "or"), a.Signal, hintOnly(a.Signal, signals)))
	}
	l.checkThresholds(a, b.Body.Attributes)
	l.checkSignalLeg(a, b.Body.Attributes["leg"])
	l.checkChoice(p.Where, b.Body.Attributes["where"], "where", false)
	return a
}

func (l *loader) checkThresholds(a *Abstain, attrs hclsyntax.Attributes) {
	for i := 1; i < len(a.Thresholds); i++ {
		if a.Thresholds[i] <= a.Thresholds[i-1] {
			l.report(errorAt(sumBadValue, elementRange(attrs["thresholds"].Expr, i), "thresholds must ascend: %s follows %s.", decimal(a.Thresholds[i]), decimal(a.Thresholds[i-1])))
		}
	}
	if len(a.Floors) == 0 {
		l.report(errorAt(sumBadValue, attrs["floors"].Expr.Range(), "floors must have at least one value."))
	}
	for i, floor := range a.Floors {
		if floor < 0 || floor > 1 {
			l.report(errorAt(sumBadValue, elementRange(attrs["floors"].Expr, i), "floors are accuracies between 0 and 1, not %s.", decimal(floor)))
		}
	}
}

// checkSignalLeg reports a leg that the retriever does not have.
func (l *loader) checkSignalLeg(a *Abstain, attr *hclsyntax.Attribute) {
	const retriever = "retriever"
	f := l.e.Factor(retriever)
	if a.Leg == "" || f == nil || f.hasBadOption() || f.Option(a.Leg) != nil {
		return
	}
	labels := f.labels()
	for _, leg := range f.Legs {
		labels = append(labels, leg.Label)
	}
	l.report(errorAt(sumUnknownLeg, attr.Expr.Range(), "The factor %s has no option or leg %q.%s", retriever, a.Leg, didYouMean(a.Leg, labels)))
}

// written is what the block says, for a digest.
func (a *Abstain) written() any {
	return []any{a.Signal, a.Leg, a.Where, a.Thresholds, a.Floors, a.MinAnswered}
}

// SignalOf reports whether the block asks for the configuration's curve, and the
// option whose run has the signal: nil for the run that is scored.
func (e *Experiment) SignalOf(a *Abstain, c *Configuration) (leg *Option, ok bool) {
	if !(&Expect{Where: a.Where}).Matches(c) {
		return nil, false
	}
	if a.Leg == "" {
		return nil, true
	}
	for _, o := range e.Chosen(c, "retriever") {
		if o.Label == a.Leg {
			return o, true
		}
	}
	return nil, false
}

// checkAbstains warns of blocks that no row has a curve for.
func (x *expansion) checkAbstains() {
	c := x.cross
	if c.Mode == StagedCross || x.diags.HasErrors() {
		return
	}
	for _, a := range x.e.Abstains {
		asks := func(c *Configuration) bool { _, ok := x.e.SignalOf(a, c); return ok }
		if !slices.ContainsFunc(c.Configurations, asks) {
			x.report(warningAt(sumAbstainNothing, a.Range, "No row has all the labels that where names and the leg that has the signal."))
		}
	}
}
