package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"raglab/axes"
)

// TestMain lets tests start the drivers as bench does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == driverFlag {
		exit(drive(context.Background(), os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func runDriver(t *testing.T, name string, args ...string) []sample {
	t.Helper()
	out, err := exec.Command(os.Args[0], append([]string{driverFlag, name}, args...)...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%s: %s", name, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	samples, err := samplesOf(out)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

func TestBM25Drivers_findWhatIsJudged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := makeQuestions(dir, 50, 20); err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "qrels.tsv")}
	samples := runDriver(t, "bm25", append(files, "1", "2")...)
	for _, threads := range []int{1, 2} {
		found, ok := searchStep(threads).find(samples)
		if !ok || found.Hit10 < 0.5 || found.PerSecond <= 0 {
			t.Errorf("search on %d threads: %+v", threads, found)
		}
		if built, ok := indexStep(threads).find(samples); !ok || built.IndexMB <= 0 || built.Wall <= 0 {
			t.Errorf("index on %d threads: %+v", threads, built)
		}
	}
	// Ids in a stream are those of the peers' corpus, which this is not.
	if built, ok := indexStep(1).find(runDriver(t, "bm25-stream", files...)); !ok || built.IndexMB <= 0 {
		t.Errorf("index of a stream: %+v", built)
	}
}

func TestScoreDriver_printsMeans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	qrels, run := filepath.Join(dir, "qrels"), filepath.Join(dir, "run")
	for path, text := range map[string]string{qrels: "q1 0 a 1\nq2 0 b 1\n", run: "q1 Q0 a 1 2.0 t\nq1 Q0 c 2 1.0 t\nq2 Q0 c 1 2.0 t\nq2 Q0 b 2 1.0 t\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	samples := runDriver(t, "score", qrels, run)
	if len(samples) != 1 || samples[0].MRR10 != "0.750000" || samples[0].Recall5 != "1.000000" {
		t.Errorf("means: %+v", samples)
	}
	samples = runDriver(t, "metrics", qrels, run, "2")
	if _, ok := (step{raglabTool, "evaluate", 1}).find(samples); !ok {
		t.Errorf("steps: %+v", samples)
	}
	samples = runDriver(t, "paired", "1", "2", "1", qrels, run, run)
	for _, name := range []string{"bootstrap", "randomisation", "all pairs, full", "all pairs, cut"} {
		if _, ok := (step{raglabTool, name, 0}).find(samples); !ok {
			t.Errorf("no step %s: %+v", name, samples)
		}
	}
}

func TestDrive_badArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nothing"}, {"bm25"}, {"exact", "x"}, {"score"}, {"tokens", "a", "b", "0", "1"}, {"metrics", "a", "b", "x"}} {
		if err := drive(t.Context(), args[0], args[1:]); err == nil {
			t.Errorf("%v were taken", args)
		}
	}
}

func TestRecall10(t *testing.T) {
	t.Parallel()
	found := [][]axes.Hit{{{Ordinal: 1}, {Ordinal: 2}}, {{Ordinal: 9}, {Ordinal: 3}}}
	if got := recall10(map[int][]uint32{0: {2, 1}, 1: {3, 4}}, found); got != 0.75 {
		t.Errorf("recall %v, want 0.75", got)
	}
}

func TestMade_failedFillLeavesNothing(t *testing.T) {
	t.Parallel()
	b := &bench{work: t.TempDir()}
	broken := errors.New("broken")
	if _, err := b.made("x", func(string) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("made: %v", err)
	}
	calls := 0
	fill := func(dir string) error {
		calls++
		return os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
	}
	for range 2 {
		dir, err := b.made("x", fill)
		if err != nil || !exists(filepath.Join(dir, "f")) {
			t.Fatalf("made %s: %v", dir, err)
		}
	}
	if calls != 1 {
		t.Errorf("filled %d times", calls)
	}
}

func TestTimed_saysWhatAProcessSaid(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s, err := timed(t.Context(), "", nil, &out, os.Args[0], "-test.run=^$")
	if err != nil || s.Wall <= 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := timed(t.Context(), "", nil, nil, os.Args[0], driverFlag, "nothing"); err == nil || !strings.Contains(err.Error(), `no driver "nothing"`) {
		t.Errorf("a process that failed: %v", err)
	}
}

func TestCPUModel(t *testing.T) {
	t.Parallel()
	if got := cpuModel("processor\t: 0\nmodel name\t: AMD EPYC 7B13\n", "amd64"); got != "AMD EPYC 7B13" {
		t.Errorf("found %q", got)
	}
	if got := cpuModel("nothing", "arm64"); got != "arm64" {
		t.Errorf("found %q", got)
	}
}
