//go:build unix

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/internal/childtest"
)

func TestMain(m *testing.M) { childtest.Main(m, child) }

// child applies the crash graph. "kill" dies without warning at the nth step of
// writing; "race" waits for a line on its input before it begins; "hold" stays
// in its first stage until its input ends.
func child(args []string) error {
	dir, what := args[0], args[1]
	n, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	// A kill loses nothing that was written; only a power cut needs the syncs.
	opts := cache.Options{Command: "raglab apply child.hcl", NoSync: true}
	if what == "kill" {
		opts.Failpoint = killAt(n)
	}
	store, err := cache.OpenLocal(dir, opts)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	var before func() error
	switch what {
	case "race":
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
	case "hold":
		before = func() error {
			fmt.Println("held")
			_, err := io.Copy(io.Discard, in)
			return err
		}
	}
	g := NewGraph()
	crashGraph(g, filepath.Join(dir, "counter"), before)
	out, err := applyGraph(store, g, func(Event) {})
	if err == nil {
		err = errors.Join(out.Err(), store.Close())
	}
	return err
}

// killAt kills the process at the nth step.
func killAt(n int64) func(cache.Step, string) error {
	var steps atomic.Int64
	return func(cache.Step, string) error {
		if steps.Add(1) == n {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return err
			}
			select {}
		}
		return nil
	}
}

// crashGraph is a graph whose stages note in a file that they run. All but the
// ends are different each time they run.
func crashGraph(g *Graph, counter string, before func() error) {
	l := &lab{graph: g}
	note := func(do func(context.Context, *Task) error) func(context.Context, *Task) error {
		return func(ctx context.Context, t *Task) error {
			if before != nil && t.Address == "roll[0]" {
				if err := before(); err != nil {
					return err
				}
			}
			f, err := os.OpenFile(counter, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, t.Address)
			return errors.Join(err, f.Close(), do(ctx, t))
		}
	}
	roll := func(_ context.Context, t *Task) error {
		return t.Write("out", []byte(fmt.Sprintf("%s of process %d", t.Address, os.Getpid())))
	}
	var all []*Stage
	for i := range 4 {
		all = append(all, l.addStep(volatileKind, fmt.Sprintf("roll[%d]", i), fmt.Sprint(i), note(roll)))
		l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), note(join("m")), all[i])
	}
	l.addStep(pureKind, "make[end]", "e", note(join("e")), all...)
}

func applyGraph(store *cache.Local, g *Graph, events func(Event)) (*Outcomes, error) {
	log := hclog.NewNullLogger()
	p, err := (&Planner{Store: store, Log: log, SimulateBytes: 1 << 20}).Plan(context.Background(), g, nil)
	if err != nil {
		return nil, err
	}
	return newExecutor(store, events).Apply(context.Background(), p)
}

// counted is how often each stage ran, in all processes.
func counted(t *testing.T, dir string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "counter"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, a := range strings.Fields(string(b)) {
		n[a]++
	}
	return n
}

// Processes that apply the same at once do each piece of work once.
func TestApply_processesShareWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []*childtest.Child
	for range 3 {
		all = append(all, childtest.Start(t, dir, "race", "0"))
	}
	for _, p := range all {
		if _, err := io.WriteString(p.In, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	n := counted(t, dir)
	if len(n) != 9 {
		t.Errorf("%d stages ran: %v", len(n), n)
	}
	for a, times := range n {
		if times != 1 {
			t.Errorf("%s ran %d times", a, times)
		}
	}
}

// A process killed at any moment leaves a cache from which the next apply comes
// to its end, with all that was finished kept.
func TestApply_killed(t *testing.T) {
	t.Parallel()
	const step = 2
	for n := 1; n < 400; n += step {
		if !t.Run(strconv.Itoa(n), func(t *testing.T) { applyAfterKill(t, n) }) {
			return
		}
		if done {
			return
		}
	}
	t.Error("no child came to its end: raise the limit")
}

var done bool // a child came to its end before it was to be killed

func applyAfterKill(t *testing.T, n int) {
	dir := t.TempDir()
	p := childtest.Start(t, dir, "kill", strconv.Itoa(n))
	err := p.Wait()
	var exit *exec.ExitError
	if done = err == nil; !done && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
		t.Fatal(err)
	}
	first := counted(t, dir)
	l := labIn(t, dir)
	crashGraph(l.graph, filepath.Join(dir, "counter"), nil)
	plan := l.plan()
	finished := l.outputsOf(plan)
	out := l.applyPlan(t.Context(), plan)
	l.wantDone(out)
	got := l.outputs(out)
	for a, text := range finished {
		if got[a] != text {
			t.Errorf("%s was %q, and is %q", a, text, got[a])
		}
		if counted(t, dir)[a] != first[a] {
			t.Errorf("%s was finished and ran again", a)
		}
	}
	for i := range 4 {
		if roll := got[fmt.Sprintf("roll[%d]", i)]; got[fmt.Sprintf("make[%d]", i)] != "m("+roll+")" || !strings.Contains(got["make[end]"], "("+roll+")") {
			t.Errorf("results do not belong together: %q", got)
		}
	}
	if p := l.plan(); p.Changes() {
		t.Errorf("something is left:\n%s", say(p))
	}
	if again := l.done(); again.Executed > 0 || !maps.Equal(l.outputs(again), got) {
		t.Errorf("the next apply ran %d stages", again.Executed)
	}
}

// outputsOf are the outputs of what a plan found in the cache.
func (l *lab) outputsOf(p *Plan) map[string]string {
	l.Helper()
	m := map[string]string{}
	for _, ps := range p.Stages {
		if ps.Outcome != Cached {
			continue
		}
		b, err := l.store.ReadAll(l.Context(), ps.Outputs[0].Digest)
		if err != nil {
			l.Fatal(err)
		}
		m[ps.Stage.Address] = string(b)
	}
	return m
}

// A holder of a lease that lives is waited for by name; one that dies is not
// waited for.
func TestApply_deadHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := childtest.Start(t, dir, "hold", "0")
	if line, err := p.Out.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	l := labIn(t, dir)
	crashGraph(l.graph, filepath.Join(dir, "counter"), nil)
	told := 0
	l.ex.Events = func(e Event) {
		if e.Type != EventWaiting || e.Stage.Address != "roll[0]" {
			return
		}
		told++
		if e.Holder.PID != p.Process.Pid || e.Holder.Command != "raglab apply child.hcl" {
			t.Errorf("waiting for %s, not for the child, process %d", e.Holder, p.Process.Pid)
		}
		if err := p.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = p.Wait() // killed
	}
	l.done()
	if told != 1 {
		t.Errorf("told %d times for whom it waits", told)
	}
}
