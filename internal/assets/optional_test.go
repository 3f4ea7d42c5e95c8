package assets

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"raglab/internal/web"
)

// TestStore_optionalFiles: a file that the repository does not have is no part of an
// asset, and is not asked for again; one that could not be asked for is missed.
func TestStore_optionalFiles(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	var requests, broken atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch {
		case strings.HasSuffix(r.URL.Path, "/model.onnx"):
			w.Write([]byte("graph"))
		case broken.Load() == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	a := HuggingFaceModel("owner/name@"+commit, map[string]string{"model.onnx": "onnx/model.onnx", "config.json": "config.json?"})
	if again, ok := Find(a.Name); !ok || again.Name != a.Name || !again.Builds[0].Files[0].Optional || again.Builds[0].Files[1].Optional {
		t.Fatalf("the name %s gives %+v", a.Name, again)
	}
	broken.Store(1)
	store := testStore(t, "HF_ENDPOINT="+s.URL)
	if _, err := store.Fetch(t.Context(), a, nil); !web.HasStatus(err, http.StatusServiceUnavailable) && (err == nil || !strings.Contains(err.Error(), "503")) {
		t.Errorf("error %v while the server is broken", err)
	}
	broken.Store(0)
	paths, err := store.Fetch(t.Context(), a, nil)
	if err != nil || len(paths.Manifest.Files) != 1 || len(paths.Manifest.Absent) != 1 {
		t.Fatalf("%+v, %v", paths, err)
	}
	before := requests.Load()
	if _, ok, err := store.Lookup(a); !ok || err != nil {
		t.Errorf("the asset is not found again: %v", err)
	}
	if _, err := store.Fetch(t.Context(), a, nil); err != nil || requests.Load() != before {
		t.Errorf("%d more requests, %v", requests.Load()-before, err)
	}
	if _, err := a.WithPin(Pin{Commit: commit, Files: map[string]PinnedFile{"config.json": {}}}); err == nil {
		t.Error("a pin without a file that is not optional is taken")
	}
	pinned, err := a.WithPin(Pin{Commit: commit, Files: map[string]PinnedFile{"model.onnx": {}}})
	if err != nil || len(pinned.Builds[0].Files) != 1 {
		t.Errorf("%+v, %v", pinned, err)
	}
}
