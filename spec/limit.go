package spec

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

type limitBlock struct {
	Concurrent int      `hcl:"concurrent" min:"1" unit:"stages" doc:"How many of the stages may run at a time, over all machines that work on a queue together."`
	Stages     []string `hcl:"stages" doc:"Which stages count: their addresses, as a plan shows them, or what those begin with before a bracket or a number sign." example:"[\"embed\"]"`
}

// Limit bounds how many of some stages run at a time, as where a service that they ask
// admits so many callers. It changes no result and enters no key.
type Limit struct {
	Name       string
	Concurrent int
	// Stages are addresses, or what some begin with.
	Stages []string
	Range  hcl.Range
}

func (l *loader) readLimits() {
	for i, b := range l.blocks["limit"] {
		var p limitBlock
		l.decode(&p, b)
		for j, other := range l.e.Limits {
			if other.Name == b.Labels[0] {
				l.duplicate(b, l.blocks["limit"][j], "One limit of each name")
			}
		}
		if attr := b.Body.Attributes["stages"]; attr != nil && len(p.Stages) == 0 {
			l.report(errorAt(sumBadValue, attr.Expr.Range(), "The limit counts no stage: name some, as [%q].", "embed"))
		}
		for _, s := range p.Stages {
			if strings.TrimSpace(s) == "" {
				l.report(errorAt(sumBadValue, b.Body.Attributes["stages"].Expr.Range(), "A stage's address is not empty."))
			}
		}
		l.e.Limits = append(l.e.Limits, &Limit{Name: l.blocks["limit"][i].Labels[0], Concurrent: p.Concurrent, Stages: p.Stages, Range: b.DefRange()})
	}
}

// written is what the block says, for a digest.
func (m *Limit) written() any { return []any{m.Name, m.Concurrent, m.Stages} }
