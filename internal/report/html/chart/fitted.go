package chart

import (
	"math"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// fitted lays labels out by widths of which [sanitise] tells the page. A character that
// the font lacks, as it does those of Chinese, Japanese and Korean, is as wide as the font
// is high: the page's font has it, and about so wide.
type fitted struct{ text.Plain }

func newFitted() fitted { return fitted{text.Plain{Fonts: font.DefaultCache}} }

func (h fitted) width(s string, f font.Font) vg.Length {
	face := h.Fonts.Lookup(f, f.Size)
	var buf sfnt.Buffer
	known, lacking := make([]rune, 0, len(s)), 0
	for _, r := range s {
		if i, err := face.Face.GlyphIndex(&buf, r); err != nil || i == 0 {
			lacking++
			continue
		}
		known = append(known, r)
	}
	return face.Width(string(known)) + vg.Length(lacking)*f.Size
}

// Box implements [text.Handler].
func (h fitted) Box(s string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = h.Plain.Box("", f)
	return h.width(s, f), height, depth
}

// Lines implements [text.Handler]: a label has one.
func (h fitted) Lines(s string) []string { return []string{s} }

// Draw implements [text.Handler].
func (h fitted) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	if s == "" {
		return
	}
	face := h.Fonts.Lookup(style.Font, style.Font.Size)
	c.SetColor(style.Color)
	if style.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(style.Rotation)
	}
	sin, cos := math.Sincos(style.Rotation)
	at.X, at.Y = at.Y*vg.Length(sin)+at.X*vg.Length(cos), at.Y*vg.Length(cos)-at.X*vg.Length(sin)
	at.X += vg.Length(style.XAlign) * h.width(s, style.Font)
	at.Y += vg.Length(style.YAlign)*style.Height(s) - face.Extents().Ascent + style.Font.Size
	c.FillString(face, at, s)
}
