package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

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
		"postgres":     cmdPostgres,
		"database":     cmdDatabase,
		"serve":        cmdServe,
		"zip":          cmdZip,
		"dataset":      cmdDataset,
		"sql":          cmdSQL,
		"wiki":         cmdWiki,
		"hub":          cmdHub,
		"standin":      cmdStandin,
		"reranker":     cmdReranker,
		"service":      cmdService,

		"bucket":        cmdBucket,
		"corrupt-store": cmdCorruptStore,
		"objects":       cmdObjects,
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

// prefix NAME TEXT N sets a variable to the beginning of a text.
func cmdPrefix(ts *testscript.TestScript, args []string) {
	usage(ts, args, 3, "prefix NAME TEXT N")
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Setenv(args[0], args[1][:n])
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
