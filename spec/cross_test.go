package spec

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func names(cs []*Configuration) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Name()
	}
	return out
}

func TestCross_accountsForEveryCombination(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "text" { use = ["simple", "unaccent"] }
axis "retriever" { use = ["bm25", "exact"] }
axis "embedder" {
  use = "none"
  option "onnx" { model = "m" }
}
axis "depth" { values = [20, 50] }
axis "reranker" {
  use = "none"
  option "cross_encoder" { depth = axis.depth }
}
exclude { when = axis.text == "unaccent" && axis.reranker == "cross_encoder" }
include {
  text      = "unaccent"
  reranker  = "cross_encoder"
}
`)
	c := e.Cross()
	// Of 32, 8 are excluded; a dense retriever without an embedder is
	// impossible in 2·2·2 − 2 of the rest; and of those left with reranker none,
	// every second row differs in an unread depth only.
	want := Accounting{Full: 32, Product: 32, Kept: 12, Excluded: 8, Impossible: 6, Same: 6, Included: 1}
	if diff := cmp.Diff(want, c.Accounting); diff != "" {
		t.Errorf("accounting (-want +got):\n%s", diff)
	}
	if got := len(c.Configurations); got != want.Kept+want.Same+want.Included {
		t.Errorf("%d rows", got)
	}
	if got := len(c.Dropped); got != want.Excluded+want.Impossible {
		t.Errorf("%d dropped", got)
	}
	last := c.Configurations[len(c.Configurations)-1]
	if !last.Included || last.Label("depth") != "20" || last.Label("retriever") != "bm25" {
		t.Errorf("included row = %s", last.Key())
	}
	for _, row := range c.Configurations {
		if s := row.SameAs; s != nil && (s.SameAs != nil || s.Label("text") != row.Label("text") || row.Label("reranker") != "none") {
			t.Errorf("%s is said to be the same as %s", row.Name(), s.Name())
		}
	}
	if got := c.Dropped[0].Reason; !strings.Contains(got, `axis.text == "unaccent"`) && !strings.Contains(got, "no embedder") {
		t.Errorf("reason = %q", got)
	}
}

// Two labels for the same kind and parameters are one option, through legs too.
func TestCross_sameUnderAnotherLabel(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "retriever" {
  option "bm25" {}
  option "again" {
    kind = "bm25"
    k1   = 1.2
  }
  option "other" {
    kind = "bm25"
    k1   = 1.3
  }
  option "rrf" { legs = ["bm25", "other"] }
  option "rrf2" {
    kind = "rrf"
    legs = ["again", "other"]
  }
  option "rrf3" {
    kind = "rrf"
    legs = ["other", "bm25"]
  }
}
`)
	var same []string
	for _, c := range e.Cross().Configurations {
		if c.SameAs != nil {
			same = append(same, c.Name()+" = "+c.SameAs.Name())
		}
	}
	if diff := cmp.Diff([]string{"again = bm25", "rrf2 = rrf"}, same); diff != "" {
		t.Error(diff)
	}
}

// A tune fitted per label makes rows differ that would otherwise be the same.
func TestCross_tunedPerGroupIsNotTheSame(t *testing.T) {
	t.Parallel()
	for per, same := range map[string]int{"": 1, `per = ["run"]`: 0} {
		e := load(t, head+`
axis "run" { values = ["a", "b"] }
fixed "reranker" {
  option "cross_encoder" { depth = length(axis.run) }
}
fixed "retriever" {
  option "bm25" { b = tune.b }
}
tune "b" {
  grid = [0, 0.5]
  `+per+`
}`)
		if got := e.Cross().Accounting.Same; got != same {
			t.Errorf("per %q: %d rows are the same, want %d", per, got, same)
		}
	}
}

