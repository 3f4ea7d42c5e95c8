package gs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"raglab/cache/shared"
)

// fake answers as Cloud Storage does; the bucket's name says how.
type fake struct {
	mu       sync.Mutex
	requests map[string]*http.Request // the last, by bucket
	bodies   map[string]string
}

func newFake(t *testing.T) (f *fake, url string) {
	t.Helper()
	f = &fake{requests: map[string]*http.Request{}, bodies: map[string]string{}}
	at := httptest.NewServer(f)
	t.Cleanup(at.Close)
	return f, at.URL
}

// answers are statuses by the name of a bucket.
var answers = map[string]int{
	"exists": http.StatusPreconditionFailed, "no-access": http.StatusForbidden, "unknown": http.StatusUnauthorized, "none": http.StatusNotFound,
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	parts := strings.Split(r.URL.Path, "/")
	bucket := "good"
	for _, p := range parts {
		if answers[p] != 0 {
			bucket = p
		}
	}
	f.mu.Lock()
	f.requests[bucket+" "+r.Method], f.bodies[bucket+" "+r.Method] = r, string(body)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status := answers[bucket]; status != 0 {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error": {"code": %d, "message": "as asked"}}`, status)
		return
	}
	if r.Method == http.MethodPost {
		fmt.Fprint(w, `{"name": "x", "bucket": "good", "size": "4"}`)
		return
	}
	w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
	fmt.Fprint(w, "content")
}

func openBucket(t *testing.T, server, bucket string) shared.Bucket {
	t.Helper()
	b, err := shared.OpenBucket(t.Context(), []shared.Driver{driverAt(server)}, "gs://"+bucket+"/team")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestGS_request looks at what is asked: on the condition that there is no generation of it yet.
func TestGS_request(t *testing.T) {
	t.Parallel()
	server, url := newFake(t)
	if err := openBucket(t, url, "good").Create(t.Context(), "ac/00/key", 4, strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	r, body := server.requests["good POST"], server.bodies["good POST"]
	if r == nil || r.URL.Query().Get("ifGenerationMatch") != "0" || !strings.Contains(body, "team/ac/00/key") || !strings.Contains(body, "text") || strings.Contains(body, "md5Hash") {
		t.Errorf("%v: %q", r, body)
	}
}

// TestGS_answers: above all, "no access" is not "not there".
func TestGS_answers(t *testing.T) {
	t.Parallel()
	_, url := newFake(t)
	for bucket, want := range map[string]error{
		"exists": fs.ErrExist, "no-access": shared.ErrPermanent, "unknown": shared.ErrPermanent,
	} {
		err := openBucket(t, url, bucket).Create(t.Context(), "ac/00/key", 4, strings.NewReader("text"))
		if !errors.Is(err, want) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Create in %s: %v, want %v", bucket, err, want)
		}
	}
	for bucket, want := range map[string]error{"no-access": shared.ErrPermanent, "none": fs.ErrNotExist} {
		if _, err := openBucket(t, url, bucket).Stat(t.Context(), "ac/00/key"); !errors.Is(err, want) {
			t.Errorf("Stat in %s: %v, want %v", bucket, err, want)
		}
		if _, _, err := openBucket(t, url, bucket).Open(t.Context(), "ac/00/key", 0); !errors.Is(err, want) {
			t.Errorf("Open in %s: %v, want %v", bucket, err, want)
		}
	}
}
