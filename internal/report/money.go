package report

import (
	"math"
	"slices"
	"strconv"
)

// Cost is what services bill for a row by the prices that the spec states, as if
// nothing had been remembered. Null is unmeasured, or without a price.
type Cost struct {
	// Ingest is for embedding the corpus, Questions for embedding 1,000 questions
	// and reranking for them, in USD.
	Ingest    *float64 `json:"ingest_usd"`
	Questions *float64 `json:"usd_per_1000_questions"`
	// Estimated says that tokens are reckoned from the length of texts, where no
	// service counted them.
	Estimated bool `json:"estimated,omitempty"`
}

// billed reports whether a sum is known to be more than nothing.
func billed(usd *float64) bool { return usd != nil && *usd > 0 }

// costs reports whether some row costs money.
func (r *Report) costs() bool {
	return slices.ContainsFunc(r.Configurations, func(c Configuration) bool {
		return c.Cost != nil && (billed(c.Cost.Ingest) || billed(c.Cost.Questions))
	})
}

// costTable shows what rows cost in money, the best first.
func (r *Report) costTable(ranked []*Configuration) Table {
	t := Table{Name: "cost", Title: "Cost in USD", Note: "What services bill by the prices that the spec states, as if nothing had been remembered: for embedding the corpus, and for embedding 1,000 questions and reranking for them."}
	if len(ranked) > latencyRows {
		ranked = ranked[:latencyRows]
		t.Title += ": the best " + strconv.Itoa(latencyRows)
	}
	axes := r.axes()
	for _, a := range axes {
		t.Columns = append(t.Columns, Column{Name: a})
	}
	t.Columns = append(t.Columns, Column{r.Primary, true}, Column{"ingest USD", true}, Column{"USD per 1,000 questions", true})
	estimated := false
	for _, c := range ranked {
		row := append(c.labels(axes), score(c.Metrics[r.Primary]))
		if c.Cost == nil {
			row = append(row, notApplicable, notApplicable)
		} else {
			row = append(row, dollars(c.Cost.Ingest, c.Cost.Estimated), dollars(c.Cost.Questions, c.Cost.Estimated))
			estimated = estimated || c.Cost.Estimated
		}
		t.Rows = append(t.Rows, row)
	}
	if estimated {
		t.Foot = "~ tokens are partly reckoned from the length of texts."
	}
	return t
}

// dollars shows an amount with at least two decimals and three digits that count.
func dollars(usd *float64, estimated bool) string {
	switch {
	case usd == nil:
		return unmeasured
	case *usd == 0:
		return "0.00"
	}
	decimals := max(2, 2-int(math.Floor(math.Log10(*usd))))
	text := strconv.FormatFloat(*usd, 'f', min(decimals, 9), 64)
	if estimated {
		return "~" + text
	}
	return text
}

// costColumns are those of the CSV form.
func (r *Report) costColumns() []csvColumn {
	if !r.costs() {
		return nil
	}
	column := func(name string, get func(*Cost) *float64) csvColumn {
		return csvColumn{name, func(c *Configuration) string {
			if c.Cost == nil {
				return ""
			}
			return plain(get(c.Cost))
		}}
	}
	return []csvColumn{
		column("ingest_usd", func(c *Cost) *float64 { return c.Ingest }),
		column("usd_per_1000_questions", func(c *Cost) *float64 { return c.Questions }),
	}
}
