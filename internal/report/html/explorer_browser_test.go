package html_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"raglab/internal/report"
	"raglab/internal/report/html"
	"raglab/internal/report/html/browsertest"
	"raglab/internal/stats"
)

// the helpers below are what a reader does and sees.

func pageOf(t *testing.T, in html.Input) []byte {
	t.Helper()
	file, err := html.Page(in)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can be
	}
	return string(b)
}

// set gives a control of a form a value, as a reader's choice does.
func choose(p *browsertest.Page, selector, value string) {
	browsertest.Eval[bool](p, fmt.Sprintf(`(() => {
		const control = document.querySelector(%s);
		if (control.type === 'checkbox') control.checked = %s === 'on'; else control.value = %s;
		control.dispatchEvent(new Event('input', { bubbles: true }));
		return true;
	})()`, quote(selector), quote(value), quote(value)))
}

// texts are what the elements show.
func textsOf(p *browsertest.Page, selector string) []string {
	return browsertest.Eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%s)].map((e) => e.textContent)`, quote(selector)))
}

// until waits for a condition of the page.
func until(p *browsertest.Page, condition string) {
	browsertest.Eval[bool](p, fmt.Sprintf(`new Promise((done) => {
		const look = () => (%s) ? done(true) : requestAnimationFrame(look);
		look();
	})`, condition))
}

func explorerState(p *browsertest.Page) url.Values {
	fragment := browsertest.Eval[string](p, `location.hash.slice(1)`)
	for piece := range strings.SplitSeq(fragment, ";") {
		if at := strings.IndexByte(piece, '?'); at >= 0 {
			if values, err := url.ParseQuery(piece[at+1:]); err == nil && strings.HasPrefix(piece, "explorer") {
				return values
			}
		}
	}
	return nil
}

// chosenQuestion waits until the panel shows the question of an id.
func chosenQuestion(p *browsertest.Page, id string) {
	until(p, `document.querySelector('#explorer-question .note span')?.textContent === `+quote(id))
}

const questionList = `#explorer-questions button`

func TestExplorer_filters(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Open(t, pageOf(t, madeSmall()))
	if got := textsOf(p, questionList); len(got) != 4 || !strings.Contains(got[1], "A 1.000, B 0.500") {
		t.Errorf("questions %q", got)
	}
	choose(p, "#explorer-form [name=a]", "0") // dense
	choose(p, "#explorer-form [name=b]", "1") // lexical
	for _, tc := range []struct {
		control, value string
		want           []string
	}{
		{"show", "a-b", []string{"Which river"}},
		{"show", "b-a", nil},
		{"show", "a>b", []string{"Which river"}},
		{"show", "a<b", []string{"What is"}},
		{"show", "never", []string{"Why?"}},
		{"show", "always", nil},
		{"show", "", []string{"Which", "What", "Why", "Not"}},
		{"tag", "kind:short", []string{"What is"}},
		{"tag", "part:dev", []string{"Not asked"}},
		{"tag", "", []string{"Which", "What", "Why", "Not"}},
		{"text", "LAKE", []string{"What is"}},
		{"text", "q3", []string{"Why"}},
		{"text", "", []string{"Which", "What", "Why", "Not"}},
	} {
		choose(p, "#explorer-form [name="+tc.control+"]", tc.value)
		got := textsOf(p, questionList+" span:first-child")
		if len(got) != len(tc.want) || !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
			t.Errorf("%s %s: %q, want %q", tc.control, tc.value, got, tc.want)
		}
		if said := textsOf(p, "#explorer-shown")[0]; said != fmt.Sprintf("%d of 4 questions", len(tc.want)) {
			t.Errorf("%s %s: said %q", tc.control, tc.value, said)
		}
	}
	choose(p, "#explorer-form [name=a]", "1")
	choose(p, "#explorer-form [name=lost]", "chunker")
	if got := textsOf(p, questionList+" span:first-child"); len(got) != 1 || got[0] != "Why?" {
		t.Errorf("lost to the chunker: %q", got)
	}
}

