// Package azblobtest runs a server of Azure Blob Storage's protocol for tests.
package azblobtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/rogpeppe/go-internal/lockedfile"

	"raglab/cache/shared/cloud/cloudtest"
)

// The credentials of the server, as a user's environment would hold them.
const (
	Account = "raglabtest"
	Key     = "c2VjcmV0IHRoYXQgc2hvd3Mgbm93aGVyZQ=="
)

// The server's package, in a version that says it runs on Node.js 20, and what it depends on as that was
// on a day.
const (
	version = "3.35.0"
	day     = "2025-12-01"
)

// Server is Azurite, Microsoft's own, in memory. It checks signatures, commits blocks as Azure does,
// and honours If-None-Match on Put Blob and Put Block List.
type Server struct {
	URL string

	*cloudtest.Process
	dir        string
	containers atomic.Int64
}

// Start gets the server through npm, the first time, and runs it on a loopback port until ctx ends or
// Stop. It needs Node.js and npm.
func Start(ctx context.Context) (*Server, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("find Node.js, which Azurite runs on: %w", err)
	}
	folder, err := install(ctx)
	if err != nil {
		return nil, fmt.Errorf("install Azurite %s: %w", version, err)
	}
	port, err := cloudtest.FreePort()
	if err != nil {
		return nil, err
	}
	const host = "127.0.0.1"
	s := &Server{URL: "http://" + host + ":" + port}
	if s.dir, err = os.MkdirTemp("", "raglab-azurite-*"); err != nil {
		return nil, err
	}
	// The SDK asks for a version of the protocol that is younger than the server.
	cmd := exec.CommandContext(ctx, node, filepath.Join(folder, "node_modules", "azurite", "dist", "src", "blob", "main.js"),
		"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+Account+":"+Key)
	if s.Process, err = cloudtest.Start(ctx, cmd, s.URL); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() {
	s.Process.Stop()
	_ = os.RemoveAll(s.dir)
}

// install returns the folder that the server is installed in. However many ask, it is made once.
func install(ctx context.Context) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "raglab-test", "azurite-"+version)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(folder + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	made := folder + ".tmp"
	if err := errors.Join(os.RemoveAll(made), os.Mkdir(made, 0o755)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("npm took more than 10 minutes"))
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", made, "--before", day, "--omit=dev", "--ignore-scripts",
		"--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "azurite@"+version)
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("npm: %w: %s", err, out), context.Cause(ctx))
	}
	return folder, os.Rename(made, folder)
}

// Container makes an empty container and returns its name.
func (s *Server) Container(ctx context.Context) (string, error) {
	credential, err := azblob.NewSharedKeyCredential(Account, Key)
	if err != nil {
		return "", err
	}
	client, err := azblob.NewClientWithSharedKeyCredential(s.URL+"/"+Account, credential, nil)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("raglab-%d", s.containers.Add(1))
	_, err = client.CreateContainer(ctx, name, nil)
	return name, err
}

// StoreURL is the URL of a store in a container, as a user writes it, at a server's URL.
func StoreURL(container, server string) string {
	query := url.Values{"domain": {strings.TrimPrefix(server, "http://")}, "protocol": {"http"}, "localemu": {"true"}}
	return "azblob://" + container + "/team/raglab?" + query.Encode()
}

// Environ are the variables with which a process reaches the server, and no other.
func Environ() []string {
	return []string{"AZURE_STORAGE_ACCOUNT=" + Account, "AZURE_STORAGE_KEY=" + Key}
}
