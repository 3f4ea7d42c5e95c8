package spec

import (
	"slices"
	"strings"
	"testing"
)

const abstaining = `
experiment "e" {}
corpus "beir" { path = "scifact" }
axis "retriever" {
  option "bm25" {}
  option "rrf" { legs = ["bm25", "words"] }
  leg "words" { kind = "bm25" }
}
fixed "chunker" { use = "whole" }
abstain "score" {
  leg   = "bm25"
  where = { chunker = "whole" }
}
abstain "score" { leg = "words" }
abstain "margin" {
  where        = { retriever = "bm25" }
  thresholds   = [for i in range(3) : i / 2]
  floors       = [0.5]
  min_answered = 1
}
`

func TestLoad_abstain(t *testing.T) {
	t.Parallel()
	e := load(t, abstaining)
	if len(e.Abstains) != 3 {
		t.Fatalf("%d abstain blocks", len(e.Abstains))
	}
	plain, set := e.Abstains[0], e.Abstains[2]
	if plain.Signal != SignalScore || plain.Leg != "bm25" || len(plain.Thresholds) != 0 || plain.MinAnswered != 5 || !slices.Equal(plain.Floors, []float64{0.7, 0.8, 0.9}) {
		t.Errorf("got %+v", plain)
	}
	if set.Signal != SignalMargin || set.Leg != "" || !slices.Equal(set.Thresholds, []float64{0, 0.5, 1}) || set.MinAnswered != 1 {
		t.Errorf("got %+v", set)
	}
}

func TestSignalOf_theLegsOfARow(t *testing.T) {
	t.Parallel()
	e := load(t, abstaining)
	want := [][]string{{"bm25", "bm25"}, {"", "words"}, {"own", ""}} // block × row
	for i, a := range e.Abstains {
		for j, c := range e.Cross().Configurations {
			got := ""
			switch leg, ok := e.SignalOf(a, c); {
			case ok && leg == nil:
				got = "own"
			case ok:
				got = leg.Label
			}
			if got != want[i][j] {
				t.Errorf("block %d, row %s: %q, want %q", i, c.Name(), got, want[i][j])
			}
		}
	}
}

// What an abstain block says is part of what a spec means; without one nothing is.
func TestDigest_abstain(t *testing.T) {
	t.Parallel()
	without := load(t, abstaining[:strings.Index(abstaining, "abstain")]).Digest
	seen := map[string]bool{without: true}
	for _, text := range []string{
		abstaining,
		strings.Replace(abstaining, "floors       = [0.5]", "floors       = [0.6]", 1),
		strings.Replace(abstaining, "i / 2", "i / 4", 1),
		strings.Replace(abstaining, `leg = "words"`, `leg = "rrf"`, 1),
	} {
		d := load(t, text).Digest
		if seen[d] {
			t.Errorf("a digest stands for two specs:\n%s", text)
		}
		seen[d] = true
	}
}

func TestLoad_relevance(t *testing.T) {
	t.Parallel()
	const head = "experiment \"e\" {}\ncorpus \"beir\" { path = \"scifact\" }\n"
	for _, tc := range []struct {
		golden   string
		coverage float64
		within   string
	}{
		{"", 1, ""},
		{"golden {}", 1, ""},
		{"golden {\n  relevance = \"span\"\n  coverage = 0.5\n}", 0.5, ""},
		{`golden { within = "doc_id" }`, 1, "doc_id"},
	} {
		if g := load(t, head+tc.golden).Golden; g.Coverage != tc.coverage || g.Within != tc.within {
			t.Errorf("%q: %+v", tc.golden, g)
		}
	}
}