func TestCross_oneAtATime(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "chunker" { use = ["whole", "sentence", "paragraph"] }
axis "text" { use = ["simple", "unaccent"] }
axis "retriever" { use = ["bm25", "tsvector"] }
cross {
  mode = "one_at_a_time"
  base = { text = "unaccent" }
}
exclude { when = axis.chunker == "paragraph" && axis.text == "simple" }
`)
	want := []string{
		"whole / unaccent / bm25", "sentence / unaccent / bm25", "paragraph / unaccent / bm25",
		"whole / simple / bm25", "whole / unaccent / tsvector",
	}
	if diff := cmp.Diff(want, names(e.Cross().Configurations)); diff != "" {
		t.Error(diff)
	}
	if a := e.Cross().Accounting; a != (Accounting{Full: 12, Product: 5, Kept: 5}) {
		t.Errorf("accounting = %+v", a)
	}
	if e.Cross().Stages() != nil {
		t.Error("stages of a cross that has none")
	}
}

func TestCross_staged(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "chunker" { use = ["whole", "sentence", "paragraph"] }
axis "text" { use = ["simple", "unaccent"] }
axis "retriever" { use = ["bm25", "tsvector"] }
cross {
  mode  = "staged"
  order = ["retriever"]
}
exclude { when = axis.chunker == "sentence" && axis.retriever == "tsvector" }
`)
	s := e.Cross().Stages()
	if diff := cmp.Diff([]string{"retriever", "chunker", "text"}, s.Axes()); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"whole / simple / bm25", "whole / simple / tsvector"}, names(e.Cross().Configurations)); diff != "" {
		t.Error(diff)
	}
	steps := []struct {
		best map[string]string
		axis string
		rows []string
	}{
		{nil, "retriever", []string{"whole / simple / bm25", "whole / simple / tsvector"}},
		{map[string]string{"retriever": "tsvector"}, "chunker", []string{"whole / simple / tsvector", "paragraph / simple / tsvector"}},
		{map[string]string{"retriever": "bm25"}, "chunker", []string{"whole / simple / bm25", "sentence / simple / bm25", "paragraph / simple / bm25"}},
		{map[string]string{"retriever": "tsvector", "chunker": "paragraph"}, "text", []string{"paragraph / simple / tsvector", "paragraph / unaccent / tsvector"}},
		{map[string]string{"retriever": "tsvector", "chunker": "paragraph", "text": "simple"}, "", []string{}},
	}
	for _, step := range steps {
		axis, rows := s.Next(step.best)
		if axis != step.axis {
			t.Errorf("after %v: axis %q, want %q", step.best, axis, step.axis)
		}
		if diff := cmp.Diff(step.rows, names(rows)); diff != "" {
			t.Errorf("after %v:\n%s", step.best, diff)
		}
	}
}

