// Package gstest runs a server of Cloud Storage's protocol for tests.
package gstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"raglab/cache/shared/cloud/cloudtest"
)

// Server is fake-gcs-server, in memory. It honours ifGenerationMatch on uploads in one request and on
// resumable ones, where it compares when the last part has come, under one lock. Two things it does as
// Cloud Storage does not: it knows no credentials, and a part of a resumable upload that comes a second
// time, since the first answer was lost, is appended twice. It is built from a module of its own, in
// testdata/fake-gcs-server.
type Server struct {
	URL string

	*cloudtest.Process
	buckets atomic.Int64
}

// Start builds the server, which takes a minute the first time, and runs it on a loopback port until
// ctx ends or Stop.
func Start(ctx context.Context) (*Server, error) {
	program, err := cloudtest.Tool(ctx, "fake-gcs-server")
	if err != nil {
		return nil, err
	}
	port, err := cloudtest.FreePort()
	if err != nil {
		return nil, err
	}
	const host = "127.0.0.1"
	cmd := exec.CommandContext(ctx, program,
		"-backend", "memory", "-scheme", "http", "-host", host, "-public-host", host, "-port", port, "-log-level", "error")
	s := &Server{URL: "http://" + host + ":" + port}
	s.Process, err = cloudtest.Start(ctx, cmd, s.URL+"/_internal/healthcheck")
	return s, err
}

// Bucket makes an empty bucket and returns its name.
func (s *Server) Bucket(ctx context.Context) (string, error) {
	name := fmt.Sprintf("raglab-%d", s.buckets.Add(1))
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/storage/v1/b?project=raglab", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("make bucket %s: %s", name, response.Status)
	}
	_ = response.Body.Close() // what matters is read
	return name, err
}

// StoreURL is the URL of a store in a bucket, as a user writes it.
func StoreURL(bucket string) string { return "gs://" + bucket + "/team/raglab" }

// Environ are the variables with which a process reaches the server at a URL, and no other.
func Environ(url string) []string {
	return []string{"STORAGE_EMULATOR_HOST=" + strings.TrimPrefix(url, "http://"), "GOOGLE_APPLICATION_CREDENTIALS=" + os.DevNull}
}
