package browsertest

import (
	"slices"
	"strings"
	"testing"
)

// sound is a page in which nothing is in anybody's way; what stands for %s may be.
const sound = `<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>Sound</title>
<style>:focus-visible { outline: 3px solid #00f } a { display: inline-block; padding: 6px } button, input { border: 1px solid #000; min-height: 30px; min-width: 30px }</style></head><body>
<a href="#main">Skip</a><main id="main" tabindex="-1"><h1>One</h1><p role="status" aria-live="polite"></p>%s</main></body></html>`

const (
	cells  = `<caption>Figures</caption><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><th scope="row">1</th><td>2</td></tr></tbody>`
	alt    = `<title>t</title><desc>d</desc>`
	labels = `<label>one <input></label>`
)

// barriers are, for each rule, a part of a page that breaks it, and one like it that does not.
var barriers = []struct{ rule, breaks, keeps string }{
	{"valid-lang", `<p lang="Ukrainian, I think">x</p>`, `<p lang="uk">x</p>`},
	{"one-main", `<main>x</main>`, `<div>x</div>`},
	{"one-h1", `<h1>Two</h1>`, `<h2>Two</h2>`},
	{"link-target", `<p><a href="#nowhere">x</a></p>`, `<p id="here"><a href="#here">x</a></p>`},
	{"moving", `<style>@keyframes a { to { opacity: 0 } } b { animation: a 9s }</style><b>x</b>`, `<b>x</b>`},
	{"embedded", `<audio></audio>`, `<p>x</p>`},
	{"landmark-name", `<nav aria-label="a">x</nav><nav aria-label="a">y</nav>`, `<nav aria-label="a">x</nav><nav aria-label="b">y</nav>`},
	{"duplicate-id", `<p id="a">x</p><p id="a">y</p>`, `<p id="a">x</p><p id="b">y</p>`},
	{"id-reference", `<section aria-labelledby="none">x</section>`, `<section aria-labelledby="there"><h2 id="there">x</h2></section>`},
	{"aria-valid-attr", `<p aria-lable="x">x</p>`, `<p aria-hidden="false">x</p>`},
	{"aria-valid-attr-value", `<p aria-hidden="yes">x</p>`, `<p aria-hidden="true">x</p>`},
	{"aria-allowed-attr", `<p aria-sort="none">x</p>`, `<table>` + strings.Replace(cells, `col">a`, `col" aria-sort="none"><button>a</button>`, 1) + `</table>`},
	{"aria-roles", `<div role="presentaton">x</div>`, `<div role="note">x</div>`},
	{"aria-role-kept", `<button role="link">x</button>`, `<button>x</button>`},
	{"aria-prohibited-attr", `<span aria-label="y">x</span>`, `<span role="img" aria-label="y">x</span>`},
	{"aria-hidden-focus", `<div aria-hidden="true"><button>x</button></div>`, `<div aria-hidden="true">x</div>`},
	{"live-region", `<p aria-live="polite" hidden>x</p>`, `<p aria-live="polite">x</p>`},
	{"name", `<button></button>`, `<button>x</button>`},
	{"name", `<div role="group"><p>x</p></div>`, `<div role="group" aria-label="y"><p>x</p></div>`},
	{"name", `<label> <select><option>only an option</option></select></label>`, `<label>y <select><option>an option</option></select></label>`},
	{"name-has-text", `<button aria-label="other">Clear</button>`, `<button aria-label="Clear all">Clear</button>`},
	{"one-label", `<label for="i">a</label><label for="i">b</label><input id="i">`, labels},
	{"label-seen", `<input aria-label="a">`, labels},
	{"autocomplete", `<label>a <input autocomplete="nope"></label>`, `<label>a <input autocomplete="off"></label>`},
	{"nested-interactive", `<button>x <input aria-label="a"></button>`, `<button>x</button>` + labels},
	{"link-in-text", `<p>See <a href="#main" style="text-decoration: none">this</a>.</p>`, `<p>See <a href="#main">this</a>.</p>`},
	{"image-alt", `<img src="data:,">`, `<img alt="" src="data:,">`},
	{"svg-alt", `<svg role="img"></svg>`, `<svg role="img">` + alt + `</svg>`},
	{"svg-alt", `<svg></svg>`, `<svg aria-hidden="true"></svg>`},
	{"svg-table", `<figure><svg role="img">` + alt + `</svg></figure>`, `<figure><svg role="img">` + alt + `</svg><table>` + cells + `</table></figure>`},
	{"heading-order", `<h3>x</h3>`, `<h2>x</h2><h3>y</h3>`},
	{"empty-heading", `<h2> </h2>`, `<h2>x</h2>`},
	{"list", `<ul><p>x</p></ul>`, `<ul><li>x</li></ul>`},
	{"listitem", `<div><li>x</li></div>`, `<ol><li>x</li></ol>`},
	{"definition-list", `<dl><dt>x</dt><dd>y</dd><p>z</p></dl>`, `<dl><div><dt>x</dt><dd>y</dd></div></dl>`},
	{"dlitem", `<div><dt>x</dt></div>`, `<dl><dt>x</dt><dd>y</dd></dl>`},
	{"table-caption", `<table>` + strings.Replace(cells, "<caption>Figures</caption>", "", 1) + `</table>`, `<table>` + cells + `</table>`},
	{"th-scope", `<table>` + strings.Replace(cells, ` scope="row"`, "", 1) + `</table>`, `<table>` + cells + `</table>`},
	{"empty-th", `<table>` + strings.Replace(cells, `>a<`, "><", 1) + `</table>`, `<table>` + cells + `</table>`},
	{"td-has-header", `<table>` + strings.Replace(cells, `<th scope="col">b</th>`, "", 1) + `</table>`, `<table>` + cells + `</table>`},
	{"th-has-data", `<table>` + strings.Replace(cells, `<tr><th scope="row">1</th><td>2</td></tr>`, "", 1) + `</table>`, `<table>` + cells + `</table>`},
	{"table-fake-caption", `<table>` + strings.Replace(cells, `<thead>`, `<thead><tr><th scope="col" colspan="2">x</th></tr>`, 1) + `</table>`, `<table>` + cells + `</table>`},
	{"table-nested", `<table>` + strings.Replace(cells, `>2<`, `><table>`+cells+`</table><`, 1) + `</table>`, `<table>` + cells + `</table>`},
	{"sort-button", `<table>` + strings.Replace(cells, `col">a`, `col" aria-sort="none">a`, 1) + `</table>`, `<table>` + cells + `</table>`},
	{"scrollable", `<div style="overflow: auto; height: 20px"><p style="height: 100px">x</p></div>`, `<div style="overflow: auto; height: 20px" tabindex="0"><p style="height: 100px">x</p></div>`},
	{"tabindex", `<p tabindex="3">x</p>`, `<p tabindex="0">x</p>`},
	{"click-only", `<p onclick="1">x</p>`, `<p>x</p>`},
	{"inline", `<p style="color: #000">x</p>`, `<p>x</p>`},
	{"target-size", `<style>button { min-width: 0; min-height: 0; width: 9px; height: 9px; padding: 0 }</style><button>x</button><button>y</button>`, `<button>x</button><button>y</button>`},
	{"focus-visible", `<style>button:focus-visible { outline: none }</style><button>x</button>`, `<button>x</button>`},
	{"focus-contrast", `<style>button:focus-visible { outline-color: #ddd }</style><button>x</button>`, `<button>x</button>`},
	{"focus-contrast", `<style>button:focus-visible { color: #aaa }</style><button>x</button>`, `<button>x</button>`},
	{"focus-not-obscured", `<style>aside { position: fixed; inset: 0; background: #fff }</style><button>x</button><aside aria-label="y">y</aside>`, `<button>x</button>`},
	{"color-contrast", `<style>b { color: #999 }</style><b>x</b>`, `<style>b { color: #555 }</style><b>x</b>`},
	{"color-contrast", `<style>p { opacity: .5 }</style><p><b>x</b></p>`, `<style>p { opacity: .9 }</style><p><b>x</b></p>`},
	{"control-contrast", `<style>input { border-color: #ddd }</style>` + labels, labels},
	{"chart-contrast", `<svg class="chart" role="img">` + alt + `<path class="stroke" stroke="#ddd" d="M0,0"/></svg>`, `<svg class="chart" role="img">` + alt + `<path class="stroke" stroke="#333" d="M0,0"/></svg>`},
	{"chart-contrast", `<svg class="chart" role="img">` + alt + `<path class="fill c-heat1" fill="#222" d="M0,0"/></svg>`, `<svg class="chart" role="img">` + alt + `<path class="fill c-heat1" fill="#eee" d="M0,0"/></svg>`},
}

