package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzLoad checks that no text whatever makes loading panic, that what loads
// without errors has rows whose parameters can be evaluated, and that
// diagnostics can be shown.
func FuzzLoad(f *testing.F) {
	specs, _ := filepath.Glob(filepath.Join("testdata", "specs", "*.hcl"))
	for _, path := range specs {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	archives, _ := filepath.Glob(filepath.Join("testdata", "diagnostics", "*.txtar"))
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(section(archive, "spec.hcl")))
	}
	f.Add([]byte(strings.Join(digestBlocks, "\n")))
	f.Add([]byte(tunedSpec))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		e, diags := LoadSources(dir, []Source{{Name: "f.hcl", Bytes: src}}, LoadOptions{Catalog: newCatalog(), Env: noEnv, MaxProduct: 2000})
		var b strings.Builder
		if err := WriteDiagnostics(&b, e.Files, diags, 80, false); err != nil {
			t.Fatal(err)
		}
		if diags.HasErrors() {
			return
		}
		if len(e.Digest) != 64 {
			t.Fatalf("digest %q", e.Digest)
		}
		a := e.Cross().Accounting
		if a.Kept+a.Excluded+a.Impossible+a.Same != a.Product || a.Kept+a.Same+a.Included != len(e.Cross().Configurations) {
			t.Fatalf("accounting %+v", a)
		}
		for _, c := range e.Cross().Configurations[:min(5, len(e.Cross().Configurations))] {
			for _, factor := range e.Factors {
				for _, o := range e.Chosen(c, factor.Name) {
					if p, diags := e.Params(o, c, e.FirstOfGrids()); diags.HasErrors() || p == nil && !factor.Free {
						t.Fatalf("%s: %v", o.title(), diags)
					}
				}
			}
		}
	})
}
