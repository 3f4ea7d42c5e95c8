package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes, in the SVG's units, which the page shows as CSS pixels.
const (
	width      = 760
	rowHeight  = 18
	textSize   = 12
	longLabel  = 56
	dotRadius  = 4
	chartBelow = 56 // what an axis below a chart takes
)

// Intervals draws a dot with its interval for each span, the first at the top.
func Intervals(f Figure, spans []Span, x Axis) (Figure, error) {
	p := newPlot(x, Axis{})
	p.Add(grid(true, false))
	labels := make([]string, len(spans))
	for i, s := range spans {
		y := float64(len(spans) - 1 - i)
		labels[len(spans)-1-i] = clip(s.Label)
		if s.High > s.Low {
			bar := line(plotter.XYs{{X: s.Low, Y: y}, {X: s.High, Y: y}}, s.Role, 2)
			p.Add(bar)
		}
		p.Add(dots(plotter.XYs{{X: s.Value, Y: y}}, s.Role))
	}
	nominal(&p.Y, labels)
	widen(&p.X)
	p.Y.Min, p.Y.Max = -0.5, float64(len(spans))-0.5
	return finish(f, p, len(spans)*rowHeight+chartBelow)
}

// Scatter draws points, below them lines.
func Scatter(f Figure, points []Point, lines []Line, x, y Axis) (Figure, error) {
	all := slices.Clone(points)
	for _, l := range lines {
		all = append(all, l.Points...)
	}
	if slices.ContainsFunc(all, func(p Point) bool { return p.X <= 0 }) {
		x.Log = false
	}
	p := newPlot(x, y)
	p.Add(grid(true, true))
	for _, l := range lines {
		drawn := line(coordinates(l.Points), l.Role, 1.5)
		if l.Stepped {
			drawn.StepStyle = plotter.PostStep
		}
		p.Add(drawn)
	}
	for _, at := range points {
		p.Add(dots(plotter.XYs{{X: at.X, Y: at.Y}}, at.Role))
		if at.Label != "" {
			p.Add(beside(at))
		}
	}
	widen(&p.X)
	widen(&p.Y)
	return finish(f, p, 340)
}

// Stack draws one bar along for each, the first at the top; their parts have the roles
// of the figure's legend.
func Stack(f Figure, bars []Bar, x Axis) (Figure, error) {
	p := newPlot(x, Axis{})
	p.Add(grid(true, false))
	labels := make([]string, len(bars))
	for i, b := range bars {
		labels[len(bars)-1-i] = clip(b.Label)
	}
	var below *plotter.BarChart
	for part, entry := range f.Legend {
		values := make(plotter.Values, len(bars))
		for i, b := range bars {
			values[len(bars)-1-i] = b.Parts[part]
		}
		chart, err := plotter.NewBarChart(values, vg.Points(rowHeight*0.66))
		if err != nil {
			return f, fmt.Errorf("draw bars: %w", err)
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width = true, entry.Role.colour(), 0
		if below != nil {
			chart.StackOn(below)
		}
		below = chart
		p.Add(chart)
	}
	nominal(&p.Y, labels)
	p.X.Min = 0
	if p.X.Max <= 0 {
		p.X.Max = 1
	}
	p.Y.Min, p.Y.Max = -0.5, float64(len(bars))-0.5
	return finish(f, p, len(bars)*rowHeight+chartBelow)
}

// Heat draws a cell for each value, the first row at the top, with the value in it.
func Heat(f Figure, cells Cells, x, y Axis) (Figure, error) {
	p := newPlot(x, y)
	low, high := bounds(cells.Values)
	rows := make([]string, len(cells.Rows))
	for i, name := range cells.Rows {
		at := len(cells.Rows) - 1 - i
		rows[at] = clip(name)
		for j, v := range cells.Values[i] {
			if v == nil {
				continue
			}
			if err := cell(p, float64(j), float64(at), heat(*v, low, high), strconv.FormatFloat(*v, 'f', cells.Decimals, 64)); err != nil {
				return f, err
			}
		}
	}
	columns := make([]string, len(cells.Columns))
	longest := 0
	for i, name := range cells.Columns {
		columns[i] = clip(name)
		longest = max(longest, len([]rune(columns[i])))
	}
	nominal(&p.Y, rows)
	nominal(&p.X, columns)
	below := chartBelow
	if longest*len(columns) > 60 {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
		below += 5 * longest
	}
	p.X.Min, p.X.Max = -0.5, float64(len(columns))-0.5
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	return finish(f, p, len(rows)*(rowHeight+4)+below)
}

func cell(p *plot.Plot, x, y float64, role Role, label string) error {
	const half = 0.48
	square, err := plotter.NewPolygon(plotter.XYs{{X: x - half, Y: y - half}, {X: x + half, Y: y - half}, {X: x + half, Y: y + half}, {X: x - half, Y: y + half}})
	if err != nil {
		return fmt.Errorf("draw cell: %w", err)
	}
	square.Color, square.LineStyle.Width = role.colour(), 0
	p.Add(square, labelAt(x, y, label, draw.XCenter, vg.Point{}))
	return nil
}

// heat is the step of a value between the bounds.
func heat(v, low, high float64) Role {
	if high <= low {
		return Heat4
	}
	const steps = float64(Heat7-Heat1) + 1
	return Heat1 + Role(min(math.Floor((v-low)/(high-low)*steps), steps-1))
}

func bounds(values [][]*float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			if v != nil {
				low, high = min(low, *v), max(high, *v)
			}
		}
	}
	return low, high
}

