package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"raglab/engine/workspace"
	"raglab/internal/pg"
	"raglab/spec"
)

// TestDocs_everyTopic prints every factor, block and kind: no line is wider than
// a page, and every example loads.
func TestDocs_everyTopic(t *testing.T) {
	t.Parallel()
	catalog := workspace.Catalog()
	topics := [][2]string{{}, {"metric"}}
	for _, f := range append(catalog.Factors(), spec.FactorInfo{Name: "source"}, spec.FactorInfo{Name: "output"}, spec.FactorInfo{Name: "store"}) {
		topics = append(topics, [2]string{f.Name})
		for _, k := range catalog.Kinds(f.Name) {
			topics = append(topics, [2]string{f.Name, k.Name})
		}
	}
	if len(topics) < 20 {
		t.Fatalf("only %d topics", len(topics))
	}
	for _, topic := range topics {
		t.Run(strings.Join(topic[:], " "), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			args := slices.DeleteFunc(topic[:], func(s string) bool { return s == "" })
			if code := dispatch(context.Background(), terminal{out: &out, err: &out}, append([]string{"docs"}, args...)); code != exitOK {
				t.Fatalf("exit code %d: %s", code, out.String())
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(line); n > 81 {
					t.Errorf("%d characters wide: %s", n-1, line)
				}
			}
			examples := exampleTitle.Split(out.String(), -1)[1:]
			for _, example := range examples {
				loads(t, indentedPart(example))
			}
			if len(args) == 2 && len(examples) == 0 {
				t.Error("it has no example")
			}
		})
	}
}

// exampleTitle is the line above an example.
var exampleTitle = regexp.MustCompile(`(?m)^Example(, .*)?:\n`)

var fence = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$")

// TestReadme_examples loads every HCL example of the README.
func TestReadme_examples(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Skipf("no README: %v", err)
	}
	found := fence.FindAllSubmatch(readme, -1)
	if len(found) == 0 {
		t.Fatal("the README shows no HCL")
	}
	for _, m := range found {
		loads(t, string(m[1]))
	}
}

// loads checks that an example is a spec, or a part of one: parsed, laid out, and
// without a problem besides the blocks that the part does not show.
func loads(t *testing.T, example string) {
	t.Helper()
	example = strings.TrimSpace(dedent(example)) + "\n"
	formatted, diags := spec.Format("example.hcl", []byte(example))
	if diags.HasErrors() {
		t.Errorf("%v in:\n%s", diags, example)
		return
	}
	if string(formatted) != example {
		t.Errorf("not laid out:\n%s", spec.Diff("example.hcl", []byte(example), formatted))
	}
	dir := t.TempDir()
	sources := []spec.Source{{Name: "example.hcl", Bytes: []byte(example)}}
	for name, block := range surroundings(t, dir) {
		if !hasBlock(t, example, name) {
			sources = append(sources, spec.Source{Name: name + ".hcl", Bytes: []byte(block)})
		}
	}
	env := func(name string) (string, bool) {
		if name == pg.EnvDSN || name == "KB_DSN" {
			return "postgres://raglab@127.0.0.1/raglab", true
		}
		return "1", true
	}
	_, diags = spec.LoadSources(dir, sources, spec.LoadOptions{Catalog: workspace.Catalog(), Vars: map[string]string{}, Env: env})
	for _, d := range diags {
		if d.Summary == "Unused tune" || strings.Contains(d.Detail, "no file") {
			continue
		}
		t.Errorf("%s: %s in:\n%s", d.Summary, d.Detail, example)
	}
}

// surroundings are the blocks that a spec needs, by name.
func surroundings(t *testing.T, dir string) map[string]string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "golden.jsonl"), []byte(`{"id": "q", "question": "?", "relevant": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"experiment": `experiment "example" {}` + "\n",
		"corpus":     `corpus "files" { path = "docs" }` + "\n",
		"golden":     `golden { file = "golden.jsonl" }` + "\n",
		"score":      `score { metrics = ["ndcg@10"] }` + "\n",
	}
}

func hasBlock(t *testing.T, source, name string) bool {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(source), "example.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return slices.ContainsFunc(f.Body.(*hclsyntax.Body).Blocks, func(b *hclsyntax.Block) bool { return b.Type == name })
}

// indentedPart is the beginning of a text as far as it is indented.
func indentedPart(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "" {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// dedent takes away the blanks that all lines begin with.
func dedent(text string) string {
	margin := -1
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			if n := len(line) - len(strings.TrimLeft(line, " ")); margin < 0 || n < margin {
				margin = n
			}
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(line[min(max(margin, 0), len(line)-1):])
	}
	return b.String()
}
