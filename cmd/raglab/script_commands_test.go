package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/report"
)

// scriptCommands are the words that scripts have besides testscript's own.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := map[string]func(*testscript.TestScript, []string){
		"rivers":       cmdRivers,
		"exitcode":     cmdExitCode,
		"follow":       cmdFollow,
		"normalise":    cmdNormalise,
		"edit":         cmdEdit,
		"bytes":        cmdBytes,
		"tree":         cmdTree,
		"stamp":        cmdStamp,
		"ran":          cmdRan,
		"corrupt":      cmdCorrupt,
		"forget":       cmdForget,
		"falsify":      cmdFalsify,
		"outside":      cmdOutside,
		"lease":        cmdLease,
		"release":      cmdRelease,
		"interrupt":    cmdInterrupt,
		"events":       cmdEvents,
		"dos":          cmdDOS,
		"undos":        cmdUndoDOS,
		"metrics":      cmdMetrics,
		"expected":     cmdExpected,
		"json-lost":    cmdJSONLost,
		"secret":       cmdSecret,
		"secret-cache": cmdSecretCache,
		"keyof":        cmdKeyOf,
		"prefix":       cmdPrefix,
		"age":          cmdAge,
		"await-log":    cmdAwaitLog,
	}
	out := map[string]func(*testscript.TestScript, bool, []string){}
	for name, run := range commands {
		out[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("%s does not take !", name)
			}
			run(ts, args)
		}
	}
	return out
}

func usage(ts *testscript.TestScript, args []string, want int, text string) {
	if len(args) < want {
		ts.Fatalf("usage: %s", text)
	}
}

// exitcode N PROGRAM ARG… runs a program that must end with that code.
func cmdExitCode(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "exitcode N PROGRAM ARG…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, not %d", code, want)
	}
}

// rivers copies the experiment that most scripts work with into the script's
// folder: testdata/rivers.
func cmdRivers(ts *testscript.TestScript, _ []string) {
	ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(ts.Getenv("RIVERS"))))
}

// follow SPEC FLAG… prints what comes of an edit: the plan, the stages that an
// apply of it then runs, and what a plan says after that.
func cmdFollow(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "follow SPEC FLAG…")
	ts.Check(ts.Exec("raglab", append([]string{"plan"}, args...)...))
	var b strings.Builder
	b.WriteString(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	before := executed(ts)
	ts.Check(ts.Exec("raglab", append([]string{"apply", "-quiet", "-threads", "1"}, args...)...))
	b.WriteString(ts.ReadFile("stderr"))
	b.WriteString("\nThe apply ran:\n")
	if after := executed(ts); after.runs > before.runs {
		for _, address := range after.addresses {
			b.WriteString("  " + address + "\n")
		}
	}
	ts.Check(ts.Exec("raglab", append([]string{"plan"}, args...)...))
	b.WriteString("\nAfter it:\n" + ts.ReadFile("stdout"))
	fmt.Fprint(ts.Stdout(), normalise(b.String(), ts.Getenv("WORK")))
}

// normalise replaces, in the last command's output, what differs from run to
// run: times, keys, names of runs, this script's folder.
func cmdNormalise(ts *testscript.TestScript, _ []string) {
	work := ts.Getenv("WORK")
	out, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	fmt.Fprint(ts.Stdout(), normalise(out, work))
	fmt.Fprint(ts.Stderr(), normalise(stderr, work))
}

// edit FILE OLD NEW replaces a text that stands in the file once. In both \n is
// a line's end.
func cmdEdit(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "edit FILE OLD NEW")
	unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t")
	old, next := unescape.Replace(args[1]), unescape.Replace(args[2])
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, old); n != 1 {
		ts.Fatalf("%s holds %q %d times", args[0], old, n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, next, 1)), 0o644))
}

// bytes FILE TEXT writes a file of bytes, written as in a Go string.
func cmdBytes(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "bytes FILE TEXT")
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// dos FILE gives a file a byte order mark and the line ends of DOS.
func cmdDOS(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "dos FILE")
	text := "\ufeff" + strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// undos FILE takes them away.
func cmdUndoDOS(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "undos FILE")
	text := strings.TrimPrefix(strings.ReplaceAll(ts.ReadFile(args[0]), "\r\n", "\n"), "\ufeff")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// metrics FILE prints, of a CSV output, what is no measurement of time.
func cmdMetrics(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "metrics FILE")
	text, err := metricsOf([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), text)
}

