package s3

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The credentials of the server under test, as a user's environment would hold them.
const (
	accessKey = "raglab-test-access"
	secretKey = "raglab-test-secret-that-shows-nowhere"
)

// server is the S3 gateway of versitygw over a folder: it honours If-None-Match where a store needs
// it, on PutObject and on CompleteMultipartUpload, between concurrent requests too. It is built from a
// module of its own, in testdata/versitygw.
var server struct {
	url, dir string
	skip     string
}

func TestMain(m *testing.M) {
	os.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	os.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	os.Setenv("AWS_CONFIG_FILE", os.DevNull)
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	log.SetOutput(io.Discard) // what the SDK and the proxy have to say
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop, err := start(ctx)
	if err != nil {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "the S3 server of the tests:", err)
			return 1
		}
		server.skip = "the S3 server of the tests did not start: " + err.Error()
		return m.Run()
	}
	defer stop()
	return m.Run()
}

// start builds the server, which takes minutes the first time, and runs it on a loopback port.
func start(ctx context.Context) (stop func(), err error) {
	build := exec.CommandContext(ctx, "go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join("testdata", "versitygw")
	out, err := build.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	lines := strings.Fields(string(out))
	if server.dir, err = os.MkdirTemp("", "raglab-s3-*"); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, lines[len(lines)-1], "--port", address, "--quiet", "--health", "/healthz", "posix", server.dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(server.dir)
	}
	server.url = "http://" + address
	if err := awaitServer(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func awaitServer(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for range 600 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.url+"/healthz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("it answered %s", response.Status)
		}
		last = err
		<-tick.C
	}
	return last
}

var buckets atomic.Int64

// newURL is the URL of an empty bucket, as a user writes it.
func newURL(t testing.TB, endpoint string) string {
	t.Helper()
	if server.skip != "" {
		t.Skip(server.skip)
	}
	name := fmt.Sprintf("raglab-%d", buckets.Add(1))
	if err := os.Mkdir(filepath.Join(server.dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	return urlOf(name, endpoint)
}

func urlOf(bucket, endpoint string) string {
	query := url.Values{"endpoint": {endpoint}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return "s3://" + bucket + "/team/raglab?" + query.Encode()
}

// proxy stands before the server and makes its answers worse.
type proxy struct {
	*httptest.Server
	requests atomic.Int64
	// refuse answers a request by itself, when it returns a status.
	refuse func(n int64, r *http.Request) int
	// cut ends the body of an answer after so many bytes; 0 does not.
	cut func(r *http.Request) int64
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	if server.skip != "" {
		t.Skip(server.skip)
	}
	target, err := url.Parse(server.url)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	behind := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if p.cut != nil {
				if n := p.cut(r.Request); n > 0 {
					r.Body = &cutBody{r.Body, n}
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := p.requests.Add(1)
		if p.refuse != nil {
			if status := p.refuse(n, r); status != 0 {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(status)
				if status == http.StatusServiceUnavailable {
					fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
				}
				return
			}
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// cutBody breaks after some bytes, and the proxy breaks the connection with it.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
