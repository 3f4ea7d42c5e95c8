package metric

import (
	"math"
	"slices"

	"raglab/internal/stats"
)

// Cut says whether a metric's name takes a cut-off.
type Cut int

// The three cases.
const (
	CutRequired Cut = iota
	CutOptional
	CutNone
)

// Kind describes a metric without its cut-off.
type Kind struct {
	// Name is what stands before the @.
	Name string
	Cut  Cut
	// Version is raised whenever the same ranking may give another value.
	Version string
	// Summary says in one sentence what the metric measures, Formula how, and
	// Source whose definition that is.
	Summary, Formula, Source string

	value func(j Judged, k int, ranks *discounts) float64
}

// Pattern shows how the metric is written, such as "ndcg[@k]".
func (k Kind) Pattern() string {
	switch k.Cut {
	case CutRequired:
		return k.Name + "@k"
	case CutOptional:
		return k.Name + "[@k]"
	default:
		return k.Name
	}
}

// Kinds returns the metrics there are. In the formulas R is the number of
// relevant items, those with a grade of 1 or more, and n the number of ranked
// ones.
func Kinds() []Kind { return slices.Clone(kinds) }

var kinds = []Kind{
	{
		Name: "recall", Version: "1", Cut: CutRequired, value: recall,
		Summary: "Share of the relevant items that the first k ranks hold.",
		Formula: "relevant in the first k / R",
		Source:  "trec_eval recall_k",
	},
	{
		Name: "precision", Version: "1", Cut: CutRequired, value: precision,
		Summary: "Share of the first k ranks that are relevant, empty ranks included.",
		Formula: "relevant in the first k / k",
		Source:  "trec_eval P_k",
	},
	{
		Name: "ndcg", Version: "1", Cut: CutOptional, value: ndcg,
		Summary: "Gain discounted by rank, as a share of what the best possible ranking would gain; the gain is the grade itself.",
		Formula: "sum over the first k of grade / log2(rank + 1), divided by the same sum over the grades in descending order, at most k of them",
		Source:  "trec_eval ndcg_cut_k and ndcg (Järvelin and Kekäläinen, 2002)",
	},
	{
		Name: "mrr", Version: "1", Cut: CutOptional, value: mrr,
		Summary: "One over the rank of the first relevant item, 0 when the first k ranks hold none.",
		Formula: "1 / rank of the first relevant",
		Source:  "trec_eval recip_rank",
	},
	{
		Name: "map", Version: "1", Cut: CutOptional, value: averagePrecision,
		Summary: "Average, over all relevant items, of the precision at the rank of each; 0 for those not among the first k.",
		Formula: "sum of precision@rank over the relevant in the first k, divided by R",
		Source:  "trec_eval map and map_cut_k",
	},
	{
		Name: "hit", Version: "1", Cut: CutRequired, value: hit,
		Summary: "1 when the first k ranks hold anything relevant, else 0.",
		Formula: "1 if relevant in the first k > 0, else 0",
		Source:  "trec_eval success_k; called hit rate elsewhere",
	},
	{
		Name: "success", Version: "1", Cut: CutRequired, value: hit,
		Summary: "The same as hit@k, under trec_eval's name.",
		Formula: "1 if relevant in the first k > 0, else 0",
		Source:  "trec_eval success_k",
	},
	{
		Name: "rprec", Version: "1", Cut: CutNone, value: rPrecision,
		Summary: "Precision at rank R, where it equals recall.",
		Formula: "relevant in the first R / R",
		Source:  "trec_eval Rprec",
	},
	{
		Name: "f1", Version: "1", Cut: CutRequired, value: f1,
		Summary: "Harmonic mean of precision@k and recall@k.",
		Formula: "2 · relevant in the first k / (k + R)",
		Source:  "van Rijsbergen, 1979, with trec_eval's precision and recall",
	},
	{
		Name: "ndcg_exp", Version: "1", Cut: CutOptional, value: ndcgExp,
		Summary: "nDCG with the gain 2^grade - 1, which favours high grades; the same as ndcg when all grades are 1.",
		Formula: "as ndcg, with 2^grade - 1 in place of grade",
		Source:  "Burges et al., 2005; gdeval, and ranx ndcg_burges",
	},
	{
		Name: "recall_cap", Version: "1", Cut: CutRequired, value: recallCap,
		Summary: "Recall that can reach 1 although more than k items are relevant.",
		Formula: "relevant in the first k / min(k, R)",
		Source:  "BEIR R_cap (Thakur et al., 2021)",
	},
	{
		Name: "judged", Version: "1", Cut: CutRequired, value: judged,
		Summary: "Share of the items on the first k ranks that have a judgement at all, of grade 0 or more; low values make the other metrics doubtful.",
		Formula: "judged in the first k / min(k, n)",
		Source:  "ir-measures Judged@k, with trec_eval's meaning of grades below 0",
	},
}

