package report

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscapeMarkdown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"markdown_header":        "markdown_header",
		"_x_":                    `\_x\_`,
		"a|b":                    `a\|b`,
		"`x`":                    "\\`x\\`",
		`\`:                      `\\`,
		"<script>":               "&lt;script>",
		"</table>":               "&lt;/table>",
		"<!-- /raglab:t -->":     "&lt;!-- /raglab:t -->",
		"p < 0.05":               "p < 0.05",
		"&lt;":                   "&amp;lt;",
		"a & b":                  "a & b",
		"a\nb\r\u2028c":          "a b  c",
		"[x](y)":                 `\[x\](y)`,
		"# x":                    `\# x`,
		"- x":                    `\- x`,
		"-0.046":                 "-0.046",
		"1. x":                   `1\. x`,
		"~~x~~":                  `\~\~x\~\~`,
		"~0.12":                  "~0.12",
		"whole*":                 `whole\*`,
		"ndcg@10":                "ndcg@10",
		"@someone":               "@<!-- -->someone",
		"https://x.org www.x.uk": `https\://x.org www\.x.uk`,
		"\u202egnp":              " gnp",
	} {
		if got := escapeMarkdown(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Whatever a label is, a row of a Markdown table stays one line of so many cells,
// and no marker line is forged.
func FuzzMarkdown_aRowStaysARow(f *testing.F) {
	for _, s := range []string{"a|b", `a\|b`, `\`, "a\nb", "<!-- raglab:t -->", "`|`", "a\x00b", "\xff|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := Markdown([]Table{{Name: "best", Title: s, Columns: []Column{{Name: s}, {s, true}}, Rows: [][]string{{s, s}}, Items: []string{s}}})
		if strings.Contains(text, "<!-- raglab") || strings.Contains(text, "<!-- /raglab") || !utf8.ValidString(text) {
			t.Fatalf("%q makes a marker or no text: %q", s, text)
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) != 7 {
			t.Fatalf("%q makes %d lines: %q", s, len(lines), text)
		}
		for _, line := range []string{lines[2], lines[4]} {
			if n := bareBars(line); n != 3 {
				t.Fatalf("%q makes a row with %d bars: %q", s, n, line)
			}
		}
	})
}

// bareBars counts the bars that end cells.
func bareBars(line string) int {
	n, escaped := 0, false
	for _, c := range line {
		if c == '|' && !escaped {
			n++
		}
		escaped = c == '\\' && !escaped
	}
	return n
}

func TestSafeCell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain": "plain", "-0.5": "-0.5", "+1e-05": "+1e-05", "-1": "-1",
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "\rx": "'\rx", "-Inf": "'-Inf", "-1+2": "'-1+2", "-": "'-",
		"0x10": "0x10",
	} {
		if got := safeCell(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzSafeCell(f *testing.F) {
	for _, s := range []string{"=A1", "-0.5", "@x", "\t=x", "+", "-1e5", "’=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := safeCell(s)
		if _, err := strconv.ParseFloat(got, 64); got != "" && err != nil && strings.ContainsRune("=+-@\t\r\n", rune(got[0])) {
			t.Fatalf("%q stays a formula: %q", s, got)
		}
		if strings.TrimPrefix(got, "'") != strings.TrimPrefix(s, "'") {
			t.Fatalf("%q becomes %q", s, got)
		}
	})
}

// Hostile labels and questions reach neither CSV file as formulas.
func TestCSV_hostileTexts(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Factors[0].Name = "=factor"
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Name, c.Options["=factor"] = "=row", "@option"
		c.PerQuestion = map[string]map[string]*float64{"+q": c.PerQuestion["q1"]}
	}
	r.Golden = []GoldenQuestion{{ID: "+q", Tags: []string{"-tag"}, Part: "test"}}
	for _, o := range []Output{csvFile{}, perQuestionFile{}} {
		b, err := o.Render(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		quoted := 0
		for _, row := range rows {
			for _, cell := range row {
				if _, err := strconv.ParseFloat(cell, 64); cell != "" && err != nil && strings.ContainsRune("=+-@", rune(cell[0])) {
					t.Errorf("%T has the cell %q", o, cell)
				}
				if strings.HasPrefix(cell, "'") {
					quoted++
				}
			}
		}
		if quoted < 2*len(r.Configurations) {
			t.Errorf("%T makes %d cells safe", o, quoted)
		}
	}
}

// With the rankings at hand the rank of the first relevant result is theirs, and
// without, or for a question that they leave out, that of a reciprocal rank.
func TestPerQuestion_firstRelevant(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Metrics, r.Configurations = []string{"ndcg@10", "mrr@5"}, r.Configurations[:1]
	third, none := 1.0/3, 0.0
	r.Configurations[0].PerQuestion = map[string]map[string]*float64{"q1": {"mrr@5": &third}, "q2": {"mrr@5": &none}, "q3": {"mrr@5": &third}}
	d := &Details{
		Questions: []DetailQuestion{{ID: "q1"}, {ID: "q2"}}, Rows: []DetailRow{{Run: 0}}, Runs: []DetailRun{{First: []int{3, 17}}},
	}
	o := perQuestionFile{PerQuestionParams{Ranks: true}}
	ranks := func(b []byte, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(rows[0], "first_relevant_rank")
		var out []string
		for _, row := range rows[1:] {
			out = append(out, row[at])
		}
		return out
	}
	if got := ranks(o.Render(r, nil)); !slices.Equal(got, []string{"3", "", "3"}) {
		t.Errorf("by the metric: %q", got)
	}
	if got := ranks(o.RenderDetailed(r, d, nil)); !slices.Equal(got, []string{"3", "17", "3"}) {
		t.Errorf("by the rankings: %q", got)
	}
}
