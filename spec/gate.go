package spec

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

type gateBlock struct {
	Where    map[string]string  `hcl:"where" default:"" doc:"Factors and the labels that a row must have for the block to be about it. Unless set, floors and max are about the best row, and drops about every row." example:"{ retriever = \"dense\" }"`
	Floors   map[string]float64 `hcl:"floors" default:"" doc:"The lowest mean of each metric that passes." example:"{ \"ndcg@10\" = 0.5 }"`
	Allow    map[string]float64 `hcl:"allow" default:"" doc:"How far a row's mean of each metric may fall below the baseline's although the data can tell the two apart. The primary metric may not fall unless it is named; other metrics are compared when they are." example:"{ \"ndcg@10\" = 0.02 }"`
	Max      map[string]float64 `hcl:"max" default:"" doc:"The highest cost that passes: p50 and p95 of a question's latency in ms, index in MB, ingest in s." example:"{ p95 = 50 }"`
	Baseline string             `hcl:"baseline" default:"" path:"true" doc:"Results to hold these against, a file that the output json wrote. It is read by raglab gate alone, and only if that is given no other." example:"\"results/main.json\""`
}

// GateCosts are what [Gate.Max] may bound.
var GateCosts = []string{"p50", "p95", "index", "ingest"}

// Gate says when results are good enough to go on with.
type Gate struct {
	// Where maps factors to labels; rows that have them all are meant. None means the
	// best row for floors and costs, and all rows for drops.
	Where map[string]string
	// Floors and Allow are by metric, Max is by [GateCosts].
	Floors, Allow, Max map[string]float64
	// Baseline is a file, resolved, or empty.
	Baseline string

	Range hcl.Range

	baseline string // as written
}

func (l *loader) readGates() {
	var blocks []*hclsyntax.Block
	for _, b := range l.blocks["gate"] {
		g := l.readGate(b)
		for i, other := range l.e.Gates {
			switch {
			case encode(other.Where) == encode(g.Where):
				l.duplicate(b, blocks[i], "One gate block for each where")
			case other.Baseline != "" && g.Baseline != "":
				l.duplicate(b, blocks[i], "One gate block names the baseline")
			}
		}
		l.e.Gates, blocks = append(l.e.Gates, g), append(blocks, b)
	}
}

func (l *loader) readGate(b *hclsyntax.Block) *Gate {
	var p gateBlock
	l.decode(&p, b)
	attrs := b.Body.Attributes
	l.checkChoice(p.Where, attrs["where"], "where", false)
	l.checkGateNames(p.Floors, attrs["floors"], "metric", l.e.Score.Metrics)
	l.checkGateNames(p.Allow, attrs["allow"], "metric", l.e.Score.Metrics)
	l.checkGateNames(p.Max, attrs["max"], "cost", GateCosts)
	for _, a := range []string{"allow", "max"} {
		l.checkNotNegative(map[string]map[string]float64{"allow": p.Allow, "max": p.Max}[a], attrs[a], a)
	}
	if len(attrs) == 0 || len(attrs) == 1 && attrs["where"] != nil {
		l.report(errorAt(sumBadValue, b.DefRange(), "The gate asks for nothing: give it floors, allow, max or a baseline."))
	}
	return &Gate{Where: p.Where, Floors: p.Floors, Allow: p.Allow, Max: p.Max, Baseline: l.world.resolve(p.Baseline), Range: b.DefRange(), baseline: p.Baseline}
}

// checkGateNames reports names that are none of those there are.
func (l *loader) checkGateNames(values map[string]float64, a *hclsyntax.Attribute, what string, known []string) {
	for _, name := range sortedKeys(values) {
		if slices.Contains(known, name) {
			continue
		}
		at := a.Expr.Range()
		if key, _ := itemRanges(a.Expr, name); key != nil {
			at = *key
		}
		if what == "metric" {
			l.report(errorAt(sumUnknownMetric, at, "The metric %q is not among those that score lists.%s", name, didYouMean(name, known)))
			continue
		}
		l.report(errorAt(sumBadValue, at, "A gate bounds %s, not %q.%s", list(known, "or"), name, hintOnly(name, known)))
	}
}

func (l *loader) checkNotNegative(values map[string]float64, a *hclsyntax.Attribute, what string) {
	for _, name := range sortedKeys(values) {
		if v := values[name]; v < 0 {
			at := a.Expr.Range()
			if _, value := itemRanges(a.Expr, name); value != nil {
				at = *value
			}
			l.report(errorAt(sumBadValue, at, "%s of %s must be at least 0, not %s.", what, name, decimal(v)))
		}
	}
}

// written is what the block says, for a digest.
func (g *Gate) written() any {
	return []any{g.Where, g.Floors, g.Allow, g.Max, g.baseline}
}

// Matches reports whether the block is about the configuration.
func (g *Gate) Matches(c *Configuration) bool { return (&Expect{Where: g.Where}).Matches(c) }

// checkGates warns of blocks that are about no row.
func (x *expansion) checkGates() {
	if x.cross.Mode == StagedCross || x.diags.HasErrors() {
		return
	}
	for _, g := range x.e.Gates {
		if !slices.ContainsFunc(x.cross.Configurations, g.Matches) {
			x.report(warningAt(sumGateNothing, g.Range, "No row has all the labels that where names."))
		}
	}
}
