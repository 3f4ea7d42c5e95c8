package html

import (
	"fmt"

	"raglab/internal/report"
)

// more are the report's tables that no other section shows.
func more(in Input) (part, error) {
	var tables []table
	for i, t := range report.Pick(in.Report.Tables(), []string{"expected", "not_measured", "golden", "spans", "abstention", "latency", "cost"}) {
		tables = append(tables, ofReport(fmt.Sprintf("more-table-%d", i+1), t))
	}
	if len(tables) == 0 {
		return part{}, nil
	}
	return part{view: chartsView{Tables: tables}}, nil
}
