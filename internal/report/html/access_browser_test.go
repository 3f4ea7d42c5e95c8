package html_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"raglab/internal/report/html/browsertest"
)

// views are what a reader may have on the screen: each does something to the page.
var views = []struct {
	name string
	do   func(p *browsertest.Page)
}{
	{"glance", func(*browsertest.Page) {}},
	{"tables, unfolded", func(p *browsertest.Page) {
		browsertest.Eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true }), true)`)
	}},
	{"tables, sorted and filtered", func(p *browsertest.Page) {
		sortBy(p, main, 0)
		choose(p, "[data-filters="+main+"] input", "e")
	}},
	{"tables, without rows", func(p *browsertest.Page) { choose(p, "[data-filters="+main+"] input", "nowhere to be found") }},
	{"bench", func(p *browsertest.Page) { choose(p, "#decisions-p95", "10") }},
	{"bench, nothing remains", func(p *browsertest.Page) {
		choose(p, "#decisions-quality", "1000")
		choose(p, "#decisions-form [name=unmeasured]", "on")
	}},
	{"explorer", func(p *browsertest.Page) {
		p.Press(questionList)
		until(p, `document.querySelector("#explorer-question table") !== null`)
		browsertest.Eval[bool](p, `(document.querySelectorAll("#explorer details").forEach((d) => { d.open = true }), true)`)
	}},
	{"explorer by keys", func(p *browsertest.Page) {
		p.Focus(questionList)
		p.Do(chromedp.KeyEvent("j"))
		until(p, `document.querySelector("#explorer-question table") !== null`)
	}},
	{"explorer, no question", func(p *browsertest.Page) { choose(p, "#explorer-form [name=text]", "nowhere to be found") }},
}

// looks are how the page may be shown.
var looks = []struct {
	name, scheme string
	width        int64
}{
	{"light", "light", 1280},
	{"dark", "dark", 1280},
	{"narrow", "light", 390},
	{"narrow and dark", "dark", 390},
}

// TestBarriers looks for what is in a reader's way, in every view of every page and every look.
func TestBarriers(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	for _, page := range []struct {
		name string
		file []byte
	}{
		{"hostile", render(t, sample(marked))}, {"with rankings", pageOf(t, madeSmall())},
	} {
		t.Run(page.name, func(t *testing.T) { hasNoBarriers(t, b, page.file) })
	}
}

func hasNoBarriers(t *testing.T, b *browsertest.Browser, file []byte) {
	for _, view := range views {
		p := b.Open(t, file)
		view.do(p)
		for _, look := range looks {
			p.Media("screen", look.scheme)
			p.Size(look.width, 800)
			for _, barrier := range p.Barriers() {
				t.Errorf("%s, %s: %s", view.name, look.name, barrier)
			}
			if over := browsertest.Eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s, %s: the page is %d pixels wider than its window", view.name, look.name, over)
			}
		}
	}
}
