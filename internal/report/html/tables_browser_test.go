package html_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"raglab/internal/report/html/browsertest"
)

// stateOf is what the address says about a part of the page, nil for nothing.
func stateOf(t *testing.T, p *browsertest.Page, part string) url.Values {
	t.Helper()
	for piece := range strings.SplitSeq(browsertest.Eval[string](p, `location.hash.slice(1)`), ";") {
		name, params, found := strings.Cut(piece, "?")
		if !found || name != part {
			continue
		}
		values, err := url.ParseQuery(params)
		if err != nil {
			t.Fatalf("%s: %v", piece, err)
		}
		return values
	}
	return nil
}

// seen is what a table shows: all cells of the rows that are not hidden, in their order,
// what its columns say of their order, and its controls.
func seen(p *browsertest.Page, table string) []string {
	return browsertest.Eval[[]string](p, fmt.Sprintf(`(() => {
		const table = document.getElementById(%s);
		const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => cell.textContent).join("|"));
		const heads = [...table.tHead.rows[0].cells].map((head) => head.ariaSort).join(" ");
		const controls = document.querySelectorAll('[data-filters="' + table.id + '"] :is(select, input)');
		return [...rows, heads, ...[...controls].map((control) => control.value)];
	})()`, quote(table)))
}

func sortBy(p *browsertest.Page, table string, column int) {
	p.Press(fmt.Sprintf("#%s thead th:nth-child(%d) button", table, column+1))
}

// everyTable holds that a link restores each of the page's tables as a reader left it, and no other.
func everyTable(t *testing.T, p *browsertest.Page, fresh func(link string) *browsertest.Page) {
	ids := browsertest.Eval[[]string](p, `[...document.querySelectorAll("table.sortable")].map((table) => table.id)`)
	if len(ids) < 8 {
		t.Errorf("only %d tables sort: %q", len(ids), ids)
	}
	browsertest.Eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true }), true)`)
	before := map[string][]string{}
	for _, id := range ids {
		before[id] = seen(p, id)
	}
	for i, id := range ids {
		if i%2 == 1 {
			continue // stays as it was
		}
		sortBy(p, id, 1)
		if i%4 == 0 {
			sortBy(p, id, 1)
		}
	}
	link := browsertest.Eval[string](p, `location.hash`)
	q := fresh(link)
	for i, id := range ids {
		left, restored := seen(p, id), seen(q, id)
		if !slices.Equal(left, restored) {
			t.Errorf("%s: the link restores %q, want %q", id, restored, left)
		}
		if changed := !slices.Equal(left, before[id]); changed != (i%2 == 0) {
			t.Errorf("%s: changed is %v", id, changed)
		}
	}
	last := ids[(len(ids)-1)/2*2]
	if piece, _, _ := strings.Cut(strings.TrimPrefix(link, "#"), "?"); piece != last {
		t.Errorf("the link begins with %s, want %s, which changed last", piece, last)
	}
	// In a folded part or not, the table of the link is in sight.
	if !browsertest.Eval[bool](q, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => { const box = document.getElementById(%s).getBoundingClientRect(); done(box.height > 0 && box.top < innerHeight && box.bottom > 0) }))`, quote(last))) {
		t.Errorf("%s is not in sight", last)
	}
}

// remembers holds that sorting and every filter of the main table are in the address,
// and that leaving them out again takes them out of it.
func remembers(t *testing.T, p *browsertest.Page, retriever string, fresh func(link string) *browsertest.Page) {
	sortBy(p, main, 1) // the text handling, then the mean, of which the address has the last
	sortBy(p, main, 3)
	sortBy(p, main, 3)
	choose(p, "[data-filters="+main+"] label:nth-of-type(2) select", "="+retriever)
	choose(p, "[data-filters="+main+"] input", "LEM")
	columns := textsOf(p, "#"+main+" thead th")
	want := url.Values{"sort": {"ndcg@10"}, "order": {"ascending"}, "is." + columns[1]: {retriever}, "text": {"LEM"}}
	if got := stateOf(t, p, main); !reflect.DeepEqual(got, want) {
		t.Errorf("the address says %q, want %q", got, want)
	}
	if got := seen(fresh(browsertest.Eval[string](p, `location.hash`)), main); !slices.Equal(got, seen(p, main)) || len(got) < 6 {
		t.Errorf("the link restores %q, want %q", got, seen(p, main))
	}
	p.Press("[data-filters=" + main + "] .clear")
	if got := stateOf(t, p, main); !reflect.DeepEqual(got, url.Values{"sort": {"ndcg@10"}, "order": {"ascending"}}) {
		t.Errorf("after clearing the address says %q", got)
	}
}

