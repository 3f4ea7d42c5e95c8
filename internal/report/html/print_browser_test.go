package html_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/unicode/norm"

	"raglab/internal/report/html/browsertest"
)

// pressed is a text as a test compares it: without blanks, and without ligatures.
func pressed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
}

// printed are the texts of the pages on paper.
func printed(t *testing.T, p *browsertest.Page, name string, paper chromedp.PaperSize) []string {
	t.Helper()
	pages, err := browsertest.PDFTexts(p.Print(name, paper))
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		pages[i] = pressed(pages[i])
	}
	return pages
}

// sheet is a table as it should stand on paper.
type sheet struct {
	ID, Caption string
	Heads       []string
	Rows        [][]string
}

func sheets(p *browsertest.Page) []sheet {
	return browsertest.Eval[[]sheet](p, `[...document.querySelectorAll("table")].map((table) => ({
		id: table.id, caption: table.caption.textContent,
		heads: [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
		rows: [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => cell.textContent)),
	}))`)
}

// printsAll holds that every heading, and every table with all its cells, folded or not, is on paper.
func printsAll(t *testing.T, p *browsertest.Page, name string, paper chromedp.PaperSize) {
	folded := browsertest.Eval[int](p, `document.querySelectorAll("details:not([open])").length`)
	pages := printed(t, p, name, paper)
	if len(pages) < 3 {
		t.Errorf("%d pages", len(pages))
	}
	all := strings.Join(pages, "")
	for _, heading := range textsOf(p, "h1, h2, h3, h4") {
		if !strings.Contains(all, pressed(heading)) {
			t.Errorf("the heading %q is not on paper", heading)
		}
	}
	tables := sheets(p)
	if len(tables) < 10 {
		t.Errorf("%d tables", len(tables))
	}
	for _, table := range tables {
		if !strings.Contains(all, pressed(table.Caption+strings.Join(table.Heads, ""))) {
			t.Errorf("%s: its heading %q with %q is not on paper", table.ID, table.Caption, table.Heads)
		}
		for _, row := range table.Rows {
			if !strings.Contains(all, pressed(strings.Join(row, ""))) {
				t.Errorf("%s: the row %q is not on paper", table.ID, row)
			}
		}
	}
	if !strings.Contains(all, pressed("On paper is the one question that was chosen")) {
		t.Error("nothing says that the other questions are left out")
	}
	if folded == 0 || browsertest.Eval[int](p, `document.querySelectorAll("details:not([open])").length`) != folded {
		t.Errorf("%d parts were folded before printing, and not after", folded)
	}
}

// printsFiltered holds that only what the page shows is printed, and that this is said.
func printsFiltered(t *testing.T, p *browsertest.Page) {
	said := pressed("On paper are the rows that the page shows: ")
	if all := strings.Join(printed(t, p, "print-whole", chromedp.PaperA4), ""); strings.Contains(all, said) {
		t.Error("all rows are shown, and some are said to be left out")
	}
	choose(p, "[data-filters="+main+"] label:nth-of-type(2) select", "=rrf")
	i := slices.IndexFunc(sheets(p), func(s sheet) bool { return s.ID == main })
	shown := sheets(p)[i]
	all := strings.Join(printed(t, p, "print-filtered", chromedp.PaperA4), "")
	if len(shown.Rows) != 2 || !strings.Contains(all, said+"2of6") {
		t.Errorf("%d rows are shown, and it is not said that others are left out", len(shown.Rows))
	}
	after := all[strings.Index(all, pressed(shown.Caption+strings.Join(shown.Heads, ""))):]
	want := ""
	for _, row := range shown.Rows {
		want += pressed(strings.Join(row, ""))
	}
	if !strings.HasPrefix(after, pressed(shown.Caption+strings.Join(shown.Heads, ""))+want+pressed("Of the cross")) {
		t.Errorf("on paper is %q", after[:300])
	}
}

// printsLong holds that a table of many pages has its heads on each of them.
func printsLong(t *testing.T, p *browsertest.Page) {
	pages := printed(t, p, "print-long", chromedp.PaperA4)
	i := slices.IndexFunc(sheets(p), func(s sheet) bool { return s.ID == main })
	table := sheets(p)[i]
	heads, held := pressed(strings.Join(table.Heads, "")), 0
	for n, page := range pages {
		rows := slices.IndexFunc(table.Rows, func(row []string) bool { return strings.Contains(page, pressed(strings.Join(row, ""))) })
		if rows < 0 {
			continue
		}
		held++
		if !strings.Contains(page, heads) {
			t.Errorf("page %d has rows of the table and not its heads", n+1)
		}
	}
	if held < 3 {
		t.Errorf("the table of %d rows is on %d pages", len(table.Rows), held)
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	plain := render(t, sample(plainly))
	t.Run("A4", func(t *testing.T) { printsAll(t, b.Open(t, plain), "print-a4", chromedp.PaperA4) })
	t.Run("letter", func(t *testing.T) { printsAll(t, b.Open(t, plain), "print-letter", chromedp.PaperLetter) })
	t.Run("a question", func(t *testing.T) { printsQuestion(t, b.Open(t, pageOf(t, madeSmall()))) })
	t.Run("filtered", func(t *testing.T) { printsFiltered(t, b.Open(t, plain)) })
	t.Run("long", func(t *testing.T) { printsLong(t, b.Open(t, render(t, large(180)))) })
	t.Run("hostile", func(t *testing.T) {
		all := strings.Join(printed(t, b.Open(t, render(t, sample(marked))), "print-hostile", chromedp.PaperA4), "")
		if !strings.Contains(all, "Provenance") || !strings.Contains(all, pressed("<script>alert(2)</script>")) {
			t.Error("hostile texts are not on paper as texts")
		}
	})
}

// printsQuestion holds that the chosen question stands on paper with its rankings.
func printsQuestion(t *testing.T, p *browsertest.Page) {
	p.Press(questionList + `[data-question="1"]`)
	chosenQuestion(p, "q2")
	all := strings.Join(printed(t, p, "print-question", chromedp.PaperA4), "")
	for _, want := range []string{"What is a lake?", "What the configurations made of it", "A: both", "Lakes are still"} {
		if !strings.Contains(all, pressed(want)) {
			t.Errorf("%q is not on paper", want)
		}
	}
}
