package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

func evaluate(t *testing.T, w *world, text string) string {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(text), "test", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	v, diags := expr.Value(&hcl.EvalContext{Functions: functions(w)})
	if diags.HasErrors() {
		return "error: " + diags[0].Detail
	}
	v, _ = v.UnmarkDeep()
	b, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	w := newWorld(t.TempDir(), noEnv)
	for text, want := range map[string]string{
		`abs(-1)`: "1", `basename("a/b.txt")`: `"b.txt"`, `can(1 + "x")`: "false", `ceil(1.2)`: "2", `chomp("a\n")`: `"a"`,
		`chunklist([1, 2, 3], 2)`: "[[1,2],[3]]", `coalesce(null, "a")`: `"a"`, `coalescelist([], [1])`: "[1]",
		`compact(["a", ""])`: `["a"]`, `concat([1], [2])`: "[1,2]", `contains(["a"], "a")`: "true",
		`csvdecode("a,b\n1,2")`: `[{"a":"1","b":"2"}]`, `dirname("a/b")`: `"a"`, `distinct([1, 1])`: "[1]",
		`element([1, 2], 3)`: "2", `endswith("abc", "bc")`: "true", `startswith("abc", "bc")`: "false",
		`flatten([[1], [2, [3]]])`: "[1,2,3]", `floor(-1.5)`: "-2", `format("%03d-%s", 7, "x")`: `"007-x"`,
		`formatlist("%s!", ["a", "b"])`: `["a!","b!"]`, `indent(2, "a\nb")`: `"a\n  b"`, `index([5, 6], 1)`: "6", `int(1.9)`: "1",
		`join("-", ["a", "b"])`: `"a-b"`, `jsondecode("{\"a\":[1]}").a[0]`: "1", `jsonencode({ a = 1 })`: `"{\"a\":1}"`,
		`keys({ b = 1, a = 2 })`: `["a","b"]`, `length("їжак")`: "4", `length([1, 2])`: "2", `length({})`: "0",
		`log(8, 2)`: "3", `lookup({ a = 1 }, "b", 2)`: "2", `lower("ЇЖАК")`: `"їжак"`, `max(1, 3, 2)`: "3",
		`merge({ a = 1 }, { b = 2 })`: `{"a":1,"b":2}`, `min(3, 1)`: "1", `parseint("ff", 16)`: "255", `pow(2, 10)`: "1024",
		`range(3)`: "[0,1,2]", `regex("[a-z]+", "12ab")`: `"ab"`, `regexall("[0-9]", "1a2")`: `["1","2"]`,
		`regexreplace("a1", "[0-9]", "x")`: `"ax"`, `replace("a.b", ".", "-")`: `"a-b"`, `reverse([1, 2])`: "[2,1]",
		`setintersection(["a", "b"], ["b"])`: `["b"]`, `setproduct([1], ["a", "b"])`: `[[1,"a"],[1,"b"]]`,
		`setsubtract(["a", "b"], ["b"])`: `["a"]`, `setunion(["a"], ["b"])`: `["a","b"]`, `signum(-3)`: "-1",
		`slice([1, 2, 3], 1, 2)`: "[2]", `sort(["b", "a"])`: `["a","b"]`, `split(",", "a,b")`: `["a","b"]`, `strrev("ab")`: `"ba"`,
		`substr("abcd", 1, 2)`: `"bc"`, `sum([1, 2.5])`: "3.5", `sum([])`: "0", `title("ab cd")`: `"Ab Cd"`, `tobool("true")`: "true",
		`tolist(toset(["b", "a", "b"]))`: `["a","b"]`, `tomap({ a = 1 })`: `{"a":1}`, `tonumber("1.5")`: "1.5", `tostring(5)`: `"5"`,
		`trim("-a-", "-")`: `"a"`, `trimprefix("ab", "a")`: `"b"`, `trimspace(" a ")`: `"a"`, `trimsuffix("ab", "b")`: `"a"`,
		`try(file("absent"), "none")`: `"none"`, `upper("ї")`: `"Ї"`, `values({ b = 1, a = 2 })`: "[2,1]",
		`zipmap(["a"], [1])`: `{"a":1}`, `env("ABSENT", "d")`: `"d"`, `fileexists("absent")`: "false",
		`sum([1, null])`:              `error: Invalid value for "numbers" parameter: a null has no sum.`,
		`length(5)`:                   `error: Invalid value for "value" parameter: a number has no length.`,
		`env("A", "b", "c")`:          `error: Call to function "env" failed: takes a name and at most one default.`,
		`indent(1e6, "a")`:            `error: Invalid value for "spaces" parameter: more than 1000 spaces are not supported.`,
		`setproduct(5)`:               `error: Call to function "setproduct" failed: at least two arguments are required.`,
		`fileset(".", "[")`:           `error: Call to function "fileset" failed: "[" is not a pattern: syntax error in pattern.`,
		`[for i in range(11) : i][7]`: "7",
	} {
		if got := evaluate(t, w, text); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestFunctions_allAreTested(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("world_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Functions() {
		if !strings.Contains(string(src), "`"+name+"(") && !strings.Contains(string(src), "("+name+"(") {
			t.Errorf("%s is not called in any test", name)
		}
	}
}

func TestReads_everythingReadIsListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "uk\n", "docs/x.md": "", "docs/y/z.md": "", "docs/y.txt": ""} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(dir, func(name string) (string, bool) { return "secret value", name == "TOKEN" })
	for text, want := range map[string]string{
		`file("a.txt")`:              `"uk\n"`,
		`file("./a.txt")`:            `"uk\n"`,
		`fileexists("a.txt")`:        "true",
		`fileexists("docs")`:         "false",
		`fileset("docs", "*.md")`:    `["x.md"]`,
		`fileset("docs", "**/*.md")`: `["x.md","y/z.md"]`,
		`fileset("docs", "y/**")`:    `["y/z.md"]`,
		`fileset(".", "*.go")`:       `[]`,
		`env("TOKEN")`:               `"secret value"`,
		`try(env("ABSENT"), "no")`:   `"no"`,
		`try(file("absent"), "no")`:  `"no"`,
		`can(file("docs"))`:          "false",
	} {
		if got := evaluate(t, w, text); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
	var got []string
	for _, r := range w.list() {
		found := "-"
		if r.Digest != "" {
			found = "+"
		}
		got = append(got, r.Kind+" "+r.Name+" "+found)
	}
	want := []string{
		"env ABSENT -", "env TOKEN +", "file ./a.txt +", "file a.txt +", "file absent -", "file docs -",
		"fileexists a.txt +", "fileexists docs -", "fileset ./*.go +", "fileset docs/**/*.md +", "fileset docs/*.md +", "fileset docs/y/** +",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	i := slices.IndexFunc(w.list(), func(r Read) bool { return r.Name == "a.txt" })
	if r := w.list()[i]; r.Digest != digest([]byte("uk\n")) || r.Path != filepath.Join(dir, "a.txt") {
		t.Errorf("read = %+v", r)
	}
}

// A file is read once, so that all expressions see one state of it.
func TestReads_oneStateOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	w := newWorld(dir, noEnv)
	for _, text := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := evaluate(t, w, `file("a")`); got != `"first"` {
			t.Errorf("file = %s", got)
		}
	}
}

