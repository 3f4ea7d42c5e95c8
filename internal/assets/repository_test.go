package assets

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHuggingFaceModel_nameSaysAll(t *testing.T) {
	t.Parallel()
	a := HuggingFaceModel("org/Reranker-base", map[string]string{"model.onnx": "onnx/model.onnx", "tokenizer.json": "tokenizer.json", "pooling.json": "1_Pooling/config.json"})
	if want := "hf:org/Reranker-base:onnx/model.onnx,pooling.json=1_Pooling/config.json,tokenizer.json"; a.Name != want {
		t.Errorf("name %q, expected %q", a.Name, want)
	}
	got, ok := Find(a.Name)
	if diff := cmp.Diff(a, got); !ok || diff != "" {
		t.Error(diff)
	}
	if a.Env() != "RAGLAB_ASSET_HF_ORG_RERANKER_BASE" || a.Title() != "hf:org/Reranker-base" || a.Wants() != "main" || !a.Pinnable() {
		t.Errorf("%s, %s, %s, %v", a.Env(), a.Title(), a.Wants(), a.Pinnable())
	}
	if _, err := a.folder("linux/amd64"); err == nil || !errors.As(err, new(*UnpinnedError)) {
		t.Errorf("folder of an unpinned asset: %v", err)
	}
}

func TestHuggingFaceModel_commitIsPinned(t *testing.T) {
	t.Parallel()
	a := HuggingFaceModel("org/m@"+testCommit, map[string]string{"model.onnx": "onnx/model.onnx"})
	folder, err := a.folder("linux/amd64")
	if err != nil || !strings.HasPrefix(folder, "hf--org--m--") || !strings.HasSuffix(folder, "/"+testCommit) || a.Pinnable() {
		t.Errorf("folder %q, %v", folder, err)
	}
	other := HuggingFaceModel("org/m@"+testCommit, map[string]string{"model.onnx": "onnx/other.onnx"})
	if f, _ := other.folder("linux/amd64"); f == folder {
		t.Error("two lists of files share a folder")
	}
}

func TestFind_refusesWrongRepositoryNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"hf:", "hf:org/m", "hf:org/m:", "hf:../m:f", "hf:org/m:../f", "hf:org/m:b,a", "hf:org/m:a=x/a", "hf:o/m/x:f", "hf:org/m:/f", `hf:org/m:a\b`,
	} {
		if a, ok := Find(name); ok {
			t.Errorf("%q is %+v", name, a)
		}
	}
}

func TestFind_repositoryNamesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		repository := rapid.StringMatching(`([a-zA-Z0-9][a-z0-9_-]{0,4}/)?[A-Z0-9][a-z0-9_-]{0,5}(@[a-z0-9][a-z0-9./]{0,3}[a-z0-9])?`).Filter(func(s string) bool { return CheckRepository(s) == nil }).Draw(t, "repository")
		files := rapid.MapOfN(rapid.StringMatching(`[a-z][a-z.]{0,5}[a-z]`), rapid.StringMatching(`[a-z]{1,3}(/[a-z.]{0,4}[a-z]){0,2}`), 1, 4).Draw(t, "files")
		a := HuggingFaceModel(repository, files)
		got, ok := Find(a.Name)
		if diff := cmp.Diff(a, got); !ok || diff != "" {
			t.Fatal(a.Name, ok, diff)
		}
	})
}

func TestStore_unpinnedAssetThatTheUserNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), []byte("weights"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := HuggingFaceModel("org/m", map[string]string{"model.onnx": "onnx/model.onnx"})
	s := testStore(t, "RAGLAB_ASSET_HF_ORG_M="+dir)
	p, err := s.Fetch(t.Context(), a, nil)
	if err != nil || !strings.HasSuffix(p.Dir, versionAsNamed) || p.Manifest.Files[0].Size != 7 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestStore_resolveTakesTheLocalCacheOffline(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	at := filepath.Join(home, "hub", "models--org--m")
	content := []byte("weights")
	err := errors.Join(os.MkdirAll(filepath.Join(at, "refs"), 0o777), os.MkdirAll(filepath.Join(at, "snapshots", testCommit), 0o777),
		os.WriteFile(filepath.Join(at, "refs", "main"), []byte(testCommit), 0o666), os.WriteFile(filepath.Join(at, "snapshots", testCommit, "model.onnx"), content, 0o666))
	if err != nil {
		t.Fatal(err)
	}
	a := HuggingFaceModel("org/m", map[string]string{"model.onnx": "model.onnx"})
	s := testStore(t, "HF_HOME="+home, "HF_HUB_OFFLINE=1")
	if _, err := s.Pin(t.Context(), a, "main"); err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
		t.Errorf("Pin offline: %v", err)
	}
	pin, err := s.Resolve(t.Context(), a)
	if err != nil || pin.Commit != testCommit {
		t.Fatalf("%+v, %v", pin, err)
	}
	if a, err = a.WithPin(pin); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Fetch(t.Context(), a, nil); err != nil || p.Manifest.Files[0].SHA256 != sha256Hex(content) {
		t.Errorf("%+v, %v", p, err)
	}
}