// expected prints the table of expected figures from the last output.
func cmdExpected(ts *testscript.TestScript, _ []string) {
	_, table, ok := strings.Cut(ts.ReadFile("stdout"), "Expected figures\n")
	if !ok {
		ts.Fatalf("the last output has no table of expected figures")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	fmt.Fprintln(ts.Stdout(), table)
}

// json-lost FILE prints, of a JSON output, each configuration's metrics and the
// questions of which its chunks hold no answer.
func cmdJSONLost(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "json-lost FILE")
	var r report.Report
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	for _, c := range r.Configurations {
		fmt.Fprintf(ts.Stdout(), "%s", c.Name)
		for _, m := range r.Metrics {
			fmt.Fprintf(ts.Stdout(), " %s=%.3f", m, *c.Metrics[m])
		}
		fmt.Fprintf(ts.Stdout(), " lost=%v\n", c.Lost)
	}
}

// tree DIR lists the folders and files below a folder, with modes and digests.
func cmdTree(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "tree DIR")
	root := ts.MkAbs(args[0])
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || d.IsDir() {
			fmt.Fprintf(ts.Stdout(), "%s %s\n", info.Mode(), rel)
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(ts.Stdout(), "%s %s %x %s\n", info.Mode(), rel, sha256.Sum256(b), info.ModTime().UTC().Format(time.RFC3339Nano))
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		ts.Check(err)
	}
}

// stamp FILE… prints when files were last written.
func cmdStamp(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "stamp FILE…")
	for _, a := range args {
		info, err := os.Stat(ts.MkAbs(a))
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), a, info.ModTime().UTC().Format(time.RFC3339Nano))
	}
}

// openCache opens the script's cache.
func openCache(ts *testscript.TestScript) *cache.Local {
	c, err := cache.OpenLocal(ts.Getenv("RAGLAB_CACHE"), cache.Options{Command: "a test"})
	ts.Check(err)
	return c
}

// lastApply is how many applies of all experiments left a log, and the addresses
// of the stages that ran in the last, in order.
type lastApply struct {
	runs      int
	addresses []string
}

func executed(ts *testscript.TestScript) lastApply {
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	experiments, err := c.Experiments()
	ts.Check(err)
	var out lastApply
	last := ""
	for _, e := range experiments {
		runs, err := c.Runs(e)
		ts.Check(err)
		out.runs += len(runs)
		if len(runs) == 0 || runs[0].ID < last {
			continue
		}
		last = runs[0].ID
		l, err := readRunLog(c, e, last)
		ts.Check(err)
		out.addresses = nil
		for _, s := range l.Stages {
			if s.State == "executed" {
				out.addresses = append(out.addresses, s.Address)
			}
		}
	}
	slices.Sort(out.addresses)
	return out
}

// ran prints how many applies left a log and the addresses of the stages that
// ran in the last, in order.
func cmdRan(ts *testscript.TestScript, _ []string) {
	l := executed(ts)
	fmt.Fprintf(ts.Stdout(), "%d runs\n", l.runs)
	for _, a := range l.addresses {
		fmt.Fprintln(ts.Stdout(), a)
	}
}

// lastKey is the key of the result that an experiment's last apply left for a
// stage.
func lastKey(ts *testscript.TestScript, c *cache.Local, experiment, address string) cache.Key {
	raw, err := c.State(experiment).Read("ledger")
	ts.Check(err)
	l, err := engine.ParseLedger(raw)
	ts.Check(err)
	e, ok := l[address]
	if !ok {
		ts.Fatalf("the ledger of %s has no %s", experiment, address)
	}
	return e.Key
}

func blobPath(c *cache.Local, d cache.Digest) string {
	name := d.String()
	return filepath.Join(c.Dir(), "cas", name[:2], name)
}

// corrupt FILE flips a bit in the middle of a file; corrupt EXPERIMENT ADDRESS
// does so in the first output of a stage.
func cmdCorrupt(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "corrupt FILE | EXPERIMENT ADDRESS")
	path := ts.MkAbs(args[0])
	if len(args) == 2 {
		c := openCache(ts)
		defer func() { ts.Check(c.Close()) }()
		r, err := c.Get(context.Background(), lastKey(ts, c, args[0], args[1]))
		ts.Check(err)
		path = blobPath(c, r.Outputs[0].Digest)
	}
	b, err := os.ReadFile(path)
	ts.Check(err)
	if len(b) == 0 {
		ts.Fatalf("%s is empty", path)
	}
	b[len(b)/2] ^= 1
	ts.Check(os.Chmod(path, 0o644))
	ts.Check(os.WriteFile(path, b, 0o444))
}