// rulesOf are the rules that a page breaks.
func rulesOf(p *Page) []string {
	var rules []string
	for _, barrier := range p.Barriers() {
		rule, _, _ := strings.Cut(barrier, " (")
		rules = append(rules, rule)
	}
	return rules
}

// becomes puts markup into the sound page's main part.
func (p *Page) becomes(markup string) {
	Eval[bool](p, `(document.open(), document.write(`+quoted(strings.Replace(sound, "%s", markup, 1))+`), document.close(), true)`)
}

func TestBarriers(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, []byte(strings.Replace(sound, "%s", "", 1)))
	if found := p.Barriers(); len(found) > 0 {
		t.Fatalf("a sound page has %q", found)
	}
	for _, tc := range barriers {
		p.becomes(tc.breaks)
		if rules := rulesOf(p); !slices.Contains(rules, tc.rule) {
			t.Errorf("%s: %s breaks %q", tc.rule, tc.breaks, rules)
		}
		p.becomes(tc.keeps)
		if rules := rulesOf(p); slices.Contains(rules, tc.rule) {
			t.Errorf("%s: %s breaks it, says the rule", tc.rule, tc.keeps)
		}
	}
}

// Rules about the document as a whole.
func TestBarriers_documents(t *testing.T) {
	t.Parallel()
	b := Start(t)
	p := b.Open(t, []byte(`<!DOCTYPE html><html lang="English!"><meta name="viewport" content="user-scalable=no"><meta http-equiv="refresh" content="9999"><h1>x</h1><p>outside</p><form><label>a <input></label></form></html>`))
	rules := rulesOf(p)
	for _, want := range []string{"html-lang", "document-title", "one-main", "bypass", "meta-viewport", "meta-refresh", "region", "live-region-there"} {
		if !slices.Contains(rules, want) {
			t.Errorf("%s is not found: %q", want, rules)
		}
	}
}

// Every rule is tried by one of the tests.
func TestBarriers_allTried(t *testing.T) {
	t.Parallel()
	whole := []string{"html-lang", "document-title", "bypass", "meta-viewport", "meta-refresh", "region", "live-region-there"}
	for line := range strings.Lines(access) {
		rule, found := strings.CutPrefix(line, "    ['")
		if !found {
			continue
		}
		rule, _, _ = strings.Cut(rule, "'")
		if !slices.Contains(whole, rule) && !slices.ContainsFunc(barriers, func(tried struct{ rule, breaks, keeps string }) bool { return tried.rule == rule }) {
			t.Errorf("nothing tries the rule %s", rule)
		}
	}
}
