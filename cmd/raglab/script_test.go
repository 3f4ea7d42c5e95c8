package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

var update = flag.Bool("update", false, "rewrite the expected files of scripts and golden files with what came out")

// TestMain lets scripts and tests start the commands as a program of their own:
// the test's binary, under the name raglab. It is the supervisor of the Postgres
// servers that they start, too.
func TestMain(m *testing.M) {
	if private.IsSupervisor(os.Args) {
		os.Exit(private.Supervise(os.Args))
	}
	testscript.Main(withPostgres{m}, map[string]func(){"raglab": main, withAddedKind: mainWithAddedKind})
}

// withPostgres stops the servers that scripts share when the tests are done.
type withPostgres struct{ m *testing.M }

// Run runs the tests.
func (w withPostgres) Run() int {
	defer stopClouds()
	return pgtest.Main(w.m)
}

// TestScript runs what a user can type. Every script has a folder, a home and a
// cache of its own, no program but raglab to start and no network to reach.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               setupScript,
		Condition:           scriptCondition,
		Cmds:                scriptCommands(),
	})
}

func setupScript(env *testscript.Env) error {
	held := &heldLeases{}
	env.Values[heldKey{}] = held
	setupServers(env)
	env.Defer(func() { _ = held.release() })
	env.Defer(func() {
		if err := pgtest.Remove(filepath.Join(env.WorkDir, ".test", "cache", "postgres")); err != nil {
			env.T().Log(err)
			env.T().FailNow()
		}
	})
	for _, v := range isolation(env.WorkDir) {
		env.Vars = append(env.Vars, v[0]+"="+v[1])
	}
	for _, dir := range []string{"home", "bin"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, ".test", dir), 0o755); err != nil {
			return err
		}
	}
	rivers, err := filepath.Abs("testdata/rivers")
	if err != nil {
		return err
	}
	env.Setenv("RIVERS", rivers)
	for _, name := range []string{"raglab", withAddedKind} {
		program, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(program, filepath.Join(env.WorkDir, ".test", "bin", name)); err != nil {
			return err
		}
	}
	return nil
}

// unreachable is an address at which nothing answers.
const unreachable = "http://127.0.0.1:9"

// isolation is the environment in which a test starts raglab: nothing of the
// machine's own, no Python and no network.
func isolation(work string) [][2]string {
	vars := [][2]string{
		{"PATH", filepath.Join(work, ".test", "bin")},
		{"HOME", filepath.Join(work, ".test", "home")},
		{"XDG_CACHE_HOME", filepath.Join(work, ".test", "home", ".cache")},
		{"RAGLAB_CACHE", filepath.Join(work, ".test", "cache")},
		{"TZ", "UTC"},
		{"CI", ""},
		{"NO_COLOR", "1"},
		{"RAGLAB_LOG", ""},
		{"RAGLAB_DSN", ""},
		{"RAGLAB_STORE", ""},
		{"RAGLAB_STORE_MODE", ""},
		{"HF_HOME", filepath.Join(work, ".test", "home", "hf")},
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "HF_ENDPOINT"} {
		vars = append(vars, [2]string{name, unreachable})
	}
	return vars
}

// environ is that environment in the form of [exec.Cmd].
func environ(work string) []string {
	var env []string
	for _, v := range isolation(work) {
		env = append(env, fmt.Sprintf("%s=%s", v[0], v[1]))
	}
	return env
}

// scriptCondition knows [root] and [postgres]: whether the programs of a Postgres
// can be had, which continuous integration insists on. [s3], [gs] and [azblob] are
// whether a server of the provider's protocol can.
func scriptCondition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "s3", "gs", "azblob":
		return cloudCondition(name)
	case "onnx":
		return onnxCondition()
	case "postgres":
		_, _, err := pgtest.Fetch(context.Background())
		if err != nil && os.Getenv("CI") != "" {
			return false, err
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// metricsOf returns a CSV output's rows without the columns that time.
func metricsOf(b []byte) (string, error) {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if head := rows[0][i]; !strings.HasPrefix(head, "latency") && head != "ingest_seconds" {
				fmt.Fprintf(&out, "%s\t", cell)
			}
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}
