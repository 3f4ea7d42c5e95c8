package azblob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"raglab/cache/shared"
	"raglab/cache/shared/azblob/azblobtest"
)

// fake answers as Azure does to one request at a time.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	// answer is the status and the code of the next answers; 0 is success.
	status int
	code   string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		f.requests, f.bodies = append(f.requests, r), append(f.bodies, string(body))
		if f.status != 0 {
			w.Header().Set("x-ms-error-code", f.code)
			w.WriteHeader(f.status)
			return
		}
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
		fmt.Fprint(w, "content")
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) open(t *testing.T) shared.Bucket {
	t.Helper()
	host := strings.TrimPrefix(f.URL, "http://")
	query := url.Values{"domain": {host}, "protocol": {"http"}, "localemu": {"true"}}
	b, err := shared.OpenBucket(t.Context(), []shared.Driver{Driver()}, "azblob://container/team?"+query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestAzblob_request looks at what is asked: on the condition that there is none, below the prefix,
// with a signature.
func TestAzblob_request(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if err := f.open(t).Create(t.Context(), "ac/00/key", 4, strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	r := f.requests[0]
	if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/container/team/ac/00/key") || r.Header.Get("If-None-Match") != "*" ||
		f.bodies[0] != "text" || r.Header.Get("Authorization") == "" || r.Header.Get("x-ms-blob-content-md5") != "" {
		t.Errorf("%s %s %v %q", r.Method, r.URL, r.Header, f.bodies[0])
	}
	if err := f.open(t).Replace(t.Context(), "ac/00/key", 4, strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	if r := f.requests[1]; r.Header.Get("If-None-Match") != "" {
		t.Errorf("Replace is conditional: %v", r.Header)
	}
	if _, _, err := f.open(t).Open(t.Context(), "cas/00/x", 3); err != nil {
		t.Fatal(err)
	}
	if r := f.requests[2]; r.Header.Get("x-ms-range") != "bytes=3-" && r.Header.Get("Range") != "bytes=3-" {
		t.Errorf("Open from 3 asks %v", r.Header)
	}
}

// TestAzblob_answers reads the codes that Azure's documentation lists.
func TestAzblob_answers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		code   string
		want   error // nil: it may pass
	}{
		{http.StatusConflict, "BlobAlreadyExists", fs.ErrExist},
		{http.StatusPreconditionFailed, "ConditionNotMet", fs.ErrExist},
		{http.StatusNotFound, "BlobNotFound", fs.ErrNotExist},
		{http.StatusNotFound, "ContainerNotFound", shared.ErrPermanent},
		{http.StatusForbidden, "AuthorizationFailure", shared.ErrPermanent},
		{http.StatusForbidden, "AuthenticationFailed", shared.ErrPermanent},
		{http.StatusConflict, "LeaseIdMissing", nil},
		// As Azure answers for parts that another writer's end of the blob took away. Azurite does not.
		{http.StatusBadRequest, "InvalidBlockList", nil},
	} {
		f := newFake(t)
		f.status, f.code = tt.status, tt.code
		err := f.open(t).Create(t.Context(), "ac/00/key", 4, strings.NewReader("text"))
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%d %s: %v, want %v", tt.status, tt.code, err, tt.want)
		}
		for _, other := range []error{fs.ErrExist, fs.ErrNotExist, shared.ErrPermanent} {
			if other != tt.want && errors.Is(err, other) {
				t.Errorf("%d %s is taken for %q: %v", tt.status, tt.code, other, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), azblobtest.Key) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}
