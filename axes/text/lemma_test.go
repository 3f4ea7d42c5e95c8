package text_test

import (
	"context"
	"os"
	"testing"

	"raglab/axes"
	"raglab/axes/text"
	"raglab/internal/assets/assetstest"
)

// assetOf returns an environment's function that gets assets. Where an asset
// cannot be had the test is skipped, in continuous integration it fails: a test
// that never runs proves nothing.
func assetOf(tb testing.TB) func(context.Context, string) (string, error) {
	return func(_ context.Context, name string) (string, error) {
		tb.Cleanup(func() {
			if tb.Skipped() && os.Getenv("CI") != "" {
				tb.Errorf("skipped for want of %s", name)
			}
		})
		return assetstest.Dir(tb, name), nil
	}
}

// published makes an analyzer over one of the dictionaries that raglab gets.
func published(tb testing.TB, dictionary string, set func(*text.LemmaParams)) text.Analyzer {
	tb.Helper()
	k := kind(tb, "lemma")
	p := k.Params().(*text.LemmaParams)
	p.Dictionary = dictionary
	if set != nil {
		set(p)
	}
	a, err := k.New(p, axes.Env{Language: dictionary, Asset: assetOf(tb)})
	if err == nil {
		err = text.Open(tb.Context(), a)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return a
}
