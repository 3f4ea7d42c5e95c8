package pipeline

import (
	"fmt"

	"raglab/axes/reranker"
	"raglab/engine"
	"raglab/internal/report"
)

// rerankNotes says what a reader must know of the rerank stages: which times are
// composed or missing, and which pairs were cut.
func (c *collector) rerankNotes(r *report.Report) {
	seen := map[*engine.Stage]bool{}
	stages, composed, unmeasured := 0, 0, 0
	cut, worst := 0.0, (*engine.Stage)(nil)
	for _, row := range c.p.Rows {
		for _, s := range row.Ask {
			if asking[s.Kind.Name] != "rerank" || seen[s] {
				continue
			}
			seen[s] = true
			m := c.measure(s)
			if m == nil {
				continue
			}
			stages++
			if n, _ := m.number("composed_questions"); n > 0 {
				composed++
			}
			if n, _ := m.number("unmeasured_questions"); n > 0 {
				unmeasured++
			}
			if share, _ := m.number("truncated_share"); share > cut {
				cut, worst = share, s
			}
		}
	}
	if worst != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %.1f %% of the pairs of question and passage are longer than the model takes, and were cut; of no other rerank stage are more.", worst.Address, 100*cut))
	}
	if composed > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Latencies marked ≈, of %d of %d rerank stages, are composed: scores were remembered, and a question's time is the sum of what its pairs took when they were scored.", composed, stages))
	}
	if unmeasured > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Latencies of %d of %d rerank stages are unmeasured: pairs were scored on another machine, or with another number of threads.", unmeasured, stages))
	}
}

// billReranking adds what the pairs of a stage cost by the price that the spec
// states now.
func (c *collector) billReranking(sum *bill, s *engine.Stage) {
	work, ok := s.Work.(rerankWork)
	if !ok {
		return
	}
	priced, ok := work.reranker.(reranker.Priced)
	if !ok {
		return
	}
	sum.services++
	m := c.measure(s)
	if m == nil {
		sum.unknown = true
		return
	}
	searches, measured := m.number("searches")
	tokens, _ := m.number("tokens") // none where the service does not count them
	usd, known := priced.USD(searches, int(tokens))
	sum.unknown = sum.unknown || !measured || !known
	sum.usd += usd
}
