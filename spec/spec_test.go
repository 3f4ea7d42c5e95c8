package spec

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// noEnv is an environment without variables.
func noEnv(string) (string, bool) { return "", false }

// load loads the text of a spec and fails on any diagnostic, warnings too.
func load(t testing.TB, text string) *Experiment {
	t.Helper()
	e, diags := LoadSources(t.TempDir(), []Source{{Name: "spec.hcl", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
	fatal(t, e, diags)
	return e
}

func fatal(t testing.TB, e *Experiment, diags hcl.Diagnostics) {
	t.Helper()
	if len(diags) > 0 {
		var b strings.Builder
		if err := WriteDiagnostics(&b, e.Files, diags, 0, false); err != nil {
			t.Fatal(err)
		}
		t.Fatal(b.String())
	}
}

func TestLoad_theExampleOfTheDesign(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "specs", "ukwiki.hcl")
	e, diags := Load(path, LoadOptions{Catalog: newCatalog(), Env: noEnv})
	fatal(t, e, diags)
	if a := e.Cross().Accounting; a != (Accounting{Full: 12, Product: 12, Kept: 12}) {
		t.Errorf("accounting = %+v", a)
	}
	t.Log(e.Digest, e.Reads(), e.Golden, e.Score)
	for _, c := range e.Cross().Configurations {
		t.Log(c.Name(), "|", c.Key())
	}
}
