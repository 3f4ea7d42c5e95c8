package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/unicode/norm"
)

// What a page says in several scripts, fonts and sizes, over several pages.
const many = `<!DOCTYPE html><html lang="en"><title>x</title><meta charset="utf-8"><h1>Effect of fluffiness</h1>
<p>Їжак у ґанку — ½ «лапки» Iğdır’ın ﬁnal</p><p style="font-family: monospace">0123 &lt;b></p>
<div style="break-before: page"><b>second</b> page</div><details><summary>folded</summary>unseen</details>`

func TestPDFTexts(t *testing.T) {
	t.Parallel()
	p := Start(t).Open(t, []byte(many))
	file := p.Print("pdf", chromedp.PaperA4)
	texts, err := PDFTexts(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) != 2 {
		t.Fatalf("%d pages: %q", len(texts), texts)
	}
	for _, want := range []string{"Effect of fluffiness", "Їжак у ґанку — 1⁄2 «лапки» Iğdır’ın final", "0123 <b>"} {
		if !strings.Contains(norm.NFKC.String(texts[0]), want) {
			t.Errorf("%q is not in %q", want, texts[0])
		}
	}
	if !strings.Contains(texts[1], "second page") || strings.Contains(texts[1], "unseen") {
		t.Errorf("the second page has %q", texts[1])
	}
	t.Run("pdftotext", func(t *testing.T) { sameAsPoppler(t, file, texts) })
}

// sameAsPoppler holds what is read against what poppler's pdftotext reads, where it is there.
func sameAsPoppler(t *testing.T, file []byte, texts []string) {
	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("no pdftotext on this machine; Debian's package poppler-utils has it")
	}
	path := filepath.Join(t.TempDir(), "page.pdf")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), tool, path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range strings.SplitN(string(out), "\f", len(texts)) {
		if got, want := letters(texts[i]), letters(page); !slices.Equal(got, want) {
			t.Errorf("page %d: %q, by pdftotext %q", i+1, string(got), string(want))
		}
	}
}

// letters are a text's characters but blanks, in order of their codes.
func letters(s string) []rune {
	runes := slices.DeleteFunc([]rune(norm.NFKC.String(s)), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	slices.Sort(runes)
	return runes
}

func TestPDFTexts_otherFiles(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"", "%PDF-1.7", "\n1 0 obj\n<</Type /Page\n/Contents 9 0 R>>\nendobj",
		"\n1 0 obj\n<</Type /Page\n/Contents 2 0 R>>\nendobj\n2 0 obj\n<</Filter /FlateDecode>> stream\nno\nendstream\nendobj",
		"\n1 0 obj\n<</Type /Page\n/Contents 2 0 R>>\nendobj\n2 0 obj\n<<>> stream\n/F1 12 Tf\n<0001> Tj\nendstream\nendobj",
	} {
		if texts, err := PDFTexts([]byte(file)); err == nil {
			t.Errorf("%q: %q", file, texts)
		}
	}
}
