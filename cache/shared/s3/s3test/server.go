// Package s3test runs an S3 server for tests, and a proxy before it that makes its
// answers worse.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// The credentials of the server, as a user's environment would hold them.
const (
	AccessKey = "raglab-test-access"
	SecretKey = "raglab-test-secret-that-shows-nowhere"
)

// Environ are the variables with which a process reaches the server, and no other.
func Environ() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}
}

// Server is the S3 gateway of versitygw over a folder: it honours If-None-Match where a
// store needs it, on PutObject and on CompleteMultipartUpload, between concurrent
// requests too. It is built from a module of its own, in testdata/versitygw.
type Server struct {
	URL string
	Dir string // a folder for each bucket

	buckets atomic.Int64
	cmd     *exec.Cmd
}

// Start builds the server, which takes minutes the first time, and runs it on a loopback
// port until ctx ends or Stop.
func Start(ctx context.Context) (*Server, error) {
	_, source, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("find the server's module: the program does not know its source")
	}
	build := exec.CommandContext(ctx, "go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join(filepath.Dir(source), "testdata", "versitygw")
	out, err := build.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	lines := strings.Fields(string(out))
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + address}
	if s.Dir, err = os.MkdirTemp("", "raglab-s3-*"); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, lines[len(lines)-1], "--port", address, "--quiet", "--health", "/healthz", "posix", s.Dir)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	if err := s.await(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the server and removes what it holds.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.Dir)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for range 600 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/healthz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			if err = response.Body.Close(); err == nil && response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("it answered %s", response.Status)
		}
		last = err
		<-tick.C
	}
	return last
}

// Bucket makes an empty bucket and returns its name.
func (s *Server) Bucket() (string, error) {
	name := fmt.Sprintf("raglab-%d", s.buckets.Add(1))
	return name, os.Mkdir(filepath.Join(s.Dir, name), 0o755)
}

// StoreURL is the URL of a store in a bucket, as a user writes it, at an endpoint: the
// server's own, or one before it.
func StoreURL(bucket, endpoint string) string {
	query := url.Values{"endpoint": {endpoint}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return "s3://" + bucket + "/team/raglab?" + query.Encode()
}
