package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/cache"
	"raglab/engine/workspace"
	"raglab/internal/report"
)

// newRivers copies the experiment of testdata/rivers into a folder of the test's
// own, with an environment like a script's.
func newRivers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/rivers")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "rivers.hcl"), `output "csv" { path = "out.csv" }`, `output "json" { path = "out.json" }`)
	return dir
}

func edit(t *testing.T, path, old, next string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), old, next)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// apply runs raglab apply to its end and returns its results.
func apply(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := startProgram(dir, dir, append([]string{"raglab", "apply", "-progress", "plain", "rivers.hcl"}, args...)...)
	if code := p.wait(); code != exitOK {
		t.Fatalf("apply ended with %d:\n%s", code, p.err.String())
	}
	return results(t, dir)
}

// results are the experiment's results without what was measured of time and
// machine.
func results(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	r.Generated, r.Machines, r.Effects = time.Time{}, nil, nil
	r.Recommended, r.Limits = nil, nil // these follow from what was measured
	r.Mattered = slices.DeleteFunc(r.Mattered, func(f report.Finding) bool { return f.Kind == "cost" })
	for i := range r.Configurations {
		c := &r.Configurations[i]
		c.Latency, c.IngestSeconds = nil, nil
	}
	for i := range r.Ingest {
		in := &r.Ingest[i]
		in.Chunk, in.Index, in.Total = nil, nil, nil
		in.Normalise, in.NormalisePerDocument, in.Copy, in.Build = nil, nil, nil, nil
	}
	b, err = json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestApply_killedAtAnyMoment kills applies at random moments, one after the
// other on one cache, and wants the results of an undisturbed apply at the end,
// from a cache without damage.
func TestApply_killedAtAnyMoment(t *testing.T) {
	t.Parallel()
	undisturbed := newRivers(t)
	began := time.Now()
	want := apply(t, undisturbed)
	whole := time.Since(began)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := newRivers(t)
	killed := 0
	for range 15 {
		p := startProgram(dir, dir, "raglab", "apply", "-quiet", "rivers.hcl")
		timer := time.NewTimer(time.Duration(random.Int64N(int64(whole))))
		select {
		case <-timer.C:
			_ = p.cmd.Process.Kill() // it may have ended just now
		case <-p.ended:
			timer.Stop()
		}
		if p.wait() < 0 {
			killed++
			continue
		}
		// It was done before its time: the next begins with nothing.
		if err := os.RemoveAll(filepath.Join(dir, ".test", "cache")); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 15 applies were killed", killed)
	if killed == 0 {
		t.Error("no apply was killed: the test tried nothing")
	}
	if diff := cmp.Diff(want, apply(t, dir)); diff != "" {
		t.Errorf("the results differ from an undisturbed apply's:\n%s", diff)
	}
	verify := startProgram(dir, dir, "raglab", "cache", "verify")
	if code := verify.wait(); code != exitOK {
		t.Errorf("cache verify ended with %d:\n%s", code, verify.out.String())
	}
}

// TestApply_twoAtOnce starts two applies on one cache: both end well, and each
// result was made once.
func TestApply_twoAtOnce(t *testing.T) {
	t.Parallel()
	dir := newRivers(t)
	first := startProgram(dir, dir, "raglab", "apply", "-progress", "plain", "rivers.hcl")
	second := startProgram(dir, dir, "raglab", "apply", "-progress", "plain", "rivers.hcl")
	for _, p := range []*program{first, second} {
		if code := p.wait(); code != exitOK {
			t.Errorf("an apply ended with %d:\n%s", code, p.err.String())
		}
	}
	made := map[string]int{}
	for _, l := range logsOf(t, dir) {
		for _, s := range l.Stages {
			if s.State == "executed" {
				made[s.Key]++
			}
		}
	}
	if len(made) == 0 {
		t.Error("no stage ran")
	}
	for key, n := range made {
		if n != 1 {
			t.Errorf("the result %s was made %d times", key, n)
		}
	}
}

func logsOf(t *testing.T, dir string) []*workspace.Log {
	t.Helper()
	c, err := cache.OpenLocal(filepath.Join(dir, ".test", "cache"), cache.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := c.Runs("rivers")
	if err != nil {
		t.Fatal(err)
	}
	var logs []*workspace.Log
	for _, r := range runs {
		l, err := readRunLog(c, "rivers", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	return logs
}

// TestApply_interrupted interrupts an apply that waits for another process: it
// ends at once with 130, keeps what it finished, and the next goes on from there.
func TestApply_interrupted(t *testing.T) {
	t.Parallel()
	want := apply(t, newRivers(t))
	dir := newRivers(t)
	release := leaseOf(t, dir, "chunk[whole]#000")
	p := startProgram(dir, dir, "raglab", "apply", "-progress", "plain", "rivers.hcl")
	if err := p.await("waiting for process"); err != nil {
		t.Fatal(err)
	}
	if err := p.await("chunk[sentence]#007: done"); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if !strings.Contains(p.err.String(), "raglab apply goes on from here") {
		t.Errorf("it does not say that the next goes on:\n%s", p.err.String())
	}
	release()
	if got := apply(t, dir); got != want {
		t.Error(cmp.Diff(want, got))
	}
	logs := logsOf(t, dir)
	if !strings.HasSuffix(runState(logs[1]), ", interrupted") {
		t.Errorf("the log says %q of the interrupted apply", runState(logs[1]))
	}
	for _, s := range logs[0].Stages {
		if s.State == "executed" && slices.Contains([]string{"fetch[files]", "chunk[sentence]#007"}, s.Address) {
			t.Errorf("%s ran again", s.Address)
		}
	}
}

// leaseOf takes the lease of a stage's key as a plan tells it, in this process.
func leaseOf(t *testing.T, dir, address string) (release func()) {
	t.Helper()
	p := startProgram(dir, dir, "raglab", "plan", "-json", "rivers.hcl")
	if code := p.wait(); code != exitOK {
		t.Fatalf("plan ended with %d:\n%s", code, p.err.String())
	}
	events, err := readEvents([]byte(p.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(events, func(e anEvent) bool { return e.Change.Address == address })
	if at < 0 {
		t.Fatalf("the plan has no %s", address)
	}
	key, err := cache.ParseKey(events[at].Change.Key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.OpenLocal(filepath.Join(dir, ".test", "cache"), cache.Options{Command: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Acquire(t.Context(), key, cache.LeaseRequest{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