func TestFile_refusesWhatIsNoText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(dir, noEnv)
	if err := os.WriteFile(filepath.Join(dir, "latin1"), []byte("caf\xe9"), 0o600); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(maxFileSize + 1); err != nil {
		t.Fatal(err)
	}
	if err := big.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"latin1": "not valid UTF-8", "big": "more than 16 MiB", "/dev/zero": "not a file"} {
		if got := evaluate(t, w, `file("`+name+`")`); !strings.Contains(got, want) {
			t.Errorf("file(%q) = %s, want an error with %q", name, got, want)
		}
	}
}

func TestLabelOf(t *testing.T) {
	t.Parallel()
	tenth := cty.NumberIntVal(1).Divide(cty.NumberIntVal(10))
	for _, c := range []struct {
		value cty.Value
		want  string
	}{
		{tenth, "0.1"},
		{tenth.Add(tenth).Add(tenth), "0.3"},
		{cty.NumberIntVal(3).Divide(cty.NumberIntVal(10)), "0.3"},
		{cty.NumberFloatVal(1e-9), "1e-09"},
		{cty.NumberIntVal(1_000_000), "1000000"},
		{cty.NumberFloatVal(1e30), "1e+30"},
		{cty.Zero, "0"},
		{cty.True, "true"},
		{cty.StringVal("x"), "x"},
	} {
		if got := labelOf(c.value); got != c.want {
			t.Errorf("label of %#v = %q, want %q", c.value, got, c.want)
		}
	}
}
