// Raglab measures which choices in a retrieval pipeline matter. See the README.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"

	"raglab/cache"
	"raglab/internal/pg/private"
	"raglab/spec"
)

// Exit codes, as every command's help lists them.
const (
	exitOK          = 0
	exitError       = 1
	exitChanges     = 2
	exitFailed      = 3
	exitDifferent   = 4
	exitLocked      = 11
	exitInterrupted = 130
)

// command is one word of the command line.
type command struct {
	name    string
	summary string
	help    string
	run     func(ctx context.Context, t terminal, args []string) int
}

// commands lists them in the order in which help shows them. It is a function
// because the help command lists it too.
func commands() []command {
	return []command{
		initCommand(), fmtCommand(), validateCommand(), planCommand(), applyCommand(),
		reportCommand(), showCommand(), gateCommand(), diffCommand(), explainCommand(), logCommand(), graphCommand(), goldenCommand(), cacheCommand(),
		dbCommand(), workerCommand(), statusCommand(), cancelCommand(), lockCommand(), setupCommand(), docsCommand(), versionCommand(),
	}
}

// terminal is where a command reads and writes.
type terminal struct {
	in  io.Reader
	out io.Writer
	err io.Writer
	log hclog.Logger
	// screen is standard error when it is a terminal.
	screen *os.File
	// events, when set, takes all that would be told to a person.
	events *events
}

func main() {
	if private.IsSupervisor(os.Args) {
		os.Exit(private.Supervise(os.Args))
	}
	os.Exit(run())
}

func run() int {
	garbage.planning()
	t := terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		t.screen = os.Stderr
	}
	options := &hclog.LoggerOptions{Name: "raglab", Level: logLevel(), Output: os.Stderr}
	if options.Level > hclog.Debug {
		options.Exclude = (&warnings{now: time.Now}).drop
	}
	t.log = hclog.New(options)
	// What libraries tell the standard logger is for developers.
	log.SetFlags(0)
	log.SetOutput(t.log.StandardWriter(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}))
	ctx, stop := interruptible()
	defer stop()
	return dispatch(ctx, t, os.Args[1:])
}

func logLevel() hclog.Level {
	if l := hclog.LevelFromString(os.Getenv("RAGLAB_LOG")); l != hclog.NoLevel {
		return l
	}
	return hclog.Error
}

var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends at the first interrupt. The second
// ends the process.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range signals {
			if ctx.Err() != nil {
				os.Exit(exitInterrupted)
			}
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

func dispatch(ctx context.Context, t terminal, args []string) int {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		return help(t, args)
	}
	if c, ok := findCommand(t, args[0]); ok {
		return c.run(ctx, t, args[1:])
	}
	return exitError
}

// findCommand finds a command, or says that it is not there.
func findCommand(t terminal, name string) (command, bool) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
		names = append(names, c.name)
	}
	fmt.Fprintf(t.err, "raglab: there is no command %q", name)
	if near := spec.Suggest(name, names); near != "" {
		fmt.Fprintf(t.err, "; did you mean %q?", near)
	}
	fmt.Fprintln(t.err, "\nraglab help lists the commands.")
	return command{}, false
}

const intro = `raglab measures which choices in a retrieval pipeline matter.

Usage: raglab COMMAND [ARGUMENTS]

`

func help(t terminal, args []string) int {
	if len(args) > 1 {
		c, ok := findCommand(t, args[1])
		if !ok {
			return exitError
		}
		fmt.Fprint(t.out, c.help)
		return exitOK
	}
	fmt.Fprint(t.out, intro)
	for _, c := range commands() {
		fmt.Fprintf(t.out, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(t.out, "\nraglab help COMMAND tells more of one.\n")
	return exitOK
}

// parseFlags parses flags that may stand before, between and behind arguments.
func parseFlags(t terminal, set *flag.FlagSet, help string, args []string) ([]string, error) {
	set.SetOutput(io.Discard)
	var rest []string
	for {
		err := set.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(t.out, help)
			return nil, err
		}
		if err != nil {
			t.fail(set.Name(), fmt.Errorf("%w%s", err, nearestFlag(set, err)))
			return nil, err
		}
		if set.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, set.Arg(0))
		args = set.Args()[1:]
	}
}

// nearestFlag suggests a flag for one that is not defined.
func nearestFlag(set *flag.FlagSet, err error) string {
	given, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near := spec.Suggest(given, names); near != "" {
		return "; did you mean -" + near + "?"
	}
	return ""
}

// exitOfFlags is the exit code for what parseFlags returned.
func exitOfFlags(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitError
}

// fail reports an error that ends a command.
func (t terminal) fail(name string, err error) int {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		t.problem(name, errInterrupted)
		return exitInterrupted
	}
	t.problem(name, err)
	if errors.Is(err, cache.ErrLocked) {
		return exitLocked
	}
	return exitError
}

// problem tells of an error.
func (t terminal) problem(name string, err error) {
	if t.events != nil {
		t.events.problem(err)
		return
	}
	fmt.Fprintf(t.err, "raglab %s: %v\n", name, err)
}

// warn tells of what does not keep a command from going on.
func (t terminal) warn(text string) {
	text = strings.ReplaceAll(text, "\n", "; ")
	if t.events != nil {
		t.events.emit("warning", text)
		return
	}
	fmt.Fprintln(t.err, "warning: "+text)
}