func TestConfiguration_identity(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "text" { use = ["simple", "unaccent"] }
axis "share" { values = [0.1, 1 / 10 + 0.1, true, "x"] }
fixed "retriever" {
  option "bm25" { b = try(axis.share + 0, 1) }
}`)
	c := e.Cross().Configurations[5]
	if got, want := c.Name(), "unaccent / 0.2"; got != want {
		t.Errorf("name = %q, want %q", got, want)
	}
	if got, want := c.Key(), "chunker=whole,text=unaccent,embedder=none,retriever=bm25,reranker=none,share=0.2"; got != want {
		t.Errorf("key = %q, want %q", got, want)
	}
	if got := c.Labels()["share"]; got != "0.2" {
		t.Errorf("label = %q", got)
	}
	if c.Option("nothing") != nil || c.Label("nothing") != "" {
		t.Error("a factor that does not exist has an option")
	}
	if alone := load(t, head).Cross().Configurations; len(alone) != 1 || alone[0].Name() != "e" {
		t.Errorf("without an axis: %q", names(alone))
	}
}

// The cross agrees with what a plain loop over all combinations finds.
func TestCross_againstBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "sizes")
		a := rapid.IntRange(0, len(sizes)-1).Draw(t, "a")
		b := rapid.IntRange(0, len(sizes)-1).Draw(t, "b")
		modulus := rapid.IntRange(2, 4).Draw(t, "modulus")
		read := rapid.IntRange(0, len(sizes)-1).Draw(t, "read")
		text := head
		for i, n := range sizes {
			text += fmt.Sprintf("axis \"x%d\" { values = range(%d) }\n", i, n)
		}
		text += fmt.Sprintf("exclude { when = (axis.x%d + axis.x%d) %% %d == 1 }\n", a, b, modulus)
		text += fmt.Sprintf("fixed \"reranker\" {\n option \"cross_encoder\" { depth = axis.x%d + 1 }\n}\n", read)
		e, diags := LoadSources("", []Source{{Name: "s", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
		if diags.HasErrors() && !strings.Contains(diags.Error(), sumNothingLeft) {
			t.Fatal(diags)
		}
		var rows []string
		product, excluded, does := 1, 0, map[int]bool{}
		for _, n := range sizes {
			product *= n
		}
		for n := range product {
			x, rest := make([]int, len(sizes)), n
			for i := len(sizes) - 1; i >= 0; i-- {
				x[i], rest = rest%sizes[i], rest/sizes[i]
			}
			if (x[a]+x[b])%modulus == 1 {
				excluded++
				continue
			}
			does[x[read]] = true
			rows = append(rows, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x)), " / "), "[]"))
		}
		c := e.Cross()
		want := Accounting{Full: product, Product: product, Excluded: excluded, Kept: len(does), Same: len(rows) - len(does)}
		if c.Accounting != want {
			t.Fatalf("accounting = %+v, want %+v\n%s", c.Accounting, want, text)
		}
		if got := names(c.Configurations); !slices.Equal(got, rows) {
			t.Fatalf("rows = %q, want %q", got, rows)
		}
	})
}

// A cross that is too large is refused before anything is allocated for it; a
// cheaper mode may still be had.
func TestCross_limits(t *testing.T) {
	t.Parallel()
	axes := ""
	for i := range 17 {
		axes += fmt.Sprintf("axis \"x%d\" { values = range(%d) }\n", i, 8)
	}
	axes += "fixed \"reranker\" {\n  option \"cross_encoder\" { depth = 1 + sum(values({ for k, v in axis : k => v if startswith(k, \"x\") })) }\n}\n"
	for _, c := range []struct {
		mode, axes string
		limit      int
		want       string
		rows       int
	}{
		{"full", axes, 0, "more than 1000000 combinations", 0},
		{"one_at_a_time", axes, 0, "", 1 + 17*7},
		{"staged", axes, 0, "", 8},
		{"one_at_a_time", axes + "axis \"y\" { values = range(8) }\n", 0, "more than", 0},
		{"full", `axis "text" { use = ["simple", "unaccent"] }`, 2, "", 2},
		{"full", `axis "text" { use = ["simple", "unaccent"] }`, 1, "more than 1 combinations", 0},
	} {
		text := head + c.axes + fmt.Sprintf("\ncross { mode = %q }\n", c.mode)
		e, diags := LoadSources("", []Source{{Name: "s", Bytes: []byte(text)}}, LoadOptions{Catalog: newCatalog(), Env: noEnv, MaxProduct: c.limit})
		if c.want == "" {
			if diags.HasErrors() {
				t.Errorf("%s: %v", c.mode, diags)
			}
		} else if !diags.HasErrors() || diags[0].Summary != sumTooLarge || !strings.Contains(diags[0].Detail, c.want) {
			t.Errorf("%s: %v, want %q", c.mode, diags, c.want)
		}
		if got := len(e.Cross().Configurations); got != c.rows {
			t.Errorf("%s: %d rows, want %d", c.mode, got, c.rows)
		}
		seen := map[int]bool{}
		for _, row := range e.Cross().Configurations {
			if seen[row.Ordinal] {
				t.Errorf("%s: ordinal %d twice", c.mode, row.Ordinal)
			}
			seen[row.Ordinal] = true
		}
	}
}

// The stages visit what a greedy search by hand does, from many goroutines.
func TestStages_concurrent(t *testing.T) {
	t.Parallel()
	e := load(t, head+`
axis "a" { values = range(1, 5) }
axis "b" { values = range(1, 5) }
fixed "reranker" {
  option "cross_encoder" { depth = axis.a * axis.b }
}
cross { mode = "staged" }
exclude { when = axis.a * axis.b == 6 }
`)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			best := map[string]string{"a": fmt.Sprint(i + 1)}
			axis, rows := e.Cross().Stages().Next(best)
			want := 4
			if i == 1 || i == 2 {
				want = 3
			}
			if axis != "b" || len(rows) != want {
				t.Errorf("%d: axis %s, %d rows, want %d", i+1, axis, len(rows), want)
			}
		})
	}
	wg.Wait()
}
