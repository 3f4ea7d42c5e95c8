package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peerFolder is where the peers' scripts and their Python are.
type peerFolder struct {
	shared string // the folder beside the checkout that holds scripts, models and data
	python string
	// missing says why no peer can run, if so.
	missing string
}

// findPeers looks for the scripts in ../shared/peers beside the checkout and for
// the virtual environment that they run in: $PEERS_VENV, or raglab-peers in the
// user's cache folder.
func findPeers(root string) peerFolder {
	p := peerFolder{shared: filepath.Join(root, "..", "shared")}
	venv := os.Getenv("PEERS_VENV")
	if venv == "" {
		if home, err := os.UserHomeDir(); err == nil {
			venv = filepath.Join(home, ".cache", "raglab-peers")
		}
	}
	p.python = filepath.Join(venv, "bin", "python")
	switch {
	case !exists(p.script("common.py")):
		p.missing = "not set up: no scripts in ../shared/peers"
	case !exists(p.python):
		p.missing = "not set up: no Python in " + venv
	}
	return p
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p peerFolder) script(name string) string { return filepath.Join(p.shared, "peers", name) }

// holds tells whether the virtual environment has a file of that pattern.
func (p peerFolder) holds(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(p.python)), pattern))
	return err == nil && len(found) > 0
}

// make runs a script that makes inputs.
func (p peerFolder) make(ctx context.Context, script string, args ...string) error {
	cmd := command(ctx, "", nil, append([]string{p.python, p.script(script)}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return failure(err, string(out))
	}
	return nil
}

// run is a script's turn.
func (p peerFolder) run(script string, args ...string) runner {
	return func(ctx context.Context) ([]sample, error) {
		return output(ctx, nil, append([]string{p.python, p.script(script)}, args...)...)
	}
}

// tool is a peer that a script runs by the option --tools.
func (p peerFolder) tool(name, script string, args ...string) peer {
	return peer{name: name, missing: p.missing, run: p.run(script, append(args, "--tools", name)...)}
}

// without says that a peer is not set up unless a program is found.
func without(p peer, program string) peer {
	if _, err := exec.LookPath(program); p.missing == "" && err != nil {
		p.missing = "not set up: no " + program
	}
	return p
}

// counts are the numbers of threads to measure with.
func counts(cores int) []int {
	var out []int
	for t := range cores {
		out = append(out, t+1)
	}
	return out
}

// digits writes a number as an argument.
func digits(n int) string { return strconv.Itoa(n) }
