package report

import (
	"math"
	"strings"
)

// Mark is a place between 0 and 1, with bounds around it where Low and High
// differ.
type Mark struct{ At, Low, High float64 }

// glyphs are the characters that a plot is drawn with.
type glyphs struct{ left, right, line, at, axis string }

var (
	unicodeGlyphs = glyphs{"├", "┤", "─", "●", "·"}
	asciiGlyphs   = glyphs{"|", "|", "-", "*", "."}
)

// plot draws a mark on a line of so many characters.
func (m Mark) plot(width int, g glyphs) string {
	place := func(v float64) int { return int(min(max(v, 0), 1)*float64(width-1) + 0.5) }
	low, at, high := place(m.Low), place(m.At), place(m.High)
	var b strings.Builder
	for i := range width {
		switch {
		case i == at:
			b.WriteString(g.at)
		case i == low && low < high:
			b.WriteString(g.left)
		case i == high && low < high:
			b.WriteString(g.right)
		case i > low && i < high:
			b.WriteString(g.line)
		default:
			b.WriteString(g.axis)
		}
	}
	return b.String()
}

// Blocks draws values as a row of bars, from the least to the greatest; without
// Unicode as digits from 0 to 9. Nil values are blanks.
func Blocks(values []*float64, unicode bool) string {
	steps := []rune("0123456789")
	if unicode {
		steps = []rune("▁▂▃▄▅▆▇█")
	}
	low, high, any := 0.0, 0.0, false
	for _, v := range values {
		switch {
		case v == nil:
		case !any:
			low, high, any = *v, *v, true
		default:
			low, high = min(low, *v), max(high, *v)
		}
	}
	out := make([]rune, len(values))
	for i, v := range values {
		switch {
		case v == nil:
			out[i] = ' '
		case high == low:
			out[i] = steps[len(steps)/2]
		default:
			out[i] = steps[int((*v-low)/(high-low)*float64(len(steps)-1)+0.5)]
		}
	}
	return string(out)
}

// plots places values, with bounds where they have some, between the least and the
// greatest of them all. Values that are all equal have no plot.
func plots(values []*float64, bounds []*Interval) []*Mark {
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if v == nil {
			continue
		}
		low, high = min(low, *v), max(high, *v)
		if b := bounds[i]; b != nil {
			low, high = min(low, b.Low), max(high, b.High)
		}
	}
	if !(low < high) {
		return nil
	}
	marks := make([]*Mark, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		m := &Mark{At: (*v - low) / (high - low)}
		m.Low, m.High = m.At, m.At
		if b := bounds[i]; b != nil {
			m.Low, m.High = (b.Low-low)/(high-low), (b.High-low)/(high-low)
		}
		marks[i] = m
	}
	return marks
}
