package html_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"raglab/internal/report"
	"raglab/internal/report/html"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func render(t testing.TB, r *report.Report) []byte {
	t.Helper()
	b, err := html.Page(html.Input{Report: r})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPage_golden holds the page without its script, style and drawings, which are files
// of their own or follow from chart's tests.
func TestPage_golden(t *testing.T) {
	t.Parallel()
	got := string(render(t, sample(plainly)))
	for _, part := range []string{`(?s)<style>.*?</style>`, `(?s)<script.*?</script>`, `(?s)<svg.*?</svg>`, `sha256-.*?=`} {
		got = regexp.MustCompile(part).ReplaceAllString(got, "…")
	}
	path := filepath.Join("testdata", "page.html")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change", path)
	}
}

func TestPage_sameReportSameBytes(t *testing.T) {
	t.Parallel()
	first := render(t, sample(marked))
	for range 3 {
		if !bytes.Equal(first, render(t, sample(marked))) {
			t.Fatal("the same report gives other bytes")
		}
	}
}

// TestPage_policyAllowsItsOwnScriptAndStyle computes the hashes as a browser does, of what
// stands between the tags.
func TestPage_policyAllowsItsOwnScriptAndStyle(t *testing.T) {
	t.Parallel()
	doc := parse(t, render(t, sample(marked)))
	policy := ""
	var scripts, styles []string
	for n := range doc.Descendants() {
		switch {
		case n.Type != nethtml.ElementNode:
		case n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy":
			policy = attribute(n, "content")
		case n.Data == "script" && attribute(n, "type") == "":
			scripts = append(scripts, n.FirstChild.Data)
		case n.Data == "style":
			styles = append(styles, n.FirstChild.Data)
		}
	}
	if len(scripts) != 1 || len(styles) != 1 {
		t.Fatalf("%d scripts and %d styles, want one of each", len(scripts), len(styles))
	}
	for _, part := range []string{"default-src 'none'", "script-src " + hash(scripts[0]), "style-src " + hash(styles[0]), "img-src data:", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %q", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("policy %q allows too much", policy)
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// TestPage_hostileTextsAreText parses the page as a browser does: a hostile report has
// the same elements as a plain one, in the same order. What is in a drawing may differ,
// as labels of another length are laid out in another way.
func TestPage_hostileTextsAreText(t *testing.T) {
	t.Parallel()
	plain, evil := outline(parse(t, render(t, sample(plainly)))), outline(parse(t, render(t, sample(marked))))
	for i := range min(len(plain), len(evil)) {
		if plain[i] != evil[i] {
			t.Fatalf("element %d is %q, and %q with hostile texts", i, plain[i], evil[i])
		}
	}
	if len(plain) != len(evil) {
		t.Fatalf("%d elements, and %d with hostile texts", len(plain), len(evil))
	}
	if len(plain) < 500 {
		t.Errorf("only %d elements: are the sections there?", len(plain))
	}
}

// outline names the elements in order with their attributes, which must not act.
func outline(doc *nethtml.Node) []string {
	var list []string
	for n := range doc.Descendants() {
		if n.Type == nethtml.CommentNode {
			list = append(list, "a comment")
		}
		if n.Type != nethtml.ElementNode {
			continue
		}
		if inside(n, "svg") && !slices.Contains([]string{"g", "path", "text", "title", "desc"}, n.Data) {
			list = append(list, n.Data+" acts")
		}
		name := n.Data
		for _, a := range n.Attr {
			name += " " + a.Key
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "action" || strings.HasSuffix(a.Key, "href") && !strings.HasPrefix(a.Val, "#") {
				name += "=" + a.Val + " acts"
			}
		}
		if !inside(n, "svg") || strings.HasSuffix(name, " acts") {
			list = append(list, name)
		}
	}
	return list
}

func inside(n *nethtml.Node, name string) bool {
	for at := range n.Ancestors() {
		if at.Data == name {
			return true
		}
	}
	return false
}

func TestPage_nothingActs(t *testing.T) {
	t.Parallel()
	for _, name := range outline(parse(t, render(t, sample(marked)))) {
		if strings.HasSuffix(name, " acts") || name == "a comment" {
			t.Error(name)
		}
	}
}

// FuzzPage puts any text everywhere: the page keeps its elements.
func FuzzPage(f *testing.F) {
	for _, text := range []string{"", markup, "{{.}}", "<!--", "]]>", "\xff\x00", "' onclick=x ", "</ScRiPt >", "\u2029"} {
		f.Add(text)
	}
	plain := outline(parse(f, render(f, sample(plainly))))
	f.Fuzz(func(t *testing.T, text string) {
		got := outline(parse(t, render(t, sample(func(s string) string { return s + text }))))
		if !slices.Equal(got, plain) {
			t.Fatalf("%d elements, want the %d of a plain report", len(got), len(plain))
		}
	})
}

func TestPage_sectionsWithoutDataAreLeftOut(t *testing.T) {
	t.Parallel()
	full := string(render(t, sample(plainly)))
	for _, id := range []string{"glance", "mattered", "limits", "intervals", "configurations", "tradeoffs", "axes", "tags", "losses", "tuning", "ingest", "more", "provenance"} {
		if !strings.Contains(full, `<section id="`+id+`"`) || !strings.Contains(full, `<a href="#`+id+`">`) {
			t.Errorf("a full report has no section %s", id)
		}
	}
	empty := string(render(t, &report.Report{Experiment: "nothing", Primary: "ndcg@10", Metrics: []string{"ndcg@10"}}))
	for _, id := range []string{"mattered", "limits", "intervals", "configurations", "tradeoffs", "axes", "tags", "losses", "tuning", "ingest"} {
		if strings.Contains(empty, `<section id="`+id+`"`) {
			t.Errorf("an empty report has a section %s", id)
		}
	}
}

func TestPage_unmeasuredIsAWord(t *testing.T) {
	t.Parallel()
	r := sample(plainly)
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Latency, c.IndexBytes, c.IngestSeconds, c.Intervals = nil, nil, nil, nil
		if i > 1 {
			c.Metrics["ndcg@10"] = nil
		}
	}
	got := string(render(t, r))
	if strings.Contains(got, `<section id="tradeoffs"`) {
		t.Error("quality is set against costs that were not measured")
	}
	if strings.Count(got, "unmeasured") < 24 {
		t.Errorf("only %d cells say unmeasured", strings.Count(got, "unmeasured"))
	}
}

// TestPage_large bounds the part of the page that does not depend on rankings.
func TestPage_large(t *testing.T) {
	t.Parallel()
	if n := len(render(t, large(180))); n > 3<<20 {
		t.Errorf("180 rows take %d bytes", n)
	}
}

func parse(t testing.TB, b []byte) *nethtml.Node {
	t.Helper()
	doc, err := nethtml.Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func attribute(n *nethtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
