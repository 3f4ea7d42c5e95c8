package workspace_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"raglab/engine/workspace"
	"raglab/golden"
	"raglab/golden/generate"
	"raglab/internal/assets/assetstest"
	"raglab/internal/testdata"
)

// linkAssets gives a cache the asset that stands in a folder of the user's own.
func linkAssets(t *testing.T, cache, asset string) {
	t.Helper()
	into := filepath.Join(cache, "assets")
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(asset, filepath.Join(into, filepath.Base(asset))); err != nil {
		t.Skip("SKIP-ASSETS: no symbolic links here:", err)
	}
}

// All four styles on the quickstart corpus, with the real dictionary, pass the
// check that questions must pass.
func TestGenerate_quickstart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	linkAssets(t, dir, assetstest.Dir(t, "simplemma-uk"))
	w := open(t, dir)
	exp, err := workspace.BareCorpus(t.Context(), filepath.Join(testdata.Root(t), "experiments", "quickstart"), "uk", nil)
	if err != nil {
		t.Fatal(err)
	}
	generated := func() *generate.Result {
		c, err := w.Corpus(t.Context(), exp, false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		r, err := c.Generate(t.Context(), "uk", generate.Options{Count: 12, Seed: 1, Source: "quickstart", Split: golden.Split{By: "hash", Dev: 0.5}})
		if err != nil {
			t.Fatal(err)
		}
		docs, err := c.Documents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		words, err := w.Words(t.Context(), exp, "uk", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range golden.Inspect(r.Set, workspace.CheckedAgainst(docs, exp.Golden), nil, words, golden.DefaultLimits()).Findings {
			if !f.Warning {
				t.Errorf("%s", f.Problem)
			}
		}
		return r
	}
	r := generated()
	if again := generated(); !reflect.DeepEqual(r, again) {
		t.Error("the same corpus and seed gave other questions")
	}
	counts := map[string]int{}
	for _, tag := range golden.Count(r.Set, nil).Tags {
		if strings.HasPrefix(tag.Tag, "kind:") {
			counts[tag.Tag] = tag.Total()
		}
	}
	if want := map[string]int{"kind:lead": 12, "kind:section": 12, "kind:factoid": 12, "kind:lemma": 12}; !reflect.DeepEqual(counts, want) {
		t.Errorf("%v", counts)
	}
	if !slices.ContainsFunc(r.Dropped, func(d generate.Dropped) bool { return d.Reason == generate.LeaksTitle && d.Doc == "rivers/dnister" }) {
		t.Error("no sentence about the Dniester leaks its name")
	}
}