func newPlot(x, y Axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor, p.TextHandler = nil, newFitted()
	dress(&p.X, x)
	dress(&p.Y, y)
	return p
}

func dress(a *plot.Axis, as Axis) {
	a.Label.Text = clean(as.Label)
	a.LineStyle.Color, a.Tick.LineStyle.Color = Muted.colour(), Muted.colour()
	a.Label.TextStyle.Handler, a.Tick.Label.Handler = newFitted(), newFitted()
	a.Label.TextStyle.Font, a.Tick.Label.Font = face(), face()
	a.Label.TextStyle.Color, a.Tick.Label.Color = Ink.colour(), Ink.colour()
	a.Label.Padding = 4
	if as.Log {
		a.Scale, a.Tick.Marker = plot.LogScale{}, powers{}
	}
}

func face() font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize}
}

// nominal puts names at the axis's whole numbers.
func nominal(a *plot.Axis, names []string) {
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: name}
	}
	a.Tick.Marker, a.Tick.Length, a.LineStyle.Width = ticks, 0, 0
}

// widen keeps an axis from having no length, and marks off its ends.
func widen(a *plot.Axis) {
	if _, log := a.Scale.(plot.LogScale); log {
		a.Min, a.Max = a.Min/1.25, a.Max*1.25
		return
	}
	margin := (a.Max - a.Min) * 0.04
	if margin == 0 {
		margin = max(math.Abs(a.Max)*0.1, 0.01)
	}
	a.Min, a.Max = a.Min-margin, a.Max+margin
}

// powers are the ticks of a logarithmic axis, at 1, 2 and 5 times powers of ten.
type powers struct{}

func (powers) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	wide := high/low > 1000
	for e := math.Floor(math.Log10(low)); math.Pow(10, e) <= high; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			label := strconv.FormatFloat(v, 'g', 3, 64)
			if wide && m > 1 {
				label = ""
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

func grid(x, y bool) *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = nil, nil
	g.Vertical.Width, g.Horizontal.Width = 1, 1
	if x {
		g.Vertical.Color = Grid.colour()
	}
	if y {
		g.Horizontal.Color = Grid.colour()
	}
	return g
}

func coordinates(points []Point) plotter.XYs {
	xys := make(plotter.XYs, len(points))
	for i, p := range points {
		xys[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	return xys
}

func line(xys plotter.XYs, role Role, thick vg.Length) *plotter.Line {
	return &plotter.Line{XYs: xys, LineStyle: draw.LineStyle{Color: role.colour(), Width: thick}}
}

// dots are full, but for what is separated from the best: there they are rings, so that
// colour alone does not tell the two apart.
func dots(xys plotter.XYs, role Role) *plotter.Scatter {
	style := draw.GlyphStyle{Color: role.colour(), Radius: dotRadius, Shape: draw.CircleGlyph{}}
	if role == Separated {
		style.Shape = ring{}
	}
	return &plotter.Scatter{XYs: xys, GlyphStyle: style}
}

// ring is draw's ring with a line that is seen.
type ring struct{}

func (ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 2})
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}

func beside(p Point) *plotter.Labels {
	if p.Left {
		return labelAt(p.X, p.Y, p.Label, draw.XRight, vg.Point{X: -dotRadius - 2, Y: dotRadius})
	}
	return labelAt(p.X, p.Y, p.Label, draw.XLeft, vg.Point{X: dotRadius + 2, Y: dotRadius})
}

func labelAt(x, y float64, label string, align text.XAlignment, offset vg.Point) *plotter.Labels {
	style := text.Style{Color: Ink.colour(), Font: face(), XAlign: align, YAlign: draw.YCenter, Handler: newFitted()}
	return &plotter.Labels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{clip(label)}, TextStyle: []text.Style{style}, Offset: offset}
}

// colour stands for the role until [sanitise] puts the class in its place.
func (r Role) colour() color.Color { return color.RGBA{R: 0xfe, G: 0xdc, B: uint8(r), A: 0xff} }
