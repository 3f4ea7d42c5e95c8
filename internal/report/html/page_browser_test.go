package html_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"raglab/internal/report/html/browsertest"
)

// column returns an expression for the texts of a table's column in the rows shown.
func column(table string, i int) string {
	return fmt.Sprintf(`[...document.getElementById(%q).tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[%d].textContent)`, table, i)
}

const main = "configurations-table"

// TestBrowser_page opens one page and looks at it in every way, in tabs of their own.
func TestBrowser_page(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	plain, evil := render(t, sample(plainly)), render(t, sample(marked))

	t.Run("sort", func(t *testing.T) { sorts(t, b.Open(t, plain)) })
	t.Run("sort by keyboard", func(t *testing.T) { sortsByKeyboard(t, b.Open(t, plain)) })
	t.Run("filter", func(t *testing.T) { filters(t, b.Open(t, plain)) })
	t.Run("filter by a hostile option", func(t *testing.T) { filters(t, b.Open(t, evil)) })
	t.Run("hostile texts", func(t *testing.T) { shows(t, b.Open(t, evil)) })
	t.Run("policy", func(t *testing.T) { refuses(t, b.Open(t, plain)) })
	t.Run("dark", func(t *testing.T) { darkens(t, b.Open(t, plain)) })
	t.Run("print", func(t *testing.T) { prints(t, b.Open(t, plain)) })
	t.Run("narrow", func(t *testing.T) { narrows(t, b.Open(t, evil)) })
	t.Run("still", func(t *testing.T) { staysStill(t, b, plain) })
	t.Run("large", func(t *testing.T) { answersSoon(t, b.Open(t, render(t, large(180)))) })
}

func sorts(t *testing.T, p *browsertest.Page) {
	metric := 3 // text, retriever, recall@5, ndcg@10
	for _, want := range []struct {
		order string
		less  func(a, b float64) bool
	}{{"descending", func(a, b float64) bool { return a < b }}, {"ascending", func(a, b float64) bool { return a > b }}} {
		sortBy(p, main, metric)
		values := numbers(t, browsertest.Eval[[]string](p, column(main, metric)))
		for i := 1; i < len(values); i++ {
			if want.less(values[i-1], values[i]) {
				t.Errorf("%s: %v", want.order, values)
			}
		}
		if got := browsertest.Eval[string](p, fmt.Sprintf(`document.querySelector("#%s thead th:nth-child(%d)").ariaSort`, main, metric+1)); got != want.order {
			t.Errorf("aria-sort is %q, want %s", got, want.order)
		}
	}
	if n := browsertest.Eval[int](p, `document.querySelectorAll("#`+main+` [aria-sort]:not([aria-sort=none])").length`); n != 1 {
		t.Errorf("%d columns say that they sort, want one", n)
	}
	if said := browsertest.Eval[string](p, `document.getElementById("said").textContent`); said != "All configurations, best first: sorted by ndcg@10, ascending" {
		t.Errorf("the live region says %q", said)
	}
}

func numbers(t *testing.T, cells []string) []float64 {
	t.Helper()
	values := make([]float64, len(cells))
	for i, c := range cells {
		v, err := strconv.ParseFloat(c, 64)
		if err != nil {
			t.Fatal(err)
		}
		values[i] = v
	}
	return values
}

