package assets

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// randomBytes returns n bytes that do not compress and do not change.
func randomBytes(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func blobHex(b []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

// fileServer serves one content at any path, counts requests, and can break off
// answers after a number of bytes.
type fileServer struct {
	*httptest.Server
	content  []byte
	etag     string
	requests atomic.Int32
	mu       sync.Mutex
	breakAt  []int // per request: bytes after which the connection is cut; 0 is never
	ranges   []string
}

func newFileServer(t *testing.T, content []byte, breakAt ...int) *fileServer {
	t.Helper()
	s := &fileServer{content: content, etag: `"` + sha256Hex(content)[:16] + `"`, breakAt: breakAt}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *fileServer) serve(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1)) - 1
	s.mu.Lock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	limit := 0
	if n < len(s.breakAt) {
		limit = s.breakAt[n]
	}
	s.mu.Unlock()
	w.Header().Set("Etag", s.etag)
	if limit > 0 {
		w = &cutWriter{w, limit}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

// cutWriter ends the connection after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// testStore returns a store in a folder of the test with nothing in its
// environment but the given variables.
func testStore(t *testing.T, environ ...string) *Store {
	t.Helper()
	return New(Config{
		Dir: t.TempDir(), Platform: "linux/amd64",
		Environ: append([]string{"HOME=" + t.TempDir()}, environ...), RetryWait: time.Microsecond,
	})
}

// urlAsset is an asset of one file at an address.
func urlAsset(address string, content []byte) Asset {
	return Asset{
		Name: "thing", Version: "1", Licence: "MIT",
		Builds: []Build{{Platform: "*/*", Files: []File{{
			Name: "thing.bin", Size: int64(len(content)), SHA256: sha256Hex(content),
			Places: []Place{URL{Address: address + "/thing.bin?signature=SECRET"}},
		}}}},
	}
}

func requireNoSecret(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "SECRET") {
		t.Errorf("a secret shows in %q", text)
	}
}
