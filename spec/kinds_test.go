package spec

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// everything has a parameter of every type.
type everything struct {
	Text    string            `hcl:"text" doc:"A text."`
	Choice  string            `hcl:"choice" enum:"a|b" doc:"A choice."`
	Place   string            `hcl:"place" path:"true" doc:"A path."`
	Places  []string          `hcl:"places" path:"true" default:"x,y" doc:"Paths."`
	Flag    bool              `hcl:"flag" doc:"A flag."`
	Whole   int               `hcl:"whole" min:"2" doc:"A whole number."`
	Any     int               `hcl:"any" doc:"Any whole number."`
	Share   float64           `hcl:"share" max:"1" default:"0.5" doc:"A share."`
	Words   []string          `hcl:"words" default:"p,q" doc:"Words." example:"[\"p\"]"`
	Numbers []float64         `hcl:"numbers" doc:"Numbers."`
	Counts  []int             `hcl:"counts" default:"1,2" doc:"Counts."`
	Map     map[string]string `hcl:"map" doc:"A map."`
	One     string            `hcl:"one" ref:"text" doc:"An option of another factor."`
	Many    []string          `hcl:"many" ref:"text" doc:"Options of another factor."`
}

func everyKind() testCatalog {
	c := newCatalog()
	c.kinds["chunker"] = append(c.kinds["chunker"], kind[everything]("everything"))
	return c
}

func TestExample_everyType(t *testing.T) {
	t.Parallel()
	c := everyKind()
	kinds := c.Kinds("chunker")
	got := Example(c, "chunker", kinds[len(kinds)-1])
	want := `fixed "chunker" {
  option "everything" {
    text    = "…"
    choice  = "a"
    place   = "path/to/place"
    flag    = true
    whole   = 2
    any     = 1
    words   = ["p"]
    numbers = []
    map     = {}
    one     = "simple"
    many    = ["simple", "unaccent"]
  }
}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, diags := hclsyntax.ParseConfig([]byte(got), "example", hcl.InitialPos); diags.HasErrors() {
		t.Error(diags)
	}
	text := docs(t, c, "chunker", "everything")
	for _, part := range []string{"at most 1; default 0.5", "options of text; required", "list of paths; default x,y", "a | b; required", "list of whole numbers"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestParams_everyType(t *testing.T) {
	t.Parallel()
	text := head + `
axis "text" { use = ["simple", "unaccent"] }
fixed "chunker" {
  option "everything" {
    text    = "t"
    choice  = "b"
    place   = "p"
    flag    = !false
    whole   = 1 + 1
    any     = -5
    numbers = toset([0.5, 2])
    counts  = [for i in range(3) : i * i]
    map     = { a = "x", b = 1, c = true }
    one     = axis.text
    many    = ["unaccent", "simple"]
  }
}`
	e, diags := LoadSources("dir", []Source{{Name: "s", Bytes: []byte(text)}}, LoadOptions{Catalog: everyKind(), Env: noEnv})
	fatal(t, e, diags)
	c := e.Cross().Configurations[1]
	o := c.Option("chunker")
	want := everything{
		Text: "t", Choice: "b", Place: filepath.Join("dir", "p"), Places: []string{filepath.Join("dir", "x"), filepath.Join("dir", "y")},
		Flag: true, Whole: 2, Any: -5, Share: 0.5, Words: []string{"p", "q"}, Numbers: []float64{0.5, 2}, Counts: []int{0, 1, 4},
		Map: map[string]string{"a": "x", "b": "1", "c": "true"}, One: "unaccent", Many: []string{"unaccent", "simple"},
	}
	if diff := cmp.Diff(want, params[everything](t, e, o, c, nil)); diff != "" {
		t.Error(diff)
	}
	var refs []string
	for _, r := range e.Refs(o, c) {
		refs = append(refs, r.Factor+" "+r.Label)
	}
	if diff := cmp.Diff([]string{"text unaccent", "text unaccent", "text simple"}, refs); diff != "" {
		t.Error(diff)
	}
}

// strictCatalog has a factor without a default and defaults that do not exist.
type strictCatalog struct{ testCatalog }

func (c strictCatalog) Factors() []FactorInfo {
	return []FactorInfo{{Name: "chunker"}, {Name: "text", Default: "lemma"}}
}

func TestLoad_factorWithoutDefault(t *testing.T) {
	t.Parallel()
	_, diags := LoadSources("", []Source{{Name: "s", Bytes: []byte(head)}}, LoadOptions{Catalog: strictCatalog{newCatalog()}, Env: noEnv})
	var got []string
	for _, d := range diags {
		got = append(got, d.Summary+": "+d.Detail)
	}
	want := []string{
		`Missing attribute: Text "lemma" needs dictionary (string: Language of the dictionary).`,
		`Missing block: The factor chunker has no default: add fixed "chunker" { … } or axis "chunker" { … }.`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
