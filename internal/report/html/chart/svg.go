package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// finish draws the plot and makes its SVG fit to stand in a page.
func finish(f Figure, p *plot.Plot, height int) (Figure, error) {
	canvas := vgsvg.New(width, vg.Length(height))
	// A label at the end of an axis reaches beyond it.
	p.Draw(draw.Crop(draw.New(canvas), 0, -textSize, 0, -textSize/2))
	var raw bytes.Buffer
	if _, err := canvas.WriteTo(&raw); err != nil {
		return f, fmt.Errorf("draw %s: %w", f.ID, err)
	}
	body, err := sanitise(&raw)
	if err != nil {
		return f, fmt.Errorf("draw %s: %w", f.ID, err)
	}
	esc := template.HTMLEscapeString
	f.Width = width
	f.SVG = template.HTML(fmt.Sprintf(
		`<svg class="chart" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%[2]d" height="%[3]d" viewBox="0 0 %[2]d %[3]d"><title id="%[1]s-title">%[4]s</title><desc id="%[1]s-desc">%[5]s</desc>%[6]s</svg>`,
		esc(f.ID), width, height, esc(clean(f.Title)), esc(clean(f.Desc)), body))
	return f, nil
}

// kept are the elements that charts are made of, with the attributes that they keep.
var kept = map[string][]string{
	"g":    {"transform"},
	"path": {"d"},
	"text": {"x", "y", "transform"},
}

// sanitise writes the drawing again, element by element: it keeps what charts are made
// of, is an error for anything else, and turns colours into classes and style
// attributes into ones that a policy allows.
func sanitise(r io.Reader) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(r)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("read drawing: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "svg" {
				continue
			}
			if err := start(&b, d, t); err != nil {
				return "", err
			}
		case xml.EndElement:
			if t.Name.Local != "svg" {
				b.WriteString("</" + t.Name.Local + ">")
			}
		}
	}
}

// start writes an element up to its content, which only a text has that is no element.
func start(b *strings.Builder, d *xml.Decoder, t xml.StartElement) error {
	attributes, ok := kept[t.Name.Local]
	if !ok {
		return fmt.Errorf("read drawing: element %q is not one that charts are made of", t.Name.Local)
	}
	b.WriteString("<" + t.Name.Local)
	style := map[string]string{}
	for _, a := range t.Attr {
		switch {
		case a.Name.Local == "style":
			style = declarations(a.Value)
		case slices.Contains(attributes, a.Name.Local):
			fmt.Fprintf(b, ` %s="%s"`, a.Name.Local, template.HTMLEscapeString(a.Value))
		default:
			return fmt.Errorf("read drawing: attribute %q of %q is not one that charts have", a.Name.Local, t.Name.Local)
		}
	}
	if t.Name.Local != "g" {
		class, err := classOf(style)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, ` class="%s"`, class)
	}
	if w, err := strconv.ParseFloat(style["stroke-width"], 64); err == nil {
		fmt.Fprintf(b, ` stroke-width="%g"`, w)
	}
	if t.Name.Local == "text" {
		return label(b, d)
	}
	b.WriteString(">")
	return nil
}

// label writes a text's length, which the page's font must keep to: the drawing was laid
// out by the widths of a font that a reader may not have.
func label(b *strings.Builder, d *xml.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return fmt.Errorf("read drawing: %w", err)
	}
	said, ok := token.(xml.CharData)
	if !ok {
		return errors.New("read drawing: a label that is no text")
	}
	fmt.Fprintf(b, ` textLength="%.1f" lengthAdjust="spacingAndGlyphs">`, newFitted().width(string(said), face()).Points())
	template.HTMLEscape(b, said)
	return nil
}

func declarations(style string) map[string]string {
	found := map[string]string{}
	for declaration := range strings.SplitSeq(style, ";") {
		if name, value, ok := strings.Cut(declaration, ":"); ok {
			found[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return found
}

// classOf tells strokes from fills, and which role the colour stands for.
func classOf(style map[string]string) (string, error) {
	kind, colour := "fill", style["fill"]
	if style["stroke"] != "" {
		kind, colour = "stroke", style["stroke"]
	}
	hex, ok := strings.CutPrefix(strings.ToLower(colour), "#fedc")
	n, err := strconv.ParseUint(hex, 16, 8)
	if !ok || err != nil || n >= uint64(roles) {
		return "", fmt.Errorf("read drawing: colour %q stands for no role", colour)
	}
	return kind + " " + classes[n], nil
}

// clean leaves out what neither XML nor a label can hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == unicode.ReplacementChar || unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// clip shortens a label that would leave no room for the chart.
func clip(s string) string {
	runes := []rune(clean(s))
	if len(runes) <= longLabel {
		return string(runes)
	}
	return string(runes[:longLabel-1]) + "…"
}
