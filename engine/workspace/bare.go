package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"raglab/spec"
)

// BareCorpus is an experiment that is its corpus alone: a folder of documents or
// a file of JSON lines. Without a language it takes the one that the letters of a
// folder's documents point to, and says so.
func BareCorpus(ctx context.Context, path, language string, guessed func(language string)) (*spec.Experiment, error) {
	kind := "jsonl"
	if !strings.HasSuffix(path, ".jsonl") {
		found, err := Look(ctx, path)
		if err != nil {
			return nil, err
		}
		kind = found.Kind
		if language == "" && found.Language != "" {
			language = found.Language
			guessed(language)
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	exp, diags := spec.LoadSources(".", []spec.Source{{Name: "corpus.hcl", Bytes: []byte(bareSpec(nameOf(strings.TrimSuffix(filepath.Base(abs), ".jsonl")), kind, abs, language))}}, spec.LoadOptions{Catalog: Catalog()})
	if diags.HasErrors() {
		return nil, diags
	}
	return exp, nil
}

func bareSpec(name, kind, path, language string) string {
	return fmt.Sprintf(`experiment %q {}
corpus %q {
  path     = %s
  language = %s
}
golden { file = "none" }
`, name, kind, literal(path), literal(language))
}

// literal is a text as HCL writes it, with nothing in it evaluated.
func literal(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{", "\n", `\n`).Replace(s)
	return `"` + s + `"`
}