func TestExplorer_showsRankingsSideBySide(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	p := b.Open(t, pageOf(t, madeSmall()))
	choose(p, "#explorer-form [name=a]", "2") // both, reranked
	choose(p, "#explorer-form [name=b]", "0")
	choose(p, "#explorer-form [name=c]", "3")
	p.Press(questionList + `[data-question="0"]`)
	chosenQuestion(p, "q1")
	if heads := textsOf(p, ".ranking h4"); !slices.Equal(heads, []string{"A: both", "B: dense", "C: sent"}) {
		t.Errorf("rankings %q", heads)
	}
	second := textsOf(p, ".ranking:nth-child(1) .hit:nth-child(2)")[0]
	for _, want := range []string{"#2", "0.3333", "relevant", "also B #1", "before reranking #1 (0.5)", "dense #1 (0.5)", "lexical not in its 1", "North" + hostile, "d1#0, bytes 0–40", "H" + hostile} {
		if !strings.Contains(second, want) {
			t.Errorf("the second hit says %q, and not %q", second, want)
		}
	}
	if got := textsOf(p, ".ranking:nth-child(1) .hit:nth-child(2) mark.term"); !slices.Equal(got, []string{"River", "flows", "south"}) {
		t.Errorf("terms %q", got)
	}
	if got := textsOf(p, ".ranking:nth-child(2) .hit:nth-child(1) mark.term"); !slices.Contains(got, "River") || slices.Contains(got, "Dnipro") {
		t.Errorf("letter by letter: %q", got)
	}
	if got := strings.Join(textsOf(p, ".ranking:nth-child(1) .hit:nth-child(2) mark.answer"), ""); got != "flows south" {
		t.Errorf("answer %q", got)
	}
	if got := textsOf(p, ".ranking:nth-child(3) p"); len(got) != 1 || !strings.Contains(got[0], "not in this file") {
		t.Errorf("without a ranking: %q", got)
	}
	cells := textsOf(p, "#explorer-question table tbody tr:first-child > *")
	if want := []string{"A", "both", "1.000", "#2", "whole", "–"}; !slices.Equal(cells, want) {
		t.Errorf("summary %q, want %q", cells, want)
	}
	p.Press(questionList + `[data-question="2"]`)
	chosenQuestion(p, "q3")
	if cells := textsOf(p, "#explorer-question table tbody tr:first-child td.prose"); cells[0] != "cut: d2"+hostile+"#0 holds 60\u00a0%, d2"+hostile+"#1 holds 40\u00a0%" {
		t.Errorf("what the chunker did: %q", cells)
	}
}

func TestExplorer_addressAndKeys(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	p := b.Open(t, pageOf(t, madeSmall()))
	choose(p, "#explorer-form [name=a]", "1")
	choose(p, "#explorer-form [name=b]", "2")
	p.Press(questionList + `[data-question="0"]`)
	chosenQuestion(p, "q1")
	for _, step := range []struct{ key, want string }{{"j", "q2"}, {"j", "q3"}, {"k", "q2"}, {"k", "q1"}, {"k", "q1"}} {
		p.Do(chromedp.KeyEvent(step.key))
		chosenQuestion(p, step.want)
	}
	p.Do(chromedp.KeyEvent("j"))
	chosenQuestion(p, "q2")
	if got := explorerState(p); got.Get("q") != "q2" || got.Get("a") != "lexical" || got.Get("b") != "both" {
		t.Errorf("address %v", got)
	}
	p.Do(chromedp.KeyEvent("/"))
	if got := browsertest.Eval[string](p, `document.activeElement.name`); got != "text" {
		t.Errorf("the focus is on %q", got)
	}
	p.Do(chromedp.KeyEvent("lake"))
	if got := explorerState(p).Get("text"); got != "lake" {
		t.Errorf("sought %q", got)
	}
	p.Do(chromedp.Reload())
	chosenQuestion(p, "q2")
	if got := textsOf(p, ".ranking h4"); !slices.Equal(got, []string{"A: lexical", "B: both"}) {
		t.Errorf("after a reload %q", got)
	}
	if got := textsOf(p, questionList); len(got) != 1 {
		t.Errorf("after a reload %d questions", len(got))
	}
	if !browsertest.Eval[bool](p, `document.activeElement.matches('#explorer-questions [aria-current]')`) {
		t.Error("the focus is not on the question of the link")
	}
}

