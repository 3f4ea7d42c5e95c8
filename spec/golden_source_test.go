package spec

import (
	"path/filepath"
	"strings"
	"testing"
)

const goldenSource = `experiment "e" {}
corpus "files" { path = "docs" }
golden {
  missing      = "drop"
  order        = "id"
  strip_prefix = "Q:"
  source "beir" {
    path  = "scifact"
    split = "dev"
  }
}
`

func TestGoldenSource(t *testing.T) {
	t.Parallel()
	e := loadQuietly(t, goldenSource)
	g := e.Golden
	if g.Source == nil || g.Source.Kind != "beir" || g.Missing != "drop" || g.Order != "id" || g.StripPrefix != "Q:" {
		t.Fatalf("golden %+v", g)
	}
	params, diags := e.Params(g.Source, nil, nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if p := params.(*beirParams); p.Path != filepath.Join("dir", "scifact") || p.Split != "dev" {
		t.Errorf("parameters %+v", p)
	}
	plain := loadQuietly(t, "experiment \"e\" {}\ncorpus \"beir\" { path = \"x\" }")
	if g := plain.Golden; g.Source != nil || g.Missing != "error" || g.Order != "source" {
		t.Errorf("without a golden block: %+v", g)
	}
}

func TestGoldenSource_digest(t *testing.T) {
	t.Parallel()
	seen := map[string]string{loadQuietly(t, goldenSource).Digest: "the original"}
	for _, change := range [][2]string{
		{`"dev"`, `"test"`}, {`"scifact"`, `"nfcorpus"`}, {`"drop"`, `"error"`}, {`"id"`, `"source"`}, {`"Q:"`, `"A:"`},
	} {
		d := loadQuietly(t, strings.Replace(goldenSource, change[0], change[1], 1)).Digest
		if other, ok := seen[d]; ok {
			t.Errorf("%q → %q has the digest of %s", change[0], change[1], other)
		}
		seen[d] = change[1]
	}
}

// TestRedact_sources hides what kinds of source call secret, in a corpus and in golden.
func TestRedact_sources(t *testing.T) {
	t.Parallel()
	c := newCatalog()
	for i := range c.kinds["source"] {
		k := &c.kinds["source"][i]
		switch k.Name {
		case "files":
			k.Secrets = func(params any) []string { return []string{filepath.Base(params.(*pathParams).Path)} }
		case "beir":
			k.Secrets = func(params any) []string { return []string{params.(*beirParams).Split} }
		}
	}
	text := strings.NewReplacer(`"docs"`, `"PASS-one"`, `"dev"`, `"PASS-two"`).Replace(goldenSource)
	e, diags := LoadSources("dir", []Source{{Name: "spec.hcl", Bytes: []byte(text)}}, LoadOptions{Catalog: c, Env: noEnv})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if !e.HasSecrets() || loadQuietly(t, goldenSource).HasSecrets() {
		t.Error("it is not told whether there are secrets")
	}
	if got := e.Redact()("a PASS-one b PASS-two c"); got != "a (sensitive) b (sensitive) c" {
		t.Errorf("shown is %q", got)
	}
	if got := e.Hide()("PASS-one"); got != "PASS-one" {
		t.Errorf("a key would hold %q: where things are must not change what they are called", got)
	}
}
