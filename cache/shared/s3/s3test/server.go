// Package s3test runs an S3 server for tests.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"raglab/cache/shared/cloud/cloudtest"
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

	*cloudtest.Process
	buckets atomic.Int64
}

// Start builds the server, which takes minutes the first time, and runs it on a loopback
// port until ctx ends or Stop.
func Start(ctx context.Context) (*Server, error) {
	program, err := cloudtest.Tool(ctx, "versitygw")
	if err != nil {
		return nil, err
	}
	port, err := cloudtest.FreePort()
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + port
	s := &Server{URL: "http://" + address}
	if s.Dir, err = os.MkdirTemp("", "raglab-s3-*"); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "--port", address, "--quiet", "--health", "/healthz", "posix", s.Dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	if s.Process, err = cloudtest.Start(ctx, cmd, s.URL+"/healthz"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	return s, nil
}

// Stop ends the server and removes what it holds.
func (s *Server) Stop() {
	s.Process.Stop()
	_ = os.RemoveAll(s.Dir)
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