func TestExplorer_bearsHostileTextsAndNarrowWindows(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	p := b.Open(t, pageOf(t, madeSmall()))
	title := textsOf(p, "title")[0]
	p.Press(questionList + `[data-question="0"]`)
	chosenQuestion(p, "q1")
	if got := textsOf(p, "title")[0]; got != title {
		t.Errorf("a script of a document ran: the title is %q", got)
	}
	if n := browsertest.Eval[int](p, `document.querySelectorAll('main img, main script:not([type="application/json"])').length`); n != 0 {
		t.Errorf("%d elements of a document's markup", n)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.Media("screen", scheme)
		p.Shoot("explorer-" + scheme)
	}
	p.Size(360, 740)
	if over := browsertest.Eval[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("a narrow window scrolls sideways by %d", over)
	}
	p.Shoot("explorer-narrow")
}

// Without limits the bench recommends what the report does; when the best row falls, the
// page's own intervals are those of package stats within the noise of resampling.
func TestDecisions_agreesWithTheReport(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	in := madeLarge(6, 200)
	in.Report.Complete(nil)
	p := b.Open(t, pageOf(t, in))
	recommended := func() string {
		return browsertest.Eval[string](p, `document.querySelector('#decisions-remain .recommended th').firstChild.textContent`)
	}
	if got := recommended(); got != in.Report.Recommended.Row {
		t.Errorf("recommended is %s, by the report %s", got, in.Report.Recommended.Row)
	}
	best := in.Report.Ranked()[0]
	choose(p, "#decisions-p95", fmt.Sprint(best.Latency.P95-0.01))
	rows := in.Report.Ranked()
	rows = slices.DeleteFunc(rows, func(c *report.Configuration) bool { return c.Latency.P95 >= best.Latency.P95 })
	if len(rows) < 2 {
		t.Fatalf("%d rows are left", len(rows))
	}
	systems := [][]float64{rows[0].Values, rows[1].Values}
	low, high := stats.NewBootstrap(systems, 10_000, 1).Difference(1, 0, 0.95)
	cell := textsOf(p, "#decisions-remain tbody tr:nth-child(2) td:nth-child(4)")[0]
	var difference, from, to float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(cell, "−", "-"), "%f (%f to %f)", &difference, &from, &to); err != nil {
		t.Fatalf("%q: %v", cell, err)
	}
	if math.Abs(from-low) > 0.006 || math.Abs(to-high) > 0.006 || math.Abs(difference-(*rows[1].Metrics["ndcg@10"]-*rows[0].Metrics["ndcg@10"])) > 0.001 {
		t.Errorf("%q, want %.3f to %.3f", cell, low, high)
	}
}

func TestDecisions_limitsAndAddress(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	p := b.Open(t, pageOf(t, madeSmall()))
	names := func() []string {
		return browsertest.Eval[[]string](p, `[...document.querySelectorAll('#decisions-remain tbody th')].map((e) => e.firstChild.textContent)`)
	}
	if got := names(); !slices.Equal(got, []string{"both", "dense", "lexical", "sent"}) {
		t.Errorf("all remain: %q", got)
	}
	if got := textsOf(p, "#decisions-remain tr:last-child .unknown"); len(got) != 3 {
		t.Errorf("unmeasured values %q", got)
	}
	if got := textsOf(p, "#decisions-remain .declared"); !slices.Equal(got, []string{"≈ 0.25"}) {
		t.Errorf("declared values %q", got)
	}
	choose(p, "#decisions-p95", "25")
	if got := names(); !slices.Equal(got, []string{"dense", "lexical"}) {
		t.Errorf("p95 at most 25 ms: %q", got)
	}
	why := textsOf(p, "#decisions-fell td.prose")
	if len(why) != 2 || why[0] != "p95 is 30.0 ms, asked for is at most 25 ms" || why[1] != "p95 is unmeasured, asked for is at most 25 ms" {
		t.Errorf("why %q", why)
	}
	choose(p, "#decisions-form [name=unmeasured]", "on")
	if got := names(); !slices.Equal(got, []string{"dense", "lexical", "sent"}) {
		t.Errorf("with what is unmeasured: %q", got)
	}
	choose(p, "#decisions-form [name=local]", "on")
	choose(p, "#decisions-form [name=serverless]", "on")
	if got := names(); !slices.Equal(got, []string{"lexical"}) {
		t.Errorf("without services and servers: %q", got)
	}
	if said := textsOf(p, "#decisions-said")[0]; !strings.HasPrefix(said, "1 of 4 configurations remain. Recommended: lexical, the best of them") {
		t.Errorf("said %q", said)
	}
	p.Do(chromedp.Reload())
	if got := names(); !slices.Equal(got, []string{"lexical"}) {
		t.Errorf("after a reload: %q", got)
	}
	p.Press(`#decisions-form button[type=reset]`)
	if got := names(); len(got) != 4 {
		t.Errorf("without limits: %q", got)
	}
	if got := browsertest.Eval[string](p, `location.hash`); strings.Contains(got, "p95") {
		t.Errorf("address %q", got)
	}
}

