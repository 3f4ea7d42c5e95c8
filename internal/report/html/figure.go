package html

import (
	"fmt"

	"raglab/internal/report/html/chart"
)

// figureView is a chart with the table of what it shows.
type figureView struct {
	chart.Figure
	Note  string
	Table table
}

// chartsView is a section that is mostly charts.
type chartsView struct {
	Note    string
	Figures []figureView
	Tables  []table
	// Said are sentences below.
	Said []string
}

// mostRows is how many rows a chart has at most; its table has all of them.
const mostRows = 40

// firstOf says that a chart leaves rows out.
func firstOf(n int, what string) string {
	if n <= mostRows {
		return ""
	}
	return fmt.Sprintf("The chart has the first %d of %d %s; the table below it has all.", mostRows, n, what)
}
