package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hasParts reports whether some row's questions pass through several parts.
func (r *Report) hasParts() bool {
	return slices.ContainsFunc(r.Configurations, func(c Configuration) bool {
		return c.Latency != nil && len(c.Latency.Parts) > 1
	})
}

// latencyRows is how many rows the table of latencies has at most.
const latencyRows = 12

// latencyTable shows where the time of a question goes.
func (r *Report) latencyTable(ranked []*Configuration) Table {
	t := Table{Name: "latency", Title: "Latency, part by part"}
	if len(ranked) > latencyRows {
		ranked = ranked[:latencyRows]
		t.Title += fmt.Sprintf(": the best %d", latencyRows)
	}
	t.Note = fmt.Sprintf("Milliseconds for a question, percentiles by nearest rank over the test questions, asked one at a time after %d to warm up. Parts stand each on its own: their percentiles do not add up to the whole's.", r.WarmUp)
	axes := r.axes()
	for _, a := range axes {
		t.Columns = append(t.Columns, Column{Name: a})
	}
	parts := slices.DeleteFunc(slices.Clone(LatencyParts), func(p string) bool { return !r.hasPart(p) })
	for _, p := range append(parts, "whole") {
		t.Columns = append(t.Columns, Column{p + " p50", true}, Column{p + " p95", true})
	}
	for _, c := range ranked {
		row := c.labels(axes)
		for _, p := range parts {
			row = append(row, c.Latency.part(p)...)
		}
		t.Rows = append(t.Rows, append(row, latency(c.Latency)...))
	}
	return t
}

func (r *Report) hasPart(name string) bool {
	return slices.ContainsFunc(r.Configurations, func(c Configuration) bool {
		if c.Latency == nil {
			return false
		}
		_, ok := c.Latency.Parts[name]
		return ok
	})
}

func (l *Latency) part(name string) []string {
	if l == nil {
		return []string{unmeasured, unmeasured}
	}
	p, ok := l.Parts[name]
	if !ok {
		return []string{notApplicable, notApplicable}
	}
	if name == "rerank" {
		return []string{l.mark(millis(&p.P50)), l.mark(millis(&p.P95))}
	}
	return []string{millis(&p.P50), millis(&p.P95)}
}

// annCutoff is the rank at which tables show ann_recall, the primary metric's
// where it has one, and false when no row is approximate.
func (r *Report) annCutoff() (int, bool) {
	approximate := slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Approximate })
	_, cut, _ := strings.Cut(r.Primary, "@")
	if k, err := strconv.Atoi(cut); err == nil {
		return min(k, r.Depth), approximate
	}
	return r.Depth, approximate
}

// annRecall is a row's ann_recall@k.
func (c *Configuration) annRecall(k int) string {
	if !c.Approximate {
		return notApplicable
	}
	if a := c.annRecallAt(k); a != nil {
		return score(&a.Mean)
	}
	return unmeasured
}

// scoreOffColumn names [Configuration.ScoreDifference] in tables.
const scoreOffColumn = "scores off by"

// anyRounded reports whether a row's index keeps vectors in a lower precision.
func (r *Report) anyRounded() bool {
	return slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Rounded })
}

// scoreOff is a row's greatest difference of a score.
func (c *Configuration) scoreOff() string {
	switch {
	case !c.Rounded:
		return notApplicable
	case c.ScoreDifference == nil:
		return unmeasured
	}
	return strconv.FormatFloat(*c.ScoreDifference, 'e', 1, 64)
}

func (c *Configuration) annRecallAt(k int) *ANNRecall {
	for i := range c.ANNRecall {
		if c.ANNRecall[i].K == k {
			return &c.ANNRecall[i]
		}
	}
	return nil
}

// annCutoffs are all ranks at which some row's ann_recall is measured.
func (r *Report) annCutoffs() []int {
	var ks []int
	for _, c := range r.Configurations {
		for _, a := range c.ANNRecall {
			ks = append(ks, a.K)
		}
	}
	slices.Sort(ks)
	return slices.Compact(ks)
}

// ingestColumn is a column of the table of ingest costs. One that has nothing to
// say of any index is left out.
type ingestColumn struct {
	Column
	cell func(i *Ingest) string
}

var ingestColumns = []ingestColumn{
	{Column{Name: "indexes"}, func(i *Ingest) string { return i.Name }},
	{Column{"chunks", true}, func(i *Ingest) string { return strconv.Itoa(i.Chunks) }},
	{Column{"mean tok", true}, func(i *Ingest) string {
		return orNone(i.MeanTokens, number(i.MeanTokens, 1, 0)) // none when the chunker counts none and nothing was embedded
	}},
	{Column{"chunk s", true}, func(i *Ingest) string { return seconds(i.Chunk) }},
	{Column{"embed s", true}, func(i *Ingest) string {
		if i.Embed == nil && i.Truncated == nil {
			return notApplicable
		}
		return seconds(i.Embed)
	}},
	{Column{"normalise s", true}, func(i *Ingest) string { return orNone(i.Normalise, seconds(i.Normalise)) }},
	{Column{"ms/doc", true}, func(i *Ingest) string {
		return orNone(i.NormalisePerDocument, millis(i.NormalisePerDocument))
	}},
	{Column{"unknown", true}, func(i *Ingest) string {
		if i.Words == nil || i.UnknownWords == nil || *i.Words == 0 {
			return notApplicable
		}
		return fmt.Sprintf("%.1f %%", 100*float64(*i.UnknownWords)/float64(*i.Words))
	}},
	{Column{"text MB", true}, func(i *Ingest) string { return orNone(i.TextBytes, megabytes(i.TextBytes)) }},
	{Column{"copy s", true}, func(i *Ingest) string { return orNone(i.Copy, seconds(i.Copy)) }},
	{Column{"build s", true}, func(i *Ingest) string { return seconds(i.Build) }},
	{Column{"total s", true}, func(i *Ingest) string { return seconds(i.Total) }},
	{Column{"index MB", true}, func(i *Ingest) string { return megabytes(i.IndexBytes) }},
	{Column{"heap MB", true}, func(i *Ingest) string { return orNone(i.HeapBytes, megabytes(i.HeapBytes)) }},
	{Column{"truncated", true}, func(i *Ingest) string {
		if i.Truncated == nil {
			return notApplicable
		}
		return strconv.Itoa(*i.Truncated)
	}},
	{Column{"USD", true}, func(i *Ingest) string {
		if !billed(i.USD) {
			return notApplicable
		}
		return dollars(i.USD, i.USDEstimated)
	}},
}

// orNone is a cell, or the mark of what an index does not have.
func orNone[T any](v *T, cell string) string {
	if v == nil {
		return notApplicable
	}
	return cell
}

func (r *Report) ingestTable() Table {
	t := Table{Name: "ingest", Title: "Ingest cost", Rows: make([][]string, len(r.Ingest))}
	for _, c := range ingestColumns {
		cells := make([]string, len(r.Ingest))
		says := false
		for i := range r.Ingest {
			cells[i] = c.cell(&r.Ingest[i])
			says = says || cells[i] != notApplicable
		}
		if !says {
			continue
		}
		t.Columns = append(t.Columns, c.Column)
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	if slices.ContainsFunc(r.Ingest, func(i Ingest) bool { return i.Words != nil }) {
		t.Note = "Unknown is the share of the words that the dictionary of the text handling does not have, which stay as they are; text MB is what it takes in memory."
	}
	if len(r.Machines) > 1 {
		t.Foot = "Times come from several machines and are not comparable: " + strings.Join(r.Machines, "; ") + "."
	}
	return t
}
