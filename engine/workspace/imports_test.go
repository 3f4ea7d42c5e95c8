package workspace_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"raglab/internal/testdata"
)

// TestImports_goOneWay holds every package against the rule of the layout: cmd,
// then engine, then spec, cache and axes; internal packages know none of them
// but the shared structs of a factor.
func TestImports_goOneWay(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"raglab/cache":    {"raglab/"},
		"raglab/spec":     {"raglab/axes", "raglab/cache", "raglab/engine", "raglab/cmd"},
		"raglab/axes":     {"raglab/cache", "raglab/engine", "raglab/spec", "raglab/cmd"},
		"raglab/golden":   {"raglab/axes", "raglab/cache", "raglab/engine", "raglab/spec", "raglab/cmd"},
		"raglab/internal": {"raglab/cache", "raglab/engine", "raglab/spec", "raglab/cmd"},
		"raglab/engine":   {"raglab/cmd"},
	}
	for _, p := range packages(t) {
		for root, bad := range forbidden {
			if p.ImportPath != root && !strings.HasPrefix(p.ImportPath, root+"/") {
				continue
			}
			for _, in := range p.Imports {
				for _, prefix := range bad {
					if strings.HasPrefix(in, prefix) && !(root == "raglab/cache" && (in == root || strings.HasPrefix(in, root+"/"))) {
						t.Errorf("%s imports %s", p.ImportPath, in)
					}
				}
			}
		}
	}
}

// TestImports_engineKnowsNoRetrieval keeps the engine's own package free of what
// it runs: it knows the cache, and how a file is mapped.
func TestImports_engineKnowsNoRetrieval(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath != "raglab/engine" {
			continue
		}
		for _, in := range p.Imports {
			if strings.HasPrefix(in, "raglab/") && in != "raglab/cache" && in != "raglab/internal/mmap" {
				t.Errorf("%s imports %s", p.ImportPath, in)
			}
		}
	}
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = testdata.Root(t)
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages were listed", len(all))
	}
	return all
}
