package html_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"raglab/internal/html"
)

func TestReduce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, title, text string }{
		"title and heading": {"<title> A  b\n</title><h1>A b</h1><p>c", "A b", "c"},
		"other heading":     {"<title>A</title><h1>B</h1><p>c", "A", "# B\n\nc"},
		"heading as title":  {"<p>x<h1>A <em>b</em></h1><p>c<h3>d</h3>e", "A b", "x\n\n# A b\n\nc\n\n### d\n\ne"},
		"white space":       {"<p>a\n  b&nbsp;&amp; <b>c</b>d<br>e</p>\n<div>f<div>g</div>h</div>", "", "a b & cd\ne\n\nf\n\ng\n\nh"},
		"dropped": {
			"a<script>x</script><style>x</style><nav>x</nav><template>x</template><noscript>x</noscript><svg><title>x</title></svg><button>x</button><p hidden>x</p><!-- x -->b", "", "ab",
		},
		"lists":        {"<p>x<ul><li>a<li>b<ul><li>c</ul>d</ul><ol><li><p>e</p><p>f</p></li><li>g</ol>", "", "x\n\n- a\n- b\n  - c\n  d\n\n1. e\n   f\n2. g"},
		"table":        {"<table><caption>t</caption><tr><th>a<th>b</tr><tr><td>1<p>x</p><td></table>", "", "t\n\n| a | b |\n| 1 x | |"},
		"preformatted": {"<pre>\n# a\n  b ```\n</pre>c", "", "````\n# a\n  b ```\n````\n\nc"},
		"unclosed":     {"<p>a<b>b<p>c", "", "a" + "b\n\nc"},
		"item alone":   {"<li>a<li>b", "", "- a\n\n- b"},
		"empty":        {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := html.Reduce(strings.NewReader(c.page))
			if err != nil || page.Title != c.title || page.Text != c.text {
				t.Errorf("got  %q, %q, %v\nwant %q, %q", page.Title, page.Text, err, c.title, c.text)
			}
		})
	}
}

func TestReduce_refusesBottomlessNesting(t *testing.T) {
	t.Parallel()
	if _, err := html.Reduce(strings.NewReader(strings.Repeat("<div>", 100_000))); err == nil {
		t.Error("no error")
	}
}

func FuzzReduce(f *testing.F) {
	f.Add("<title>a</title><ul><li>b<table><tr><td>c</table></ul><pre>d</pre>")
	f.Add("<svg><title>x</title></svg><li><ol><li>a</li>b")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("pages are valid UTF-8")
		}
		page, err := html.Reduce(strings.NewReader(text))
		if err == nil && (!utf8.ValidString(page.Title) || !utf8.ValidString(page.Text)) {
			t.Fatalf("%q: not valid UTF-8: %+q", text, page)
		}
	})
}
