package workspace_test

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/engine/workspace"
	"raglab/internal/assets/assetstest"
	"raglab/internal/testdata"
	"raglab/spec"
)

// open returns a workspace on a cache of its own.
func open(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(workspace.Options{
		CacheDir: dir, Threads: 2, Command: "test", Version: "test", Log: hclog.NewNullLogger(),
		Warn: func(s string) { t.Error("warning:", s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// start loads a spec and builds its pipeline.
func start(t *testing.T, w *workspace.Workspace, path string, vars map[string]string) *workspace.Session {
	t.Helper()
	exp, diags := spec.Load(path, spec.LoadOptions{Catalog: workspace.Catalog(), Vars: vars})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s, err := w.Start(t.Context(), exp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// apply plans and applies everything, or the targets, and fails the test when a
// stage fails.
func apply(t *testing.T, s *workspace.Session, targets ...string) *engine.Outcomes {
	t.Helper()
	plan, err := s.Plan(t.Context(), workspace.Selection{Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Apply(t.Context(), plan, workspace.ApplyOptions{Events: func(engine.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Failures {
		t.Fatalf("%s: %v", f.Stage.Address, f.Err)
	}
	return out
}

// TestReference_rankings holds the rankings of the reference experiments
// against those of rank_bm25 0.2.2: the same documents in the same order, with
// scores equal to 1e-6, and the published means.
func TestReference_rankings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ spec, data, reference string }{
		{"uk_unlp_reference.hcl", "data/uk-unlp/neutral", "reference-bm25okapi.unicode-words-lower.tsv"},
		{"scifact_reference.hcl", "data/scifact/neutral", "reference-bm25okapi.ascii-words-lower.tsv"},
	} {
		t.Run(tc.spec, func(t *testing.T) {
			t.Parallel()
			data := testdata.Shared(t, tc.data)
			w := open(t, t.TempDir())
			s := start(t, w, filepath.Join(testdata.Root(t), "experiments", tc.spec), map[string]string{"corpus": data})
			out := apply(t, s)
			compareRun(t, readRun(t, w, s, out), filepath.Join(data, tc.reference))
			asExpected(t, s, out)
		})
	}
}

// TestReference_vectors holds exact search with a model's vectors against the
// means that numpy and ONNX Runtime have.
func TestReference_vectors(t *testing.T) {
	t.Parallel()
	data, dir := testdata.Shared(t, "data/more/xquad-tr/neutral-tr"), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "assets"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"onnxruntime", "multilingual-e5-small-q4"} {
		if err := os.Symlink(filepath.Dir(assetstest.Dir(t, name)), filepath.Join(dir, "assets", name)); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, dir)
	s := start(t, w, filepath.Join(testdata.Root(t), "experiments", "xquad_tr_reference.hcl"), map[string]string{"corpus": data})
	asExpected(t, s, apply(t, s))
}

// asExpected sees that every figure that the spec expects was measured.
func asExpected(t *testing.T, s *workspace.Session, out *engine.Outcomes) {
	t.Helper()
	r, err := s.Report(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Expectations) == 0 {
		t.Error("the spec states no expected figure")
	}
	for _, e := range r.Expectations {
		if e.Verdict != "OK" {
			t.Errorf("%s: expected %v, %s", e.Metric, e.Value, e.Verdict)
		}
	}
}

func readRun(t *testing.T, w *workspace.Workspace, s *workspace.Session, out *engine.Outcomes) artifact.Run {
	t.Helper()
	blob, ok := out.Output(s.Pipeline.Rows[0].Run, "run")
	if !ok {
		t.Fatal("the row has no run")
	}
	raw, err := w.Cache.ReadAll(t.Context(), blob.Digest)
	if err != nil {
		t.Fatal(err)
	}
	run, err := artifact.ReadRun(raw)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// compareRun reads a reference of lines question, rank, document, score.
func compareRun(t *testing.T, run artifact.Run, reference string) {
	t.Helper()
	raw, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	by := run.By()
	lines := 0
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Scan() // the head
	for scanner.Scan() {
		f := strings.Split(scanner.Text(), "\t")
		rank, err1 := strconv.Atoi(f[1])
		score, err2 := strconv.ParseFloat(f[3], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("reference line %q", scanner.Text())
		}
		q, ok := by[f[0]]
		if !ok || len(run.Hits[q]) < rank {
			// The reference ranks documents that share no word, with score 0;
			// raglab does not call those hits.
			if score > 0 {
				t.Fatalf("question %s has no hit at rank %d, reference score %v", f[0], rank, score)
			}
			continue
		}
		lines++
		got, hit := artifact.DocumentOf(run.Chunks[q][rank-1]), run.Hits[q][rank-1]
		if got != f[2] || math.Abs(hit.Score-score) > 1e-6 {
			t.Fatalf("question %s, rank %d: %s with %v, reference %s with %v", f[0], rank, got, hit.Score, f[2], score)
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines were compared", lines)
	}
}