func find(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// relevantIn counts the relevant among the first k.
func relevantIn(j Judged, k int) int {
	n := 0
	for _, g := range j.Grades[:min(k, len(j.Grades))] {
		if g > 0 {
			n++
		}
	}
	return n
}

func recall(j Judged, k int, _ *discounts) float64 {
	return float64(relevantIn(j, k)) / float64(len(j.Ideal))
}

func recallCap(j Judged, k int, _ *discounts) float64 {
	return float64(relevantIn(j, k)) / float64(min(k, len(j.Ideal)))
}

func precision(j Judged, k int, _ *discounts) float64 {
	return float64(relevantIn(j, k)) / float64(k)
}

func rPrecision(j Judged, _ int, _ *discounts) float64 {
	return float64(relevantIn(j, len(j.Ideal))) / float64(len(j.Ideal))
}

func f1(j Judged, k int, _ *discounts) float64 {
	return float64(2*relevantIn(j, k)) / (float64(k) + float64(len(j.Ideal)))
}

func hit(j Judged, k int, _ *discounts) float64 {
	return float64(min(1, relevantIn(j, k)))
}

func mrr(j Judged, k int, _ *discounts) float64 {
	for i, g := range j.Grades[:min(k, len(j.Grades))] {
		if g > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func averagePrecision(j Judged, k int, _ *discounts) float64 {
	var sum stats.Accumulator
	found := 0
	for i, g := range j.Grades[:min(k, len(j.Grades))] {
		if g > 0 {
			found++
			sum.Add(float64(found) / float64(i+1))
		}
	}
	return sum.Sum() / float64(len(j.Ideal))
}

func judged(j Judged, k int, _ *discounts) float64 {
	first := j.Grades[:min(k, len(j.Grades))]
	if len(first) == 0 {
		return 0
	}
	n := 0
	for _, g := range first {
		if g >= 0 {
			n++
		}
	}
	return float64(n) / float64(len(first))
}

func ndcg(j Judged, k int, ranks *discounts) float64 {
	table := ranks.upTo(min(k, max(len(j.Grades), len(j.Ideal))))
	return dcg(j.Grades, k, table) / dcg(j.Ideal, k, table)
}

func dcg(grades []int32, k int, table []float64) float64 {
	var sum stats.Accumulator
	for i, g := range grades[:min(k, len(grades))] {
		if g > 0 {
			sum.Add(float64(g) / table[i])
		}
	}
	return sum.Sum()
}

func ndcgExp(j Judged, k int, ranks *discounts) float64 {
	table := ranks.upTo(min(k, max(len(j.Grades), len(j.Ideal))))
	top := int(j.Ideal[0])
	return dcgExp(j.Grades, k, top, table) / dcgExp(j.Ideal, k, top, table)
}

// dcgExp divides each gain by 2^top, which the ratio of two sums does not see
// and which keeps them finite at any grade.
func dcgExp(grades []int32, k, top int, table []float64) float64 {
	var sum stats.Accumulator
	for i, g := range grades[:min(k, len(grades))] {
		if g > 0 {
			gain := math.Ldexp(1, int(g)-top) - math.Ldexp(1, -top)
			sum.Add(gain / table[i])
		}
	}
	return sum.Sum()
}
