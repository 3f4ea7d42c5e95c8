package s3

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"raglab/cache/shared/s3/s3test"
)

const (
	accessKey = s3test.AccessKey
	secretKey = s3test.SecretKey
)

// server is the S3 server of the tests; skip says why it did not start.
var (
	server = &s3test.Server{}
	skip   string
)

func TestMain(m *testing.M) {
	for _, v := range s3test.Environ() {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	log.SetOutput(io.Discard) // what the SDK and the proxy have to say
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started, err := s3test.Start(ctx)
	if err != nil {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "the S3 server of the tests:", err)
			return 1
		}
		skip = "the S3 server of the tests did not start: " + err.Error()
		return m.Run()
	}
	server = started
	defer server.Stop()
	return m.Run()
}

// newURL is the URL of an empty bucket, as a user writes it.
func newURL(t testing.TB, endpoint string) string {
	t.Helper()
	if skip != "" {
		t.Skip(skip)
	}
	name, err := server.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	return s3test.StoreURL(name, endpoint)
}

// proxy stands before the server and makes its answers worse.
type proxy struct {
	*s3test.Proxy
	URL string
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	if skip != "" {
		t.Skip(skip)
	}
	p, err := s3test.NewProxy(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(p)
	t.Cleanup(at.Close)
	return &proxy{p, at.URL}
}

var _ http.Handler = (*proxy)(nil)
