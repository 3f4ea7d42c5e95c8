package spec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	src := "axis \"text\" {\nuse=[\"simple\",\n\"lemma\"]\n  # why\n}\nscore {\ndepth=3\n  metrics = [ \"ndcg@10\" ]\n}\n"
	want := "axis \"text\" {\n  use = [\"simple\",\n  \"lemma\"]\n  # why\n}\nscore {\n  depth   = 3\n  metrics = [\"ndcg@10\"]\n}\n"
	got, diags := Format("a.hcl", []byte(src))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	d := string(Diff("a.hcl", []byte(src), got))
	if !strings.Contains(d, "--- a/a.hcl\n+++ b/a.hcl\n") || !strings.Contains(d, "\n-depth=3\n") || !strings.Contains(d, "\n+  depth   = 3\n") {
		t.Errorf("diff:\n%s", d)
	}
	if d := Diff("a.hcl", got, got); len(d) != 0 {
		t.Errorf("diff of nothing:\n%s", d)
	}
}

func TestFormat_leavesWhatCannotBeParsed(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"axis {", "a = \xff", "a = \x00"} {
		got, diags := Format("a.hcl", []byte(src))
		if !diags.HasErrors() || string(got) != src {
			t.Errorf("Format(%q) = %q, %v", src, got, diags)
		}
	}
}

// The examples of the documentation are formatted.
func TestFormat_changesNoExample(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, b := range blockDocs {
		texts[b.name] = b.example
	}
	for name, text := range texts {
		got, diags := Format(name, []byte(text))
		if diags.HasErrors() {
			t.Error(diags)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, b := range blockDocs {
		f.Add([]byte(b.example))
	}
	f.Add([]byte("\xef\xbb\xbfscore {\r\n depth=1\r\n}\r\n"))
	f.Add([]byte("locals {\n a = <<EOT\n  x ${ 1+1 }\nEOT\n b=a?b:c /* d */\n}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		once, diags := Format("f.hcl", src)
		if diags.HasErrors() {
			return
		}
		twice, diags := Format("f.hcl", once)
		if diags.HasErrors() {
			t.Fatalf("formatting broke %q into %q: %v", src, once, diags)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, then %q", src, once, twice)
		}
	})
}