func TestDecisions_sliders(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Open(t, pageOf(t, madeSmall()))
	slider := `[data-limit=p95] input[type=range]`
	if got := browsertest.Eval[string](p, `document.querySelector('`+slider+`').value`); got != "3" {
		t.Errorf("without a limit the slider is at %s of 3 values", got)
	}
	p.Press(slider)
	p.Do(chromedp.KeyEvent("\ue011")) // Home
	choose(p, slider, "0")
	if got := browsertest.Eval[string](p, `document.getElementById('decisions-p95').value`); got != "5" {
		t.Errorf("the least p95 is %s", got)
	}
	if got := browsertest.Eval[string](p, `document.querySelector('`+slider+`').getAttribute('aria-valuetext')`); got != "5 ms" {
		t.Errorf("the slider says %q", got)
	}
	choose(p, slider, "3")
	if got := browsertest.Eval[string](p, `document.getElementById('decisions-p95').value`); got != "" {
		t.Errorf("at its end the limit is %s", got)
	}
	choose(p, "#decisions-quality", "0.6")
	if got := textsOf(p, "#decisions-remain tbody th"); len(got) != 1 {
		t.Errorf("of a quality of at least 0.6: %q", got)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.Media("screen", scheme)
		p.Shoot("decisions-" + scheme)
	}
	p.Size(360, 740)
	if over := browsertest.Eval[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("a narrow window scrolls sideways by %d", over)
	}
}

// TestExplorer_largePage holds the size of a page with 180 rows and 500 questions against
// what is promised, uses it, and tells how soon its parts answer.
func TestExplorer_largePage(t *testing.T) {
	in := madeLarge(180, 500)
	in.Report.Complete(nil)
	file := pageOf(t, in)
	if mb := float64(len(file)) / 1e6; mb > 15 {
		t.Errorf("the page has %.1f MB", mb)
	}
	p := browsertest.Start(t).Open(t, file)
	ready := browsertest.Eval[float64](p, `performance.getEntriesByName('ready')[0].startTime`)
	loaded := browsertest.Eval[float64](p, `performance.getEntriesByType('navigation')[0].loadEventEnd`)
	started := `const before = performance.now();`
	shown := browsertest.Eval[float64](p, `(async () => { `+started+`
		document.querySelector('#explorer-questions button').click();
		while (!document.querySelector('.ranking')) await new Promise((r) => setTimeout(r, 5));
		return performance.now() - before;
	})()`)
	limited := browsertest.Eval[float64](p, `(() => { `+started+`
		const field = document.getElementById('decisions-quality');
		field.value = document.querySelectorAll('#decisions-remain tbody tr td:nth-child(3)')[40].textContent;
		field.dispatchEvent(new Event('input', { bubbles: true }));
		document.getElementById('decisions-p95').value = '40';
		document.getElementById('decisions-p95').dispatchEvent(new Event('input', { bubbles: true }));
		return performance.now() - before;
	})()`)
	t.Logf("%.1f MB; answers after %.0f ms, loaded after %.0f ms, first question after %.0f ms, limits after %.0f ms", float64(len(file))/1e6, ready, loaded, shown, limited)
	if n := len(textsOf(p, questionList)); n != 200 {
		t.Errorf("%d questions are listed at first", n)
	}
	browsertest.Eval[bool](p, `(document.getElementById('explorer-more').click(), true)`)
	if n := len(textsOf(p, questionList)); n != 400 {
		t.Errorf("%d questions are listed after more were asked for", n)
	}
	browsertest.Eval[bool](p, `(location.hash = '#explorer?q=q450&a=row-3&b=row-5', true)`)
	chosenQuestion(p, "q450")
	if got := textsOf(p, ".ranking h4"); !slices.Equal(got, []string{"A: row-3", "B: row-5"}) {
		t.Errorf("the link shows %q", got)
	}
}
