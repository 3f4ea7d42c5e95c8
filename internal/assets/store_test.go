package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFetch_urlIsVerifiedAndKept(t *testing.T) {
	t.Parallel()
	content := randomBytes(3 << 20)
	server := newFileServer(t, content)
	s := testStore(t)
	a := urlAsset(server.URL, content)
	if _, ok, err := s.Lookup(a); ok || err != nil {
		t.Fatalf("Lookup before = %v, %v", ok, err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
		t.Fatalf("Lookup wrote %v, %v", entries, err)
	}
	var events []Event
	p, err := s.Fetch(t.Context(), a, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(p.File("thing.bin"))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("wrong content, %v", err)
	}
	phases := []Phase{}
	for _, e := range events {
		if len(phases) == 0 || phases[len(phases)-1] != e.Phase {
			phases = append(phases, e.Phase)
		}
		requireNoSecret(t, e.Place)
	}
	if diff := cmp.Diff([]Phase{Downloading, Verifying, Done}, phases); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := s.Lookup(a); !ok || err != nil {
		t.Errorf("Lookup after = %v, %v", ok, err)
	}
	if _, err := s.Fetch(t.Context(), a, nil); err != nil || server.requests.Load() != 1 {
		t.Errorf("second fetch: %v, %d requests", err, server.requests.Load())
	}
	left, err := os.ReadDir(p.Dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	requireNoSecret(t, p.Manifest.Files[0].Origin)
}

func TestFetch_resumesBrokenDownload(t *testing.T) {
	t.Parallel()
	content := randomBytes(1 << 20)
	server := newFileServer(t, content, 300_000, 500_000)
	s := testStore(t)
	if _, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil); err != nil {
		t.Fatal(err)
	}
	if len(server.ranges) != 3 || server.ranges[0] != "" || !slices.IsSortedFunc(server.ranges[1:], func(a, b string) int { return strings.Compare(a, b) }) {
		t.Errorf("ranges asked for: %q", server.ranges)
	}
	for _, r := range server.ranges[1:] {
		if !strings.HasPrefix(r, "bytes=") || r == "bytes=0-" {
			t.Errorf("range %q does not resume", r)
		}
	}
}

// An unfinished download of a process that died is gone on with when the server
// still has the same content, and only then.
func TestFetch_unfinishedDownload(t *testing.T) {
	t.Parallel()
	content := randomBytes(1 << 20)
	sum := sha256Hex(content)
	tests := map[string]struct {
		part   []byte
		id     string
		ranges []string
	}{
		"same content":    {content[:1000], sum[:16], []string{"bytes=1000-"}},
		"changed content": {content[:1000], "another", []string{"bytes=1000-", ""}},
		"without an id":   {content[:1000], "", []string{""}},
		"too long":        {make([]byte, 2<<20), sum[:16], []string{"bytes=2097152-", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newFileServer(t, content)
			s := testStore(t)
			a := urlAsset(server.URL, content)
			dir := filepath.Join(s.dir, "thing", "1")
			record, err := json.Marshal(map[string]string{"place": a.Builds[0].Files[0].Places[0].String(), "id": test.id})
			part := filepath.Join(dir, "thing.bin.part")
			err = errors.Join(err, os.MkdirAll(dir, 0o777), os.WriteFile(part, test.part, 0o666), os.WriteFile(part+".json", record, 0o666))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Fetch(t.Context(), a, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.ranges, server.ranges); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFetch_cancelGivesTheCause(t *testing.T) {
	t.Parallel()
	content := randomBytes(1 << 20)
	server := newFileServer(t, content, 300_000)
	s := New(Config{Dir: t.TempDir(), Environ: []string{}, RetryWait: time.Hour})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the user")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	next := hangAfter(server, 10, hang)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel(stop)
		next.ServeHTTP(w, r)
	})
	if _, err := s.Fetch(ctx, urlAsset(server.URL, content), nil); !errors.Is(err, stop) {
		t.Errorf("error %v, expected the cause of the cancel", err)
	}
}

func TestFetch_damagedDownloadIsRefused(t *testing.T) {
	t.Parallel()
	content := randomBytes(100_000)
	damaged := slices.Clone(content)
	damaged[5000] ^= 1
	server := newFileServer(t, damaged)
	s := testStore(t)
	_, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil)
	if _, ok := errors.AsType[*UnavailableError](err); !ok || !strings.Contains(err.Error(), "its SHA-256 is "+sha256Hex(damaged)) {
		t.Fatalf("error %v", err)
	}
	requireNoSecret(t, err.Error())
	left, err := filepath.Glob(filepath.Join(s.dir, "thing", "1", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFetch_stalledDownloadEnds(t *testing.T) {
	t.Parallel()
	content := randomBytes(100_000)
	server := newFileServer(t, content)
	hang := make(chan struct{})
	server.Config.Handler = hangAfter(server, 1000, hang)
	t.Cleanup(func() { close(hang) })
	s := New(Config{Dir: t.TempDir(), Environ: []string{}, RetryWait: time.Microsecond, StallAfter: 20 * time.Millisecond})
	_, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil)
	if err == nil || !strings.Contains(err.Error(), " came in 20ms") && !strings.Contains(err.Error(), "nothing came for 20ms") {
		t.Errorf("error %v", err)
	}
}

func TestFetch_filePutThereByHand(t *testing.T) {
	t.Parallel()
	content := randomBytes(1000)
	s := testStore(t)
	a := urlAsset("https://127.0.0.1:1", content)
	dir := filepath.Join(s.dir, "thing", "1")
	put := func(data []byte) {
		os.MkdirAll(dir, 0o777)
		if err := os.WriteFile(filepath.Join(dir, "thing.bin"), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(randomBytes(999))
	if _, ok, _ := s.Lookup(a); ok {
		t.Error("a wrong file was accepted by Lookup")
	}
	if _, err := s.Fetch(t.Context(), a, nil); err == nil || !strings.Contains(err.Error(), "its size is 999 bytes, expected 1000 bytes") {
		t.Errorf("error %v", err)
	}
	put(content)
	if _, ok, err := s.Lookup(a); !ok || err != nil {
		t.Errorf("Lookup = %v, %v", ok, err)
	}
	p, err := s.Fetch(t.Context(), a, nil)
	if err != nil || p.Manifest.Files[0].Origin != originByHand {
		t.Errorf("Fetch = %+v, %v", p, err)
	}
}

func TestFetch_userNamesFileOrFolder(t *testing.T) {
	t.Parallel()
	content := randomBytes(1000)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"other-name": content, "thing.bin": content, "wrong": randomBytes(10)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	server := newFileServer(t, content)
	tests := map[string]struct{ value, problem string }{
		"file":          {value: filepath.Join(dir, "other-name")},
		"folder":        {value: dir},
		"wrong content": {filepath.Join(dir, "wrong"), "its size is 10 bytes"},
		"empty folder":  {t.TempDir(), "names a folder without thing.bin"},
		"missing":       {filepath.Join(dir, "nothing"), "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := testStore(t, "RAGLAB_ASSET_THING="+test.value)
			_, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil)
			if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("error %v, expected %q", err, test.problem)
			}
		})
	}
	if n := server.requests.Load(); n != 0 {
		t.Errorf("%d requests, although the user named a file", n)
	}
}

func TestFetch_unpinnedFileFollowsTheVariable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if err := errors.Join(os.WriteFile(one, []byte("1"), 0o666), os.WriteFile(two, []byte("22"), 0o666)); err != nil {
		t.Fatal(err)
	}
	a := Asset{Name: "lib", Version: "3", Builds: []Build{{Platform: "*/*", Files: []File{{Name: "lib.so"}}}}}
	s := testStore(t, "RAGLAB_ASSET_LIB="+one)
	p1, err := s.Fetch(t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.environ = append(s.environ, "RAGLAB_ASSET_LIB="+two)
	if _, ok, _ := s.Lookup(a); ok {
		t.Error("Lookup gives the file of another variable")
	}
	p2, err := s.Fetch(t.Context(), a, nil)
	if err != nil || p1.Manifest.Digest() == p2.Manifest.Digest() {
		t.Errorf("the second file was not taken: %v", err)
	}
}

func TestFetch_goroutinesDownloadOnce(t *testing.T) {
	t.Parallel()
	content := randomBytes(2 << 20)
	server := newFileServer(t, content)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := New(Config{Dir: dir, Environ: []string{}, Platform: "linux/amd64"})
			if _, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := server.requests.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	content := randomBytes(1000)
	server := newFileServer(t, content)
	s := testStore(t)
	p, err := s.Fetch(t.Context(), urlAsset(server.URL, content), nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.List()
	if err != nil || len(entries) != 1 || entries[0].Manifest.Name != "thing" || entries[0].Dir != p.Dir || entries[0].Bytes <= 1000 {
		t.Errorf("List = %+v, %v", entries, err)
	}
}

func TestKnown_isWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range Known() {
		if seen[a.Name] || a.Licence == "" || a.Summary == "" || len(a.Builds) == 0 {
			t.Errorf("asset %+v", a)
		}
		seen[a.Name] = true
		for _, b := range a.Builds {
			for _, f := range b.Files {
				if f.Name != filepath.Base(f.Name) || f.SHA256 != "" && (len(f.SHA256) != 64 || f.Size == 0) {
					t.Errorf("%s: file %+v", a.Name, f)
				}
			}
		}
	}
	if a, ok := Find("onnxruntime"); !ok || a.Env() != "RAGLAB_ASSET_ONNXRUNTIME" || a.Size("linux/amd64") != 34824680 {
		t.Errorf("Find = %+v, %v", a, ok)
	}
}
