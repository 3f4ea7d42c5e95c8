package main

import (
	"os"
	"path/filepath"
	"testing"

	"raglab/engine/workspace"
	"raglab/spec"
)

// loadSpec loads a made spec beside a made corpus.
func loadSpec(t *testing.T, text string) *spec.Experiment {
	t.Helper()
	dir := t.TempDir()
	if err := makeQuestions(dir, 20, 5); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "made.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	exp, diags := spec.Load(path, spec.LoadOptions{Catalog: workspace.Catalog()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return exp
}

func TestGridSpec_isFortyConfigurations(t *testing.T) {
	t.Parallel()
	if n := len(loadSpec(t, gridSpec).Cross().Configurations); n != 40 {
		t.Errorf("%d configurations, want 40", n)
	}
}

func TestFreeAxesSpec_crossesBothAxes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 1}, {3, 7}, {40, 25}} {
		if n := len(loadSpec(t, freeAxesSpec(size[0], size[1])).Cross().Configurations); n != size[0]*size[1] {
			t.Errorf("%d configurations of %d × %d", n, size[0], size[1])
		}
	}
}

func TestMakeQuestions_sameEachTime(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := makeQuestions(dir, 30, 10); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"docs.jsonl", "queries.jsonl", "qrels.tsv"} {
		x, errX := os.ReadFile(filepath.Join(a, name))
		y, errY := os.ReadFile(filepath.Join(b, name))
		if errX != nil || errY != nil || string(x) != string(y) || len(x) == 0 {
			t.Errorf("%s differs, or is not there: %v, %v", name, errX, errY)
		}
	}
	docs, err := readRecords(filepath.Join(a, "docs.jsonl"))
	if err != nil || len(docs) != 30 || docs[0].Title == "" {
		t.Errorf("read %d documents, %v", len(docs), err)
	}
}

func TestFactors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 97, 326, 5000, 33_333, 99_990} {
		a, b := factors(n)
		if a < 1 || b < 1 || a > 1000 || b > 1000 || apart(a*b, n)*50 > n {
			t.Errorf("%d is about %d × %d", n, a, b)
		}
	}
}
