package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// figures draws one of each from the same labels and numbers.
func figures(t interface{ Fatal(...any) }, label string, a, b float64) map[string]Figure {
	f := Figure{ID: "id", Title: label, Desc: label, Legend: []Entry{{Series1, label}, {Series2, label}}}
	x, y := Axis{Label: label}, Axis{Label: label}
	drawn := map[string]Figure{}
	add := func(name string, f Figure, err error) {
		if err != nil {
			t.Fatal(name, err)
		}
		drawn[name] = f
	}
	made, err := Intervals(f, []Span{{label, a, a - 1, a + 1, Best}, {label, b, b, b, Muted}}, x)
	add("intervals", made, err)
	points := []Point{{X: a, Y: b, Role: Front, Label: label}, {X: b, Y: a, Role: Best, Label: label, Left: true}}
	made, err = Scatter(f, points, []Line{{Front, points, true}}, Axis{label, true}, y)
	add("scatter", made, err)
	made, err = Stack(f, []Bar{{label, []float64{max(a, 0), max(b, 0)}}, {label, []float64{0, 0}}}, x)
	add("stack", made, err)
	made, err = Heat(f, Cells{Rows: []string{label, label}, Columns: []string{label}, Values: [][]*float64{{&a}, {nil}}, Decimals: 2}, x, y)
	add("heat", made, err)
	return drawn
}

// TestFigures_anyLabel holds for every label and number: the drawing is well formed, its
// elements are those of drawings, and nothing of it acts or has a style of its own.
func TestFigures_anyLabel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.String().Draw(t, "label")
		a, b := rapid.Float64Range(-1e6, 1e6).Draw(t, "a"), rapid.Float64Range(1e-3, 1e6).Draw(t, "b")
		for name, f := range figures(t, label, a, b) {
			inspect(t, name, string(f.SVG))
		}
	})
}

func inspect(t interface{ Fatalf(string, ...any) }, name, svg string) {
	allowed := map[string][]string{
		"svg": {"class", "role", "aria-labelledby", "width", "height", "viewBox"}, "title": {"id"}, "desc": {"id"},
		"g": {"transform"}, "path": {"d", "class", "stroke-width"}, "text": {"x", "y", "transform", "class", "textLength", "lengthAdjust"},
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			if !slices.Contains(allowed[e.Name.Local], a.Name.Local) {
				t.Fatalf("%s: attribute %s of %s", name, a.Name.Local, e.Name.Local)
			}
		}
		if allowed[e.Name.Local] == nil {
			t.Fatalf("%s: element %s", name, e.Name.Local)
		}
	}
}

func TestFigures_hostileLabels(t *testing.T) {
	t.Parallel()
	for name, f := range figures(t, `</text><script>alert(1)</script><a href="x">`, 1, 2) {
		if svg := string(f.SVG); strings.Contains(svg, "<script") || strings.Contains(svg, "<a ") || !strings.Contains(svg, "&lt;script&gt;") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}

// TestFigures_roles holds that each mark bears the class of its role and no colour.
func TestFigures_roles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"intervals": {"fill c-best", "stroke c-best", "fill c-muted"}, "scatter": {"stroke c-front", "fill c-front", "fill c-best", "stroke c-grid"},
		"stack": {"fill c-series1", "fill c-series2"}, "heat": {"fill c-heat4", "fill c-ink"},
	} {
		svg := string(figures(t, "label", 1, 2)[name].SVG)
		for _, class := range want {
			if !strings.Contains(svg, `class="`+class+`"`) {
				t.Errorf("%s has no %s", name, class)
			}
		}
		if strings.Contains(svg, "#") {
			t.Errorf("%s has a colour of its own", name)
		}
	}
}

func TestHeat_steps(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]Role{0: Heat1, 0.14: Heat1, 0.15: Heat2, 0.5: Heat4, 0.99: Heat7, 1: Heat7} {
		if got := heat(v, 0, 1); got != want {
			t.Errorf("%g is step %d, want %d", v, got, want)
		}
	}
	if got := heat(3, 3, 3); got != Heat4 {
		t.Errorf("equal values are step %d", got)
	}
}

// TestLabels_width holds that labels in scripts which the layout's font lacks take room.
func TestLabels_width(t *testing.T) {
	t.Parallel()
	h := newFitted()
	latin, cjk := h.width("aaaa", face()), h.width("中文字符", face())
	if cjk != 4*textSize {
		t.Errorf("four characters of Chinese are %v wide, want %d", cjk, 4*textSize)
	}
	if latin <= 0 || latin >= cjk {
		t.Errorf("four letters are %v wide", latin)
	}
	svg := string(figures(t, "中文字符", 1, 2)["stack"].SVG)
	if !regexp.MustCompile(`textLength="48\.0"[^>]*>中文字符<`).MatchString(svg) {
		t.Error("the page is not told how wide the label is")
	}
}

func TestSanitise_refusesWhatIsNoChart(t *testing.T) {
	t.Parallel()
	for _, drawing := range []string{
		`<svg><script>alert(1)</script></svg>`, `<svg><image href="x"/></svg>`, `<svg><path d="M0,0" onclick="x" style="fill:#FEDC00"/></svg>`,
		`<svg><path d="M0,0" style="fill:#123456"/></svg>`, `<svg><text style="fill:#FEDC00"><g/></text></svg>`, `<svg><g`,
	} {
		if got, err := sanitise(strings.NewReader(drawing)); err == nil {
			t.Errorf("%s became %s", drawing, got)
		}
	}
}

func TestScatter_logarithmicOnlyAboveZero(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{0, -1, 5} {
		if _, err := Scatter(Figure{ID: "id"}, []Point{{X: x, Y: 1}, {X: 1000, Y: 2}}, nil, Axis{Log: true}, Axis{}); err != nil {
			t.Error(err)
		}
	}
}
