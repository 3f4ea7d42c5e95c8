package spec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const variableSpec = head + `
variable "tokens" {
  type        = number
  default     = 10
  description = "Length of a chunk."
}
variable "overlap" { default = 0 }
variable "languages" {
  type    = list(string)
  default = ["uk"]
}
variable "docs" {}
fixed "chunker" {
  option "fixed" {
    tokens  = var.tokens
    overlap = var.overlap
  }
}
fixed "text" {
  option "lemma" { dictionary = "${var.docs}:${join(",", var.languages)}" }
}
`

// The command line wins over variable files, later ones over earlier ones, all
// of them over the environment, and that over defaults.
func TestVariables_precedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"spec.hcl": variableSpec,
		"a.vars":   "tokens = 30\noverlap = 3\n",
		"b.vars":   "tokens = 40\nlanguages = [\"uk\", \"tr\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b := filepath.Join(dir, "a.vars"), filepath.Join(dir, "b.vars")
	env := map[string]string{"RAGLAB_VAR_tokens": "20", "RAGLAB_VAR_docs": "7 and text", "RAGLAB_VAR_languages": `["it"]`}
	for _, c := range []struct {
		files []string
		vars  map[string]string
		env   map[string]string
		want  fixedParams
		lemma string
	}{
		{nil, map[string]string{"docs": "d"}, nil, fixedParams{10, 0}, "d:uk"},
		{nil, nil, env, fixedParams{20, 0}, "7 and text:it"},
		{[]string{a}, nil, env, fixedParams{30, 3}, "7 and text:it"},
		{[]string{a, b}, nil, env, fixedParams{40, 3}, "7 and text:uk,tr"},
		{[]string{b, a}, nil, env, fixedParams{30, 3}, "7 and text:uk,tr"},
		{[]string{a, b}, map[string]string{"tokens": "50", "docs": `"quoted"`, "overlap": "1 + 1"}, env, fixedParams{50, 2}, `"quoted":uk,tr`},
	} {
		e, diags := Load(filepath.Join(dir, "spec.hcl"), LoadOptions{
			Catalog: newCatalog(), Vars: c.vars, VarFiles: c.files,
			Env: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok },
		})
		fatal(t, e, diags)
		if got := params[fixedParams](t, e, e.Factor("chunker").Options[0], nil, nil); got != c.want {
			t.Errorf("%v %v: %+v, want %+v", c.files, c.vars, got, c.want)
		}
		if got := params[lemmaParams](t, e, e.Factor("text").Options[0], nil, nil).Dictionary; got != c.lemma {
			t.Errorf("%v %v: %q, want %q", c.files, c.vars, got, c.lemma)
		}
	}
	vars, err := Variables(filepath.Join(dir, "spec.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{{Name: "tokens", Description: "Length of a chunk."}, {Name: "overlap"}, {Name: "languages"}, {Name: "docs", Required: true}}
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Error(diff)
	}
}

func TestLocals_anyOrderAndDepth(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
locals {
  z = 1
  a = local["m"] + local.z
}
fixed "chunker" {
  option "fixed" { tokens = local.a }
}
locals { m = local.all.q * local.z }
locals { all = { q = 41 } }
`)
	if got := params[fixedParams](t, e, e.Factor("chunker").Options[0], nil, nil).Tokens; got != 42 {
		t.Errorf("tokens = %d", got)
	}
}