func TestTables_address(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	plain, evil := render(t, sample(plainly)), render(t, sample(marked))
	at := func(t *testing.T, file []byte) func(string) *browsertest.Page {
		return func(link string) *browsertest.Page { return b.OpenAt(t, file, link) }
	}
	t.Run("every table", func(t *testing.T) { everyTable(t, b.Open(t, plain), at(t, plain)) })
	t.Run("main table", func(t *testing.T) { remembers(t, b.Open(t, plain), "rrf", at(t, plain)) })
	t.Run("hostile texts", func(t *testing.T) { remembers(t, b.Open(t, evil), marked("rrf"), at(t, evil)) })
	t.Run("other parts", func(t *testing.T) { keepsOtherParts(t, b.Open(t, plain)) })
	t.Run("foreign links", func(t *testing.T) { bearsForeignLinks(t, b, plain) })
}

// keepsOtherParts holds that what one part of the page says leaves the others' words in the address, and
// that a link within the page does, too.
func keepsOtherParts(t *testing.T, p *browsertest.Page) {
	choose(p, "#decisions-p95", "25")
	sortBy(p, main, 2)
	choose(p, "#explorer-form [name=text]", "river")
	p.Press(`.contents a[href="#tags"]`)
	until(p, `location.hash.startsWith("#tags;")`)
	for part, want := range map[string]string{"decisions": "25", main: "recall@5", "explorer": "river"} {
		got := stateOf(t, p, part)
		if got.Get("p95") != want && got.Get("sort") != want && got.Get("text") != want {
			t.Errorf("%s: %q in %s", part, got, browsertest.Eval[string](p, `location.hash`))
		}
	}
	before := seen(p, main)
	p.Do(chromedp.Reload())
	if got := seen(p, main); !slices.Equal(got, before) {
		t.Errorf("after a reload %q, want %q", got, before)
	}
	if top := browsertest.Eval[float64](p, `document.getElementById("tags").getBoundingClientRect().top`); top < -1 || top > 100 {
		t.Errorf("the part of the link is %.0f pixels from the top", top)
	}
	// An address without the table's part is the table as it was written.
	browsertest.Eval[bool](p, `(location.hash = "#decisions?p95=25", true)`)
	until(p, `!document.querySelector("#`+main+` [aria-sort=descending]")`)
}

// bearsForeignLinks holds that a link whose columns, values or order are not those of the page
// does what of it can be done.
func bearsForeignLinks(t *testing.T, b *browsertest.Browser, file []byte) {
	untouched := seen(b.Open(t, file), main)
	for _, link := range []string{
		"#" + main + "?sort=no+such+column&order=ascending", "#" + main + "?sort=ndcg%4010&order=sideways",
		"#" + main + "?is.retriever=none", "#" + main + "?is.nothing=rrf&__proto__=1", "#no-such-table?sort=ndcg%4010", "#;;?;%;" + main + "?",
	} {
		if got := seen(b.OpenAt(t, file, link), main); !slices.Equal(got, untouched) {
			t.Errorf("%s: %q", link, got)
		}
	}
}

// The address is written a bounded number of times in a while, as browsers ask for, and
// holds the last choice in the end.
func TestState_manyChanges(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Open(t, pageOf(t, madeSmall()))
	written := browsertest.Eval[int](p, `(() => {
		let written = 0;
		const replace = history.replaceState.bind(history);
		history.replaceState = (...args) => { written++; replace(...args) };
		const field = document.getElementById("decisions-p95");
		for (let i = 1; i <= 500; i++) {
			field.value = i;
			field.dispatchEvent(new Event("input", { bubbles: true }));
		}
		return written;
	})()`)
	if written == 0 || written > 60 {
		t.Errorf("the address was written %d times", written)
	}
	until(p, `location.hash.includes("p95=500")`)
}
