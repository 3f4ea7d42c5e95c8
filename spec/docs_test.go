package spec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestDocs_everyTopicAndKind(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	for _, topic := range append(Topics(c), "") {
		text := docs(t, c, topic, "")
		for _, k := range c.Kinds(topic) {
			if !strings.Contains(text, k.Name) {
				t.Errorf("docs %s do not mention %s", topic, k.Name)
			}
			checkExample(t, docs(t, c, topic, k.Name))
		}
	}
}

func docs(t *testing.T, c Catalog, topic, kind string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Docs(&b, c, topic, kind); err != nil {
		t.Fatalf("docs %s %s: %v", topic, kind, err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := len([]rune(line)); n > docWidth+8 {
			t.Errorf("docs %s %s: a line of %d characters: %s", topic, kind, n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("docs %s %s: trailing space: %q", topic, kind, line)
		}
	}
	return b.String()
}

// checkExample parses the example at the end of a page of documentation.
func checkExample(t *testing.T, text string) {
	t.Helper()
	_, example, ok := strings.Cut(text, "Example:\n")
	if !ok {
		t.Errorf("no example in\n%s", text)
		return
	}
	if _, diags := hclsyntax.ParseConfig([]byte(example), "example", hcl.InitialPos); diags.HasErrors() {
		t.Errorf("%v in\n%s", diags, example)
	}
}

// The examples of all blocks make up one spec.
func TestDocs_examplesLoad(t *testing.T) {
	t.Parallel()
	text := "fixed \"embedder\" {\n  option \"onnx\" { model = \"m\" }\n}\n"
	for _, b := range blockDocs {
		if b.name != "split" && b.name != "source" { // the same block as golden
			text += b.example + "\n"
		}
	}
	text = strings.Replace(text, `{ legs = ["dense", "lexical"] }`, "{\n    legs = [\"dense\", \"lexical\"]\n    k    = tune.rrf_k\n  }", 1)
	e, diags := LoadSources("", []Source{{Name: "examples", Bytes: []byte(text)}}, LoadOptions{
		Catalog: newCatalog(), Env: func(string) (string, bool) { return "dsn", true },
	})
	if diags.HasErrors() {
		fatal(t, e, diags)
	}
}

func TestDocs_unknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topic, kind, want string }{
		{"chnker", "", `no documentation of "chnker". Did you mean "chunker"?`},
		{"chunker", "sentense", `no chunker kind "sentense". Did you mean "sentence"?`},
		{"score", "x", `no score kind "x".`},
	} {
		if err := Docs(new(bytes.Buffer), newCatalog(), c.topic, c.kind); err == nil || err.Error() != c.want {
			t.Errorf("docs %s %s: %v, want %s", c.topic, c.kind, err, c.want)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestDocs_reportsTheWriter(t *testing.T) {
	t.Parallel()
	if err := Docs(fullDisk{}, newCatalog(), "chunker", ""); err == nil || err.Error() != "no space left" {
		t.Errorf("error = %v", err)
	}
}
