// Package cloudtest holds the drivers of the cloud providers against servers: the suite that each must
// pass, a proxy that makes the way to a server worse, and what starts one.
package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Tool builds a program that the module in testdata/NAME, beside the caller's source, has as a tool of
// that name, and returns its path. It takes a minute the first time.
func Tool(ctx context.Context, name string) (string, error) {
	_, source, _, ok := runtime.Caller(1)
	if !ok {
		return "", errors.New("find the module of the tests' server: the program does not know its source")
	}
	build := exec.CommandContext(ctx, "go", "tool", "-n", name)
	build.Dir = filepath.Join(filepath.Dir(source), "testdata", name)
	var said strings.Builder
	build.Stderr = &said
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// FreePort is a port of the loopback address on which nothing listens.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// Process is a server's program at work.
type Process struct{ cmd *exec.Cmd }

// Start starts a server's program, which ends with ctx or Stop, and waits until it answers at a URL.
func Start(ctx context.Context, cmd *exec.Cmd, url string) (*Process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd}
	if err := await(ctx, url); err != nil {
		p.Stop()
		return nil, fmt.Errorf("wait for %s: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

// Stop ends the program.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// await waits until a server answers, whatever it says.
func await(ctx context.Context, url string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for range 1200 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		last = err
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return last
}
