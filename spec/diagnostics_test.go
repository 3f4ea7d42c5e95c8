package spec

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDiagnostics loads the spec.hcl of each archive in testdata/diagnostics,
// with the flags in the archive's comment, and compares what is reported with
// its file want.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "diagnostics", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := diagnose(t, archive)
			if *update {
				rewrite(t, path, archive, got)
				return
			}
			if diff := cmp.Diff(section(archive, "want"), got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// diagnose returns what is printed for an archive. Names of files are relative
// to a folder of its own.
func diagnose(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := LoadOptions{Catalog: newCatalog(), Vars: map[string]string{}}
	env := map[string]string{}
	path, params := filepath.Join(dir, "spec.hcl"), false
	for line := range strings.Lines(string(archive.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, setting, _ := strings.Cut(value, "=")
		switch name {
		case "-var":
			opts.Vars[key] = setting
		case "-var-file":
			opts.VarFiles = append(opts.VarFiles, filepath.Join(dir, value))
		case "-env":
			env[key] = setting
		case "-path":
			path = filepath.Join(dir, value)
		case "-params":
			params = true
		}
	}
	opts.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	e, diags := Load(path, opts)
	if params {
		diags = append(diags, paramsOfAll(e)...)
	}
	var b bytes.Buffer
	if err := WriteDiagnostics(&b, e.Files, diags, 0, false); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

// paramsOfAll asks for the parameters of all options before anything is fitted.
func paramsOfAll(e *Experiment) hcl.Diagnostics {
	var all hcl.Diagnostics
	for _, o := range e.options() {
		_, diags := e.Params(o, e.Cross().Configurations[0], nil)
		all = append(all, diags...)
	}
	return all
}

func section(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, got string) {
	t.Helper()
	files := archive.Files[:0:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDiagnostics_everySummaryHasAnExample(t *testing.T) {
	t.Parallel()
	var wants strings.Builder
	paths, _ := filepath.Glob(filepath.Join("testdata", "diagnostics", "*.txtar"))
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wants.WriteString(section(archive, "want"))
	}
	for name, summary := range summaries(t) {
		if !strings.Contains(wants.String(), ": "+summary+"\n") {
			t.Errorf("no example of %s (%q)", name, summary)
		}
	}
}

// summaries reads the constants of diag.go.
func summaries(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "diag.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "sum") {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found[spec.Names[0].Name] = text
		return true
	})
	if len(found) < 40 {
		t.Fatalf("found %d summaries only", len(found))
	}
	return found
}