// forget record|blob EXPERIMENT ADDRESS removes the record or the first output
// of a stage's result.
func cmdForget(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "forget record|blob EXPERIMENT ADDRESS")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	key := lastKey(ts, c, args[1], args[2])
	if args[0] == "record" {
		ts.Check(c.Delete(context.Background(), key))
		return
	}
	r, err := c.Get(context.Background(), key)
	ts.Check(err)
	ts.Check(os.Remove(blobPath(c, r.Outputs[0].Digest)))
}

// theSecret is the text that must not get out.
const theSecret = "S3CRET"

// secret checks that the last command's output does not hold it.
func cmdSecret(ts *testscript.TestScript, _ []string) {
	for _, stream := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(stream), theSecret) {
			ts.Fatalf("%s tells the secret", stream)
		}
	}
}

// secret-cache checks that no file of the cache holds it.
func cmdSecretCache(ts *testscript.TestScript, _ []string) {
	files := 0
	ts.Check(filepath.WalkDir(ts.Getenv("RAGLAB_CACHE"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(theSecret)) {
			return fmt.Errorf("%s holds the secret", path)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("the cache is empty")
	}
}

// keyof NAME EXPERIMENT ADDRESS sets a variable to the key of a stage's result.
func cmdKeyOf(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "keyof NAME EXPERIMENT ADDRESS")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	ts.Setenv(args[0], lastKey(ts, c, args[1], args[2]).String())
}

// prefix NAME TEXT N sets a variable to the beginning of a text.
func cmdPrefix(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "prefix NAME TEXT N")
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Setenv(args[0], args[1][:n])
}

// age makes everything in the cache look as if it had last been used two days
// ago.
func cmdAge(ts *testscript.TestScript, _ []string) {
	then := time.Now().Add(-48 * time.Hour)
	ts.Check(filepath.WalkDir(ts.Getenv("RAGLAB_CACHE"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// await-log EXPERIMENT waits until an apply that was started in the background
// has begun: its log is there and has no end.
func cmdAwaitLog(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "await-log EXPERIMENT")
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		runs, err := c.Runs(args[0])
		ts.Check(err)
		if len(runs) > 0 {
			if l, err := readRunLog(c, args[0], runs[0].ID); err == nil && l.End == nil {
				return
			}
		}
		<-tick.C
	}
	ts.Fatalf("no apply of %s is under way", args[0])
}

// falsify EXPERIMENT ADDRESS puts another result in the place of a stage's: its
// first output with a byte more.
func cmdFalsify(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "falsify EXPERIMENT ADDRESS")
	ctx := context.Background()
	c := openCache(ts)
	defer func() { ts.Check(c.Close()) }()
	r, err := c.Get(ctx, lastKey(ts, c, args[0], args[1]))
	ts.Check(err)
	b, err := c.ReadAll(ctx, r.Outputs[0].Digest)
	ts.Check(err)
	w, err := c.Create(ctx)
	ts.Check(err)
	_, err = w.Write(append(b, ' '))
	ts.Check(err)
	blob, err := w.Commit()
	ts.Check(err)
	blob.Name = r.Outputs[0].Name
	other := *r
	other.Outputs = append([]cache.Blob{blob}, r.Outputs[1:]...)
	ts.Check(c.Delete(ctx, r.Key))
	_, err = c.Put(ctx, &other)
	ts.Check(err)
}

// outside FILE MARKER prints, as Go writes texts, what stands in a file before
// and after the lines between a marker's two.
func cmdOutside(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "outside FILE MARKER")
	before, rest, ok := strings.Cut(ts.ReadFile(args[0]), "<!-- raglab:"+args[1]+" -->")
	inside, after, ok2 := strings.Cut(rest, "<!-- /raglab:"+args[1]+" -->")
	if !ok || !ok2 {
		ts.Fatalf("%s has no marker %s", args[0], args[1])
	}
	fmt.Fprintf(ts.Stdout(), "%q\n%d lines\n%q\n", before, strings.Count(inside, "\n"), after)
}

// heldLeases is where a script keeps the leases that it holds.
type heldLeases struct {
	cache  *cache.Local
	leases []*cache.Lease
}

