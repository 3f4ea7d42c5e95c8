// Package metric scores rankings against judgements.
//
// A metric is written as a name and a cut-off, such as ndcg@10; without a
// cut-off, where a metric allows that, the whole ranking counts. Definitions are
// trec_eval's; variants have names of their own.
//
// A ranking is scored through a [Judged]: the grades along the ranking and the
// grades of all that is relevant. It does not matter whether documents or chunks
// were ranked, so relevance by document and by answer span share everything from
// there on. [Judge] makes one from ordinals, [JudgeRun] from TREC files;
// [Documents] and [Spans] turn golden questions into grades.
//
// [Curve] and [PickThreshold] say what a ranking is worth to a system that answers
// only where a signal is strong enough.
package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Unjudged stands in [Judged.Grades] for what nobody judged. Every negative
// grade means the same: trec_eval takes grades below 0 as "in the pool, but not
// judged".
const Unjudged int32 = math.MinInt32

// Judged is one question's ranking seen through its judgements.
type Judged struct {
	// Grades holds the grade of each ranked item, best item first.
	Grades []int32
	// Ideal holds the grades above 0 of all judged items, ranked or not, in
	// descending order. Its length is the number of relevant items; with none
	// the question is left out of means.
	Ideal []int32
	// Missing says that the run does not name the question at all.
	Missing bool
}

// Metric is a kind with its cut-off. Make one with [Parse]. Safe for concurrent
// use.
type Metric struct {
	name  string
	kind  Kind
	k     int
	ranks *discounts
}

// Parse reads the name of a metric. Its errors say what is wrong with the name
// and name the nearest one there is.
func Parse(name string) (Metric, error) {
	word, cut, hasCut := strings.Cut(name, "@")
	kind, ok := find(word)
	if !ok {
		return Metric{}, unknown(name, word)
	}
	m := Metric{name: name, kind: kind, k: math.MaxInt, ranks: new(discounts)}
	switch {
	case !hasCut && kind.Cut == CutRequired:
		return Metric{}, fmt.Errorf("metric %q lacks a cut-off: write %s@10 for the first 10 ranks", name, word)
	case hasCut && kind.Cut == CutNone:
		return Metric{}, fmt.Errorf("metric %q takes no cut-off: write %s", name, word)
	case !hasCut:
		return m, nil
	}
	k, err := strconv.Atoi(cut)
	if err != nil || k < 1 || strconv.Itoa(k) != cut {
		return Metric{}, fmt.Errorf("metric %q: the cut-off %q is not a whole number from 1 up, as in %s@10", name, cut, word)
	}
	m.k = k
	return m, nil
}

// ParseAll reads several names. It refuses a metric named twice.
func ParseAll(names []string) ([]Metric, error) {
	metrics := make([]Metric, 0, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("metric %q is named twice", name)
		}
		m, err := Parse(name)
		if err != nil {
			return nil, err
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}

// Name returns the name that was parsed.
func (m Metric) Name() string { return m.name }

// Kind returns the metric's description.
func (m Metric) Kind() Kind { return m.kind }

// Cutoff returns how many ranks count, and false when all do.
func (m Metric) Cutoff() (k int, ok bool) { return m.k, m.k != math.MaxInt }

// Value returns the metric of one question, NaN when nothing is relevant to it.
func (m Metric) Value(j Judged) float64 {
	if len(j.Ideal) == 0 {
		return math.NaN()
	}
	return m.kind.value(j, m.k, m.ranks)
}

// foreign maps what other tools call a metric to what it is called here. These
// names are not accepted, since some tools mean something else by them.
var foreign = map[string]string{
	"r": "recall", "p": "precision", "prec": "precision", "ap": "map",
	"rr": "mrr", "recip_rank": "mrr", "reciprocal_rank": "mrr",
	"hit_rate": "hit", "hits": "hit", "accuracy": "hit", "acc": "hit",
	"ndcg_cut": "ndcg", "map_cut": "map", "r-precision": "rprec", "rprecision": "rprec",
	"ndcg_burges": "ndcg_exp", "r_cap": "recall_cap", "f": "f1",
}

func unknown(name, word string) error {
	nearest := nearestName(strings.ToLower(word))
	if nearest == "" {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.Pattern()
		}
		return fmt.Errorf("there is no metric %q; the metrics are %s", name, strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no metric %q; did you mean %s?", name, nearest+suffix(name, nearest))
}

// suffix is the cut-off to show with a suggested name.
func suffix(name, nearest string) string {
	kind, _ := find(nearest)
	_, cut, ok := strings.Cut(name, "@")
	switch {
	case kind.Cut == CutNone:
		return ""
	case ok && cut != "":
		return "@" + cut
	case kind.Cut == CutRequired:
		return "@10"
	}
	return ""
}

// nearestName returns the kind that a misspelt word most likely means, or "".
func nearestName(word string) string {
	// trec_eval writes the cut-off behind an underscore.
	if head, tail, ok := cutLast(word, "_"); ok && strings.Trim(tail, "0123456789") == "" {
		word = head
	}
	if name, ok := foreign[word]; ok {
		return name
	}
	best, distance := "", 3
	for _, k := range kinds {
		if d := levenshtein.Distance(word, k.Name, nil); d < distance && d < len(k.Name) {
			best, distance = k.Name, d
		}
	}
	return best
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