func sortsByKeyboard(t *testing.T, p *browsertest.Page) {
	p.Focus("#" + main + " thead th:nth-child(2) button")
	p.Do(chromedp.KeyEvent(kb.Enter))
	got := browsertest.Eval[[]string](p, column(main, 1))
	if !slices.IsSorted(got) || len(got) != 6 {
		t.Errorf("sorted by retriever: %v", got)
	}
	if !browsertest.Eval[bool](p, `document.activeElement.matches("#`+main+` thead button") && getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
		t.Error("the focused button is not seen to be focused")
	}
}

func filters(t *testing.T, p *browsertest.Page) {
	choose := func(i int) {
		browsertest.Eval[bool](p, fmt.Sprintf(`(() => { const s = document.querySelectorAll("[data-filters=%s] select")[%d]; s.selectedIndex = 1; s.dispatchEvent(new Event("input", {bubbles: true})); return true })()`, main, i))
	}
	choose(0)
	if got := browsertest.Eval[[]string](p, column(main, 0)); len(got) != 3 || len(slices.Compact(got)) != 1 {
		t.Errorf("one text handling: %q", got)
	}
	choose(1)
	if got := browsertest.Eval[[]string](p, column(main, 1)); len(got) != 1 {
		t.Errorf("and one retriever: %q", got)
	}
	shown := `document.querySelector("[data-filters=` + main + `] .shown").textContent`
	if got := browsertest.Eval[string](p, shown); got != "1 of 6" {
		t.Errorf("shown: %q", got)
	}
	p.Press("[data-filters=" + main + "] .clear")
	if got := browsertest.Eval[string](p, shown); got != "6 of 6" {
		t.Errorf("after clearing: %q", got)
	}
	browsertest.Eval[bool](p, `(() => { const s = document.querySelectorAll("[data-filters=`+main+`] select")[2]; s.value = "=level"; s.dispatchEvent(new Event("input", {bubbles: true})); return true })()`)
	if got := browsertest.Eval[[]string](p, column(main, 7)); !slices.Equal(got, []string{"level", "level, recommended", "level"}) {
		t.Errorf("level rows: %q", got)
	}
	p.Press("[data-filters=" + main + "] .clear")
	p.Focus("[data-filters=" + main + "] input")
	p.Do(chromedp.KeyEvent("DENSE"))
	if got := browsertest.Eval[string](p, shown); got != "2 of 6" {
		t.Errorf("with the text dense: %q", got)
	}
}

// shows holds that the page says what hostile texts say, to the letter.
func shows(t *testing.T, p *browsertest.Page) {
	for what, expression := range map[string]string{
		"title":  `document.querySelector("h1").textContent`,
		"option": `document.querySelector("#` + main + ` tbody tr:last-child th").textContent`,
		"limit":  `document.querySelector("#limits li").textContent`,
	} {
		got := browsertest.Eval[string](p, expression)
		want := map[string]string{"title": marked("Which words find rivers?"), "option": marked("simple"), "limit": marked("All means are over 12 questions.")}[what]
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if n := browsertest.Eval[int](p, `document.querySelectorAll("img, iframe, object, embed, main script:not([type='application/json'])").length`); n != 0 {
		t.Errorf("%d elements come from texts", n)
	}
}

// refuses holds that the policy is in force: what a text would do if it got through is
// refused, and that is seen.
func refuses(t *testing.T, p *browsertest.Page) {
	ran := browsertest.Eval[bool](p, `(() => {
		const script = document.createElement("script");
		script.textContent = "window.ran = true";
		document.body.append(script);
		const box = document.createElement("div");
		box.innerHTML = '<p style="color: red" onclick="window.ran = true">x</p>';
		document.body.append(box);
		box.firstChild.click();
		return Boolean(window.ran) || getComputedStyle(box.firstChild).color === "rgb(255, 0, 0)";
	})()`)
	if ran {
		t.Error("a script or a style that is not the page's own was obeyed")
	}
	asked := browsertest.Eval[string](p, `fetch("http://127.0.0.1:9/").then(() => "answered", () => "refused")`)
	if asked != "refused" {
		t.Errorf("a request was %s", asked)
	}
	if len(p.Faults()) < 3 {
		t.Error("the browser did not say what it refused")
	}
}

func darkens(t *testing.T, p *browsertest.Page) {
	back := `getComputedStyle(document.body).backgroundColor`
	p.Media("screen", "light")
	light := browsertest.Eval[string](p, back)
	p.Shoot("light")
	p.Media("screen", "dark")
	if dark := browsertest.Eval[string](p, back); dark == light {
		t.Errorf("the page is %s in light and in dark", light)
	}
	p.Shoot("dark")
}

func prints(t *testing.T, p *browsertest.Page) {
	p.Media("print", "light")
	for _, selector := range []string{".contents", ".filters"} {
		if browsertest.Eval[bool](p, `document.querySelector("`+selector+`").checkVisibility()`) {
			t.Errorf("%s is printed", selector)
		}
	}
	browsertest.Eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	if n := browsertest.Eval[int](p, `document.querySelectorAll("details:not([open])").length`); n != 0 {
		t.Errorf("%d folded parts are not printed", n)
	}
	p.Size(720, 1000)
	cut := browsertest.Eval[[]string](p, `[...document.querySelectorAll(".scroll")].filter(e => e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== "visible").map(e => e.textContent.slice(0, 40))`)
	if len(cut) > 0 {
		t.Errorf("cut off on paper: %q", cut)
	}
	browsertest.Eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	if n := browsertest.Eval[int](p, `document.querySelectorAll("figure > details[open]").length`); n != 0 {
		t.Errorf("%d parts stay unfolded", n)
	}
}

func narrows(t *testing.T, p *browsertest.Page) {
	p.Size(320, 640)
	if over := browsertest.Eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		wide := browsertest.Eval[[]string](p, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg")).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40)).slice(0, 5)`)
		t.Errorf("the page is %d pixels wider than its window: %q", over, wide)
	}
	p.Shoot("narrow")
}

