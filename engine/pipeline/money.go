package pipeline

import (
	"raglab/axes/embedder"
	"raglab/engine"
	"raglab/internal/report"
)

// bill is what the stages of a row, or of an index, are billed.
type bill struct {
	usd       float64
	services  int  // stages that somebody bills for
	unknown   bool // one of them was not measured, or has no price
	estimated bool
}

// report is the sum; nil when it is not known.
func (b bill) report() *float64 {
	if b.unknown {
		return nil
	}
	usd := b.usd
	return &usd
}

// bill sums what stages are billed: for all that they embed or rerank, whether it
// was remembered or not.
func (c *collector) bill(stages []*engine.Stage) bill {
	var sum bill
	for _, s := range stages {
		switch s.Kind {
		case embedKind, embedQuestionsKind:
			c.billEmbedding(&sum, s, "tokens")
		case chunkKindEmbedder:
			c.billEmbedding(&sum, s, "embed_tokens")
		case rerankKindVolatile:
			c.billReranking(&sum, s)
		default:
			if m := c.measure(s); m != nil {
				if usd, ok := m.number("usd"); ok {
					sum.usd, sum.services = sum.usd+usd, sum.services+1
				}
			}
		}
	}
	return sum
}

// billEmbedding adds what the tokens of a stage cost by the price that the spec
// states now.
func (c *collector) billEmbedding(sum *bill, s *engine.Stage, count string) {
	work, ok := embeddingOf(s)
	if !ok {
		return
	}
	price, known, billed := work.service()
	if !billed {
		return
	}
	sum.services++
	m := c.measure(s)
	if m == nil || !known {
		sum.unknown = true
		return
	}
	tokens, measured := m.number(count)
	sum.unknown = sum.unknown || !measured
	sum.usd += tokens * price / 1000
	sum.estimated = sum.estimated || string(m.values["tokens_estimated"]) == "true"
}

// embeddingOf is the embedder of a stage that embeds.
func embeddingOf(s *engine.Stage) (embedWork, bool) {
	switch w := s.Work.(type) {
	case embedWork:
		return w, true
	case chunkWork:
		if w.embed != nil {
			return *w.embed, true
		}
	}
	return embedWork{}, false
}

// rowCost is what a row's services bill; nil when it has none.
func (c *collector) rowCost(row Row) *report.Cost {
	ingest, ask := c.bill(row.Ingest), c.bill(row.Ask)
	if ingest.services+ask.services == 0 {
		return nil
	}
	cost := &report.Cost{Ingest: ingest.report(), Questions: ask.report(), Estimated: ingest.estimated || ask.estimated}
	questions := 0.0
	if m := c.measure(c.p.Questions); m != nil {
		questions, _ = m.number("questions")
	}
	switch {
	case cost.Questions == nil:
	case questions == 0:
		cost.Questions = nil
	default:
		*cost.Questions *= 1000 / questions
	}
	return cost
}

// price is what 1,000 tokens cost in USD, and false when nobody bills for them or
// it is not known.
func (w embedWork) price() (usd float64, known bool) {
	usd, known, _ = w.service()
	return usd, known
}

// service is the price, and whether the embedder is somebody's service.
func (w embedWork) service() (usd float64, known, billed bool) {
	model, err := w.make()
	if err != nil {
		return 0, false, false
	}
	priced, ok := model.(embedder.Priced)
	if !ok {
		return 0, false, false
	}
	usd, known = priced.Price()
	return usd, known, true
}

// usd estimates what it costs to embed texts; 0 where nobody bills for it.
func (w embedWork) usd(texts []string) (float64, error) {
	price, known := w.price()
	if !known || price == 0 {
		return 0, nil
	}
	stats, err := countTokens(w, texts, freshVectors{})
	return float64(stats.Tokens) * price / 1000, err
}
