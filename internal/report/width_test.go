package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"":             0,
		"plain":        5,
		"їжак":         4,
		"и\u0306жак":   4, // й as и and a breve
		"İstanbul ığş": 12,
		"検索":           4,
		"검색":           4,
		"ｆｕｌｌ":         8,
		"ﾊﾝ":           2,
		"a\u200bb":     2,
		"😀":            2,
		"a\x1b[31m":    5,
	} {
		if got := Width(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
}

// Columns line up whatever script their cells are in.
func TestWriteText_columnsLineUp(t *testing.T) {
	t.Parallel()
	table := Table{
		Name: "best", Title: "T", Columns: []Column{{Name: "label"}, {"n", true}},
		Rows: [][]string{{"plain", "1"}, {"и\u0306ій", "10"}, {"検索器", "100"}, {"ığüş", "1"}, {"a\nb", "2"}},
	}
	var text strings.Builder
	if err := WriteText(&text, []Table{table}, Style{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")[2:]
	if len(lines) != 6 {
		t.Fatalf("a cell breaks a line:\n%s", text.String())
	}
	for _, line := range lines {
		if Width(line) != Width(lines[0]) {
			t.Errorf("%q is %d wide, not %d", line, Width(line), Width(lines[0]))
		}
	}
}

func TestWriteText_asciiAndPlots(t *testing.T) {
	t.Parallel()
	r := study()
	r.Complete(nil)
	evidence(r)
	for i := range r.Configurations {
		m := *r.Configurations[i].Metrics["ndcg@10"]
		r.Configurations[i].Intervals = map[string]*Interval{"ndcg@10": {m - 0.1, m + 0.05}}
	}
	var plain, drawn, ascii strings.Builder
	for b, s := range map[*strings.Builder]Style{&plain: {}, &drawn: {Plots: true}, &ascii: {Plots: true, ASCII: true}} {
		if err := WriteText(b, Pick(r.Tables(), []string{"glance", "best", "axes", "mattered"}), s); err != nil {
			t.Fatal(err)
		}
	}
	if strings.ContainsAny(plain.String(), "├●┤") {
		t.Errorf("a pipe gets plots:\n%s", plain.String())
	}
	if !strings.Contains(drawn.String(), "├") || !strings.Contains(drawn.String(), "●") {
		t.Errorf("a terminal gets no plots:\n%s", drawn.String())
	}
	if i := strings.IndexFunc(ascii.String(), func(c rune) bool { return c >= utf8.RuneSelf }); i >= 0 {
		t.Errorf("not ASCII at %q", ascii.String()[i:min(i+40, ascii.Len())])
	}
	if !strings.Contains(ascii.String(), "|--") {
		t.Errorf("no plot in ASCII:\n%s", ascii.String())
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	a, b, c := 0.0, 0.5, 1.0
	values := []*float64{&a, &b, nil, &c}
	if got := Blocks(values, true); got != "▁▅ █" {
		t.Errorf("got %q", got)
	}
	if got := Blocks(values, false); got != "05 9" {
		t.Errorf("got %q", got)
	}
	if got := Blocks([]*float64{&b, &b}, true); got != "▅▅" {
		t.Errorf("equal values: %q", got)
	}
}
