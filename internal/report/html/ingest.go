package html

import (
	"fmt"

	"raglab/internal/report"
	"raglab/internal/report/html/chart"
)

// ingest stacks what making each set of indexes ready costs.
func ingest(in Input) (part, error) {
	r := in.Report
	tables := report.Pick(r.Tables(), []string{"ingest"})
	if len(r.Ingest) == 0 || len(tables) == 0 {
		return part{}, nil
	}
	t := ofReport("ingest-table", tables[0])
	f := chart.Figure{
		ID: "ingest-chart", Title: "Seconds to make the indexes ready",
		Legend: []chart.Entry{{Role: chart.Series1, Label: "chunk"}, {Role: chart.Series2, Label: "embed"}, {Role: chart.Series3, Label: "index"}},
	}
	var bars []chart.Bar
	most := 0
	for i, g := range r.Ingest {
		if i < mostRows {
			bars = append(bars, chart.Bar{Label: g.Name, Parts: []float64{orZero(g.Chunk), orZero(g.Embed), orZero(g.Index)}})
		}
		if orZero(g.Total) > orZero(r.Ingest[most].Total) {
			most = i
		}
	}
	f.Desc = fmt.Sprintf("%d sets of indexes; the most, %s s, is for %s. What was not measured has no length.", len(r.Ingest), seconds(r.Ingest[most].Total).Text, r.Ingest[most].Name)
	f, err := chart.Stack(f, bars, chart.Axis{Label: "seconds"})
	if err != nil {
		return part{}, err
	}
	note := t.Note
	t.Note = ""
	return part{view: chartsView{Figures: []figureView{{Figure: f, Note: note + " " + firstOf(len(r.Ingest), "sets of indexes"), Table: t}}}}, nil
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