// moved is a promise of what moved by itself on the page so far, and for a while from now.
const moved = `new Promise((done) => {
	const seen = [];
	const observer = new PerformanceObserver((list) => {
		for (const e of list.getEntries()) {
			for (const s of e.sources) seen.push([e.value, s.node?.nodeName, s.node?.className, s.node?.textContent?.slice(0, 30), JSON.stringify(s.previousRect), JSON.stringify(s.currentRect)].join(" "));
		}
	});
	observer.observe({ type: "layout-shift", buffered: true });
	setTimeout(() => done(seen), 300);
})`

// staysStill measures how much the page moves while it loads, as browsers do: from a disk, over a slow line,
// and by a link that says what its parts show; and then that such a measure sees what moves.
func staysStill(t *testing.T, b *browsertest.Browser, file []byte) {
	p := b.Open(t, file)
	if what := browsertest.Eval[[]string](p, moved); len(what) > 0 {
		t.Errorf("the page moved while it loaded: %q", what)
	}
	browsertest.Eval[bool](p, `(() => { const e = document.createElement("p"); e.textContent = "late"; document.querySelector("main").prepend(e); return true })()`)
	if what := browsertest.Eval[[]string](p, moved); len(what) == 0 {
		t.Error("the measure does not see what moves")
	}
	if what := browsertest.Eval[[]string](b.OpenSlowly(t, file, 50), moved); len(what) > 0 {
		t.Errorf("the page moved while it came over a slow line: %q", what)
	}
	detailed := pageOf(t, madeSmall())
	for _, tc := range []struct {
		file []byte
		link string
	}{{file, "#" + main + "?sort=ndcg%4010&order=ascending&text=lemma"}, {file, "#decisions?p95=20"}, {file, "#explorer?text=river"}, {detailed, "#explorer?q=q2&a=both"}, {detailed, "#decisions?p95=20"}} {
		if what := browsertest.Eval[[]string](b.OpenAt(t, tc.file, tc.link), moved); len(what) > 0 {
			t.Errorf("the page moved while it loaded by %s: %q", tc.link, what)
		}
	}
}

// answersSoon sorts and filters a page of 180 rows, and tells how long it took.
func answersSoon(t *testing.T, p *browsertest.Page) {
	took := browsertest.Eval[float64](p, `(() => {
		const start = performance.now();
		document.querySelector("#`+main+` thead th:nth-child(4) button").click();
		const input = document.querySelector("[data-filters=`+main+`] input");
		input.value = "handling_1";
		input.dispatchEvent(new Event("input", { bubbles: true }));
		document.body.offsetHeight;
		return performance.now() - start;
	})()`)
	t.Logf("sorting and filtering took %.0f ms", took)
	if got := browsertest.Eval[[]string](p, column(main, 0)); len(got) != 80 {
		t.Errorf("%d rows are shown, want 80", len(got))
	}
}