// lease ADDRESS takes, in the test's own process, the lease of a stage's key as
// the last command's output, of plan -json, tells it.
func cmdLease(ts *testscript.TestScript, args []string) {
	usage(ts, args, 1, "lease ADDRESS")
	var key cache.Key
	for _, e := range parseEvents(ts, ts.ReadFile("stdout")) {
		if e.Change.Address == args[0] {
			var err error
			key, err = cache.ParseKey(e.Change.Key)
			ts.Check(err)
		}
	}
	if key.IsZero() {
		ts.Fatalf("the last output plans no key for %s", args[0])
	}
	c := openCache(ts)
	l, err := c.Acquire(context.Background(), key, cache.LeaseRequest{Command: "a test", Timeout: time.Second})
	ts.Check(err)
	held := ts.Value(heldKey{}).(*heldLeases)
	held.cache, held.leases = c, append(held.leases, l)
}

type heldKey struct{}

func (h *heldLeases) release() error {
	var errs []error
	for _, l := range h.leases {
		errs = append(errs, l.Release())
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close())
	}
	*h = heldLeases{}
	return errors.Join(errs...)
}

// release gives back all leases.
func cmdRelease(ts *testscript.TestScript, _ []string) {
	ts.Check(ts.Value(heldKey{}).(*heldLeases).release())
}

// interrupt TEXT PROGRAM ARG… starts a program, sends it an interrupt when its
// standard error holds the text, and prints what it wrote and its exit code.
func cmdInterrupt(ts *testscript.TestScript, args []string) {
	usage(ts, args, 2, "interrupt TEXT PROGRAM ARG…")
	p := startProgram(ts.Getenv("WORK"), ts.MkAbs("."), args[1:]...)
	ts.Check(p.await(args[0]))
	ts.Check(p.cmd.Process.Signal(os.Interrupt))
	code := p.wait()
	fmt.Fprint(ts.Stdout(), p.out.String())
	fmt.Fprintf(ts.Stderr(), "%s(exit code %d)\n", p.err.String(), code)
}

// events checks that the last output is raglab's events: each line an object
// of a type of the closed list, the first the version.
func cmdEvents(ts *testscript.TestScript, args []string) {
	text := ts.ReadFile("stdout")
	counts := map[string]int{}
	for _, e := range parseEvents(ts, text) {
		counts[e.Type]++
	}
	for _, want := range args {
		if counts[want] == 0 {
			ts.Fatalf("no event of type %s: there are %v", want, counts)
		}
	}
	fmt.Fprint(ts.Stdout(), text)
}

// anEvent is as much of an event as tests look at.
type anEvent struct {
	Type   string        `json:"type"`
	Stage  string        `json:"stage"`
	Change plannedChange `json:"change"`
}

func parseEvents(ts *testscript.TestScript, text string) []anEvent {
	events, err := readEvents([]byte(text))
	ts.Check(err)
	return events
}

// program is a raglab that runs beside a test.
type program struct {
	cmd      *exec.Cmd
	out, err watched
	ended    chan struct{}
}

// watched is a buffer in which one can wait for a text.
type watched struct {
	changed chan struct{}
	buf     lockedBuffer
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return n, err
}

func (w *watched) String() string { return w.buf.String() }

func startProgram(work, dir string, args ...string) *program {
	path, err := exec.LookPath(args[0])
	if err != nil {
		path = args[0] // Start will say so
	}
	p := &program{cmd: exec.Command(path, args[1:]...), ended: make(chan struct{})}
	p.out.changed, p.err.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	p.cmd.Dir, p.cmd.Env = dir, environ(work)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		_, _ = p.err.Write([]byte(err.Error()))
		close(p.ended)
		return p
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the code is in ProcessState
	}()
	return p
}

// await waits until standard error holds a text.
func (p *program) await(text string) error {
	deadline := time.After(30 * time.Second)
	for !strings.Contains(p.err.String(), text) {
		select {
		case <-p.err.changed:
		case <-p.ended:
			if !strings.Contains(p.err.String(), text) {
				return fmt.Errorf("ended without saying %q:\n%s", text, p.err.String())
			}
		case <-deadline:
			return fmt.Errorf("does not say %q:\n%s", text, p.err.String())
		}
	}
	return nil
}

// wait returns the exit code, -1 of a program that a signal ended.
func (p *program) wait() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// lockedBuffer may be written and read at the same time.
type lockedBuffer struct {
	locked
	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}
