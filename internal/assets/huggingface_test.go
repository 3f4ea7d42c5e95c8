package assets

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/internal/testdata"
)

const (
	testRepo   = "wzshiming/test"
	testCommit = "bcf51b2ec6fb5bc8215f4b365a0e48532e26abb8"
)

// exchange is one recorded request to the hub and its answer.
type exchange struct {
	Method, Path string
	Status       int
	Headers      map[string]string `json:"response_headers"`
	Body         string            `json:"response_body"`
}

func recorded(t *testing.T, file string) []exchange {
	t.Helper()
	data, err := os.ReadFile(testdata.Shared(t, "data/huggingface-hub/"+file))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Exchanges []exchange }
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r.Exchanges
}

// hubServer answers as the recorded hub did. The content of the recorded LFS file
// is not known, so its digest is replaced by that of the content given, which a
// server of another host name serves. It checks who gets the token.
func hubServer(t *testing.T, lfs []byte) *httptest.Server {
	t.Helper()
	exchanges := recorded(t, "download.json")
	cdn := newFileServer(t, lfs)
	serve := cdn.Config.Handler
	cdn.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token went to the content server")
		}
		if r.URL.RawQuery != "signature=SECRET" {
			t.Errorf("query %q", r.URL.RawQuery)
		}
		serve.ServeHTTP(w, r)
	})
	recordedSum := "cd44947308b4b22228767cab8addd523d1de22abd9b23a10808e5fc295202e4f"
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer hf_SECRET" {
			t.Errorf("authorization %q", got)
		}
		for _, e := range exchanges {
			if e.Method != r.Method || e.Path != r.URL.RequestURI() {
				continue
			}
			for k, v := range e.Headers {
				switch k {
				case "Content-Length":
					continue
				case "Location":
					v = cdn.URL + "/xet-bridge/file?signature=SECRET"
				case "X-Linked-Size":
					v = strconv.Itoa(len(lfs))
				}
				w.Header().Set(k, strings.ReplaceAll(v, recordedSum, sha256Hex(lfs)))
			}
			w.WriteHeader(e.Status)
			body := strings.ReplaceAll(e.Body, recordedSum, sha256Hex(lfs))
			w.Write([]byte(strings.ReplaceAll(body, "1048576", strconv.Itoa(len(lfs)))))
			return
		}
		t.Errorf("a request that the recording does not have: %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	}))
	t.Cleanup(hub.Close)
	return hub
}

func testRepository() Asset {
	return Repository("test-model", testRepo, "MIT", "a test", map[string]string{
		"big.bin": "regression/ref-lfs.bin", "small.txt": "regression/ref-regular.txt",
	})
}

func TestHuggingFace_pinAndFetch(t *testing.T) {
	t.Parallel()
	lfs := randomBytes(200_000)
	server := hubServer(t, lfs)
	s := testStore(t, "HF_ENDPOINT="+server.URL+"/", "HF_TOKEN=hf_SECRET")
	if _, _, err := s.Lookup(testRepository()); err == nil || !strings.Contains(err.Error(), "run raglab lock") {
		t.Errorf("Lookup of an unpinned asset: %v", err)
	}
	pin, err := s.Pin(t.Context(), testRepository(), "main")
	if err != nil {
		t.Fatal(err)
	}
	want := Pin{Commit: testCommit, Files: map[string]PinnedFile{
		"big.bin":   {Size: 200_000, SHA256: sha256Hex(lfs), Blob: "c9176dbf0ba8556845af9072b3dd39d06764e8ba"},
		"small.txt": {Size: 186, Blob: "e5698f9a721147f2090edf7da4892e23da00d5be"},
	}}
	if diff := cmp.Diff(want, pin); diff != "" {
		t.Error(diff)
	}
	a, err := testRepository().WithPin(pin)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Fetch(t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := blobID(p.File("small.txt")); err != nil || id != pin.Files["small.txt"].Blob {
		t.Errorf("small.txt has blob id %s, %v", id, err)
	}
	for _, f := range p.Manifest.Files {
		requireNoSecret(t, f.Origin)
	}
	// Without a lock's digests the hub's own are checked.
	pin.Files = maps.Clone(pin.Files)
	pin.Files["big.bin"] = PinnedFile{}
	a, err = testRepository().WithPin(pin)
	if err != nil {
		t.Fatal(err)
	}
	s.dir = t.TempDir()
	if _, err := s.Fetch(t.Context(), a, nil); err != nil {
		t.Error(err)
	}
}

func TestHuggingFace_localCacheComesFirst(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "hub", "models--org--name", "snapshots", testCommit, "onnx")
	content := randomBytes(100)
	blob := filepath.Join(home, "blob")
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(blob, content, 0o666)
	}
	if err == nil {
		err = os.Symlink(blob, filepath.Join(dir, "model.onnx"))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := testStore(t, "HF_HOME="+home, "HF_HUB_OFFLINE=1")
	a, err := Repository("m", "org/name", "MIT", "a test", map[string]string{"model.onnx": "onnx/model.onnx"}).
		WithPin(Pin{Commit: testCommit, Files: map[string]PinnedFile{"model.onnx": {Blob: blobHex(content)}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Fetch(t.Context(), a, nil)
	if err != nil || !strings.HasSuffix(p.Manifest.Files[0].Origin, "(local cache)") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestHuggingFace_refusals(t *testing.T) {
	t.Parallel()
	for _, e := range recorded(t, "errors.json") {
		if e.Method != http.MethodHead {
			continue
		}
		t.Run(filepath.Base(e.Path), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range e.Headers {
					if k != "Content-Length" {
						w.Header().Set(k, v)
					}
				}
				w.WriteHeader(e.Status)
			}))
			defer server.Close()
			s := testStore(t, "HF_ENDPOINT="+server.URL)
			a, err := testRepository().WithPin(Pin{Commit: testCommit, Files: map[string]PinnedFile{"big.bin": {}, "small.txt": {}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Fetch(t.Context(), a, nil)
			want := map[int]string{
				401: "answers 401 Unauthorized: Invalid username or password; set HF_TOKEN to a token that may read " + testRepo,
				404: "answers 404 Not Found: Entry not found",
			}[e.Status]
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
		})
	}
}

func TestHuggingFace_damagedContentIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Linked-Etag", `"`+strings.Repeat("0", 64)+`"`)
		w.Write([]byte("something"))
	}))
	defer server.Close()
	s := testStore(t, "HF_ENDPOINT="+server.URL)
	a, err := testRepository().WithPin(Pin{Commit: testCommit, Files: map[string]PinnedFile{"big.bin": {}, "small.txt": {}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Fetch(t.Context(), a, nil); err == nil || !strings.Contains(err.Error(), "as the server said") {
		t.Errorf("error %v", err)
	}
}

func TestNewHub_tokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HF_TOKEN_PATH": path, "XDG_CACHE_HOME": "/x"}
	got := newHub(func(k string) string { return env[k] })
	want := hub{endpoint: "https://huggingface.co", token: "abc", cache: filepath.FromSlash("/x/huggingface/hub")}
	if got != want {
		t.Errorf("hub %+v, expected %+v", got, want)
	}
}
