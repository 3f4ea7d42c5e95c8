package param_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"raglab/internal/param"
)

type sample struct {
	Size   int               `hcl:"size" default:"350" min:"1" max:"1000" unit:"tokens" doc:"Longest chunk."`
	Share  float64           `hcl:"share" default:"0.5" min:"0" max:"1" doc:"A share."`
	Mode   string            `hcl:"mode" default:"fast" enum:"fast|slow" doc:"A choice."`
	On     bool              `hcl:"on" default:"true" doc:"A switch."`
	Words  []string          `hcl:"words" default:"a,b" doc:"Some words."`
	Path   string            `hcl:"path" path:"true" doc:"A file."`
	Legs   []string          `hcl:"legs" ref:"retriever" default:"" doc:"Other options."`
	Search int               `hcl:"search" at:"search" default:"3" doc:"For searching only."`
	Quiet  bool              `hcl:"quiet" key:"-" default:"false" doc:"Changes nothing."`
	Names  map[string]string `hcl:"names" default:"" doc:"Some names."`
	Parts  []string          `hcl:"parts" default:"" enum:"head|tail" doc:"Some choices."`
}

func TestFields_readTags(t *testing.T) {
	t.Parallel()
	fields, err := param.Fields(new(sample))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]param.Field{}
	var names []string
	for _, f := range fields {
		by[f.Name] = f
		names = append(names, f.Name)
	}
	if want := []string{"size", "share", "mode", "on", "words", "path", "legs", "search", "quiet", "names", "parts"}; !slices.Equal(names, want) {
		t.Errorf("fields %v, want them in the order of the struct: %v", names, want)
	}
	for _, tc := range []struct {
		what      string
		got, want any
	}{
		{"unit", by["size"].Unit, "tokens"},
		{"a field with a default", by["size"].Required, false},
		{"a field without one", by["path"].Required, true},
		{"a path in the key", by["path"].InKey, false},
		{"a value that changes nothing in the key", by["quiet"].InKey, false},
		{"another in the key", by["share"].InKey, true},
		{"reference", by["legs"].Ref, "retriever"},
		{"search", by["search"].At, "search"},
		{"type of a whole number", by["size"].TypeName(), "whole number"},
		{"type of a list", by["words"].TypeName(), "list of strings"},
		{"type of a map", by["names"].TypeName(), "map of strings"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
}

// A parameter that came later leaves keys as they were, until it is set.
func TestKeyed_onlyWhereSet(t *testing.T) {
	t.Parallel()
	type grown struct {
		Old   int    `hcl:"old" default:"3" doc:"Was there."`
		Quiet string `hcl:"quiet" default:"a" key:"-" doc:"Changes nothing."`
		New   string `hcl:"new" default:"single" key:"set" doc:"Came later."`
	}
	for _, tc := range []struct {
		of   grown
		want []string
	}{
		{grown{3, "a", "single"}, []string{"old"}},
		{grown{3, "b", "half"}, []string{"old", "new"}},
		{grown{4, "a", ""}, []string{"old", "new"}},
	} {
		var keyed []string
		for _, f := range param.MustFields(&tc.of) {
			if f.Keyed(&tc.of) {
				keyed = append(keyed, f.Name)
			}
		}
		if !slices.Equal(keyed, tc.want) {
			t.Errorf("%+v: %v in the key, want %v", tc.of, keyed, tc.want)
		}
	}
	type required struct {
		New string `hcl:"new" key:"set" doc:"Has no default."`
	}
	if _, err := param.Fields(new(required)); err == nil {
		t.Error("a field without a default is in the key only where it is set")
	}
}

func TestSetDefaults_fillsAllButRequired(t *testing.T) {
	t.Parallel()
	var s sample
	param.SetDefaults(&s)
	if s.Size != 350 || s.Share != 0.5 || s.Mode != "fast" || !s.On || !slices.Equal(s.Words, []string{"a", "b"}) || s.Path != "" || s.Legs != nil {
		t.Errorf("defaults %+v", s)
	}
}

func TestCheck_boundsAndChoices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		change     func(*sample)
	}{
		{"as it is", "", func(*sample) {}},
		{"too small", "size: 0 is less than 1", func(s *sample) { s.Size = 0 }},
		{"too large", "size: 1001 is more than 1000", func(s *sample) { s.Size = 1001 }},
		{"not a number", "share: is not a number", func(s *sample) { s.Share = math.NaN() }},
		{"not a choice", `mode: "quick" is not one of fast, slow`, func(s *sample) { s.Mode = "quick" }},
		{"choices", "", func(s *sample) { s.Parts = []string{"head", "tail", "head"} }},
		{"not all choices", `parts: "foot" is not one of head, tail`, func(s *sample) { s.Parts = []string{"head", "foot"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var s sample
			param.SetDefaults(&s)
			tc.change(&s)
			got := ""
			for _, f := range param.MustFields(&s) {
				if err := f.Check(&s); err != nil {
					var e *param.Error
					if !errors.As(err, &e) || e.Attribute != f.Name {
						t.Errorf("error %v does not name the attribute %s", err, f.Name)
					}
					got = err.Error()
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFields_refuseBrokenStructs(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]any{
		"not a pointer": sample{},
		"no struct":     new(int),
		"no name":       new(struct{ A int }),
		"no doc": new(struct {
			A int `hcl:"a" default:"1"`
		}),
		"a bad default": new(struct {
			A int `hcl:"a" default:"x" doc:"A."`
		}),
		"a bad bound": new(struct {
			A int `hcl:"a" default:"1" min:"x" doc:"A."`
		}),
		"a strange type": new(struct {
			A complex128 `hcl:"a" default:"1" doc:"A."`
		}),
		"a map of others": new(struct {
			A map[string]int `hcl:"a" default:"" doc:"A."`
		}),
	} {
		if _, err := param.Fields(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "hcl or doc tag") {
			t.Errorf("MustFields: %v", r)
		}
	}()
	param.MustFields(new(struct{ A int }))
}

func TestLines_isAListOrAText(t *testing.T) {
	t.Parallel()
	type titles struct {
		List []string `hcl:"list" default:"" lines:"true" doc:"Titles."`
	}
	f := param.MustFields(new(titles))[0]
	if !f.Lines || f.TypeName() != "list of strings, or a text with one a line" {
		t.Errorf("%+v, %s", f, f.TypeName())
	}
	got := param.Lines("\ufeff# Rivers\n\n  Дніпро \r\n#hash\n#\nДністер")
	if want := []string{"Дніпро", "#hash", "Дністер"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, expected %q", got, want)
	}
	if _, err := param.Fields(new(struct {
		A string `hcl:"a" default:"" lines:"true" doc:"A."`
	})); err == nil {
		t.Error("lines of a single string are no error")
	}
}
