package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/internal/web"
)

// host is a loopback server of files, some of whose answers go wrong first.
type host struct {
	*httptest.Server
	mu sync.Mutex
	// files are by path, with their query if they have one.
	files map[string][]byte
	// faults are the answers that a path gives before it gives its file.
	faults map[string][]http.HandlerFunc
	// headers are set on the answers of a path.
	headers map[string]http.Header
	// asked are the requests: path, Range and Authorization.
	asked []string
}

func newHost(t testing.TB, files map[string][]byte) *host {
	t.Helper()
	h := &host{files: files, faults: map[string][]http.HandlerFunc{}, headers: map[string]http.Header{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RequestURI()
	h.mu.Lock()
	h.asked = append(h.asked, strings.TrimSpace(path+" "+r.Header.Get("Range")+" "+r.Header.Get("Authorization")))
	var fault http.HandlerFunc
	if faults := h.faults[path]; len(faults) > 0 {
		fault, h.faults[path] = faults[0], faults[1:]
	}
	body, ok := h.files[path]
	if !ok {
		body, ok = h.files[r.URL.EscapedPath()]
	}
	header := h.headers[path]
	h.mu.Unlock()
	for name, values := range header {
		w.Header()[name] = values
	}
	switch {
	case fault != nil:
		fault(w, r)
	case !ok:
		http.Error(w, "no such file", http.StatusNotFound)
	default:
		if w.Header().Get("Etag") == "" {
			w.Header().Set("Etag", `"`+sha256Of(body)+`"`)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}

// requests returns what was asked so far, and forgets it.
func (h *host) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = nil
	return asked
}

func (h *host) set(path string, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[path] = body
}

func (h *host) fail(path string, faults ...http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[path] = faults
}

// What may go wrong.

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "not now", code)
	}
}

// cut sends the first half of a body.
func cut(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Header().Set("Etag", `"`+sha256Of(body)+`"`)
		w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends the first byte of a body and then nothing until the client goes.
func drip(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Write(body[:1])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func gzipped(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(body)
		z.Close()
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func sha256Of(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// blobOf is the id that git gives a file.
func blobOf(body []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(body)), body...))
	return hex.EncodeToString(sum[:])
}

// waits are the pauses that a client made, none of which took any time.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, d)
	return context.Cause(ctx)
}

// patient is an environment whose client waits for nothing and knows a stall early.
func patient(t testing.TB, env map[string]string) (axes.Env, *waits) {
	t.Helper()
	w := &waits{}
	return axes.Env{
		Downloads: t.TempDir(),
		Web:       web.New(web.Config{Sleep: w.sleep, StallAfter: 200 * time.Millisecond}),
		Getenv:    func(name string) string { return env[name] },
	}, w
}

func newRemote[P any](t testing.TB, env axes.Env, kind axes.Kind[source.Source], set func(*P)) source.Source {
	t.Helper()
	p := kind.Params().(*P)
	set(p)
	s, err := kind.New(p, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
