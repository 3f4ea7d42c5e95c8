package assets_test

import (
	"cmp"
	"slices"
	"testing"

	"raglab/internal/assets"
)

func TestSimplemma_isKnown(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"it", "tr", "uk"} {
		a, ok := assets.Find(assets.SimplemmaName(language))
		if !ok {
			t.Errorf("no dictionary for %s", language)
			continue
		}
		for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"} {
			b, ok := a.Build(platform)
			if !ok || len(b.Files) != 1 || b.Files[0].Name != assets.SimplemmaFile(language) || len(b.Files[0].SHA256) != 64 {
				t.Errorf("%s on %s: %+v, %v", a.Name, platform, b, ok)
			}
		}
	}
	if byName := func(a, b assets.Asset) int { return cmp.Compare(a.Name, b.Name) }; !slices.IsSortedFunc(assets.Known(), byName) {
		t.Error("the known assets are not sorted by name")
	}
}
