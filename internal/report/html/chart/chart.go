// Package chart draws a report's charts as SVG that stands in an HTML page.
//
// What a chart shows is said in this package's own types; that gonum/plot lays it out
// is known to plot.go and svg.go alone. Colours are roles: an element bears a class
// such as c-series1, and the page's style says what it looks like in light, in dark and
// on paper. The SVG has no script, no style and no link, so that a strict
// Content-Security-Policy changes nothing about it.
package chart

import "html/template"

// Role is what a mark stands for; the page gives it a colour.
type Role int

// The roles. Series are for things that differ in kind alone, Heat steps go from the
// least to the most.
const (
	Ink Role = iota
	Muted
	Grid
	Best
	Level
	Separated
	Front
	Series1
	Series2
	Series3
	Series4
	Series5
	Series6
	Series7
	Heat1
	Heat2
	Heat3
	Heat4
	Heat5
	Heat6
	Heat7
	roles
)

var classes = [roles]string{
	"c-ink", "c-muted", "c-grid", "c-best", "c-level", "c-separated", "c-front",
	"c-series1", "c-series2", "c-series3", "c-series4", "c-series5", "c-series6", "c-series7",
	"c-heat1", "c-heat2", "c-heat3", "c-heat4", "c-heat5", "c-heat6", "c-heat7",
}

// Class is the class of the role's elements.
func (r Role) Class() string { return classes[r] }

// Series returns the role of the i-th thing, from 0; there are seven, and then they
// begin again.
func Series(i int) Role { return Series1 + Role(i%int(Series7-Series1+1)) }

// Figure is a chart that is ready to stand in a page. Title names it for those who do
// not see it, Desc says in words what is to be seen.
type Figure struct {
	ID, Title, Desc string
	SVG             template.HTML
	Width           int
	Legend          []Entry
}

// Entry is a line of a legend.
type Entry struct {
	Role  Role
	Label string
}

// Axis is one of a chart's.
type Axis struct {
	Label string
	// Log asks for a logarithmic scale, which is not used when a value is 0 or less.
	Log bool
}

// Span is one row of a chart of intervals. Low and High bound the value; equal ones are
// not drawn.
type Span struct {
	Label            string
	Value, Low, High float64
	Role             Role
}

// Point is one mark of a scatter plot; Label stands to its right, or left, and may be
// empty.
type Point struct {
	X, Y  float64
	Role  Role
	Label string
	Left  bool
}

// Line joins points, in order of X.
type Line struct {
	Role   Role
	Points []Point
	// Stepped lines go along and then up, as a front does.
	Stepped bool
}

// Bar is one stacked bar, with a part for each entry of the chart's legend.
type Bar struct {
	Label string
	Parts []float64
}

// Cells are the values of a heat map; nil is unmeasured and stays empty.
type Cells struct {
	Rows, Columns []string
	// Values are by row and column.
	Values [][]*float64
	// Decimals of the values' labels.
	Decimals int
}
