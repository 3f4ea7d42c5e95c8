package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"raglab/engine/workspace"
	"raglab/internal/pg/private"
	"raglab/spec"
)

const dbHelp = `Usage: raglab db status|start|stop|psql|drop [SPEC] [flags]

The Postgres that some retrievers keep their indexes in: the server of SPEC's
store block, or of RAGLAB_DSN, or else raglab's own in the cache folder, which
starts when it is needed and stops when nobody has used it for a while.

status                 which server it is, and what raglab has there
start                  start raglab's own server now
  -idle TIME             stop when nobody has used it for that long, as 2h
                         (default 10m)
stop                   stop raglab's own server now
  -force                 even though other processes use it
psql [SPEC] [ARG…]     open psql there; the flags below come before, and all
                         that follows is psql's
drop                   remove what raglab has there: its schema with all index
                         tables or, of its own server, the data folder
  -yes                   do so; without it, only say what would go
  -force                 even though other processes use it

` + specHelp + `  -json                status as one JSON object

Indexes that were removed are built again when they are needed.

Exit codes: 0 done, 1 error or not sure; of psql its own.
`

func dbCommand() command {
	return command{"db", "look after the Postgres that indexes live in", dbHelp, runDB}
}

type dbArgs struct {
	specArgs
	idle       time.Duration
	force, yes bool
	json       bool
}

func runDB(ctx context.Context, t terminal, argv []string) int {
	var a dbArgs
	set := flag.NewFlagSet("db", flag.ContinueOnError)
	a.register(set)
	set.DurationVar(&a.idle, "idle", 0, "")
	set.BoolVar(&a.force, "force", false, "")
	set.BoolVar(&a.yes, "yes", false, "")
	set.BoolVar(&a.json, "json", false, "")
	own, psql := splitPsql(argv)
	rest, err := parseFlags(t, set, dbHelp, own)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) == 0 {
		fmt.Fprint(t.err, dbHelp)
		return exitError
	}
	words := []string{"status", "start", "stop", "psql", "drop"}
	if !slices.Contains(words, rest[0]) {
		err := fmt.Errorf("there is no %q; raglab help db lists what there is", rest[0])
		if near := spec.Suggest(rest[0], words); near != "" {
			err = fmt.Errorf("there is no %q; did you mean %q?", rest[0], near)
		}
		return t.fail("db", err)
	}
	var exp *spec.Experiment
	if len(rest) > 1 {
		path, err := specPath(rest[1:])
		if err != nil {
			return t.fail("db", err)
		}
		loaded, diags := a.load(path)
		t = t.hiding(loaded)
		t.showDiagnostics(loaded, diags)
		if diags.HasErrors() {
			return exitError
		}
		exp = loaded
	}
	return a.open(ctx, t, exp, rest[0], psql)
}

// splitPsql parts raglab's words and flags from psql's: those behind "psql", the
// flags that raglab knows, and a spec.
func splitPsql(argv []string) (own, psql []string) {
	at := slices.Index(argv, "psql") + 1
	if at == 0 {
		return argv, nil
	}
	for at < len(argv) && strings.HasPrefix(argv[at], "-") {
		name, _, joined := strings.Cut(strings.TrimLeft(argv[at], "-"), "=")
		switch {
		case argv[at] == "--":
			return argv[:at], argv[at+1:]
		case slices.Contains([]string{"h", "help"}, name):
			return argv[:at+1], nil
		case !slices.Contains([]string{"cache", "var", "var-file", "threads"}, name):
			return argv[:at], argv[at:]
		case joined:
			at++
		default:
			at = min(at+2, len(argv))
		}
	}
	if at < len(argv) {
		at++ // the spec
	}
	return argv[:at], argv[at:]
}

func (a dbArgs) open(ctx context.Context, t terminal, exp *spec.Experiment, word string, psql []string) int {
	// What is read or changed is the database's; the cache stays as it is.
	w, err := a.workspace(t, "raglab db "+word, true)
	if err != nil {
		return t.fail("db", err)
	}
	defer closing(t, w.Close)
	d, err := w.Database(exp)
	if err != nil {
		return t.showError("db", exp, err)
	}
	defer closing(t, d.Close)
	if word == "psql" {
		return runPsql(ctx, t, d, psql)
	}
	code, err := a.do(ctx, t, d, word)
	if errors.Is(err, private.ErrInUse) {
		err = fmt.Errorf("%w: -force does it all the same, and what they do there fails", err)
	}
	if err != nil {
		return t.fail("db", err)
	}
	return code
}

func (a dbArgs) do(ctx context.Context, t terminal, d *workspace.Database, word string) (int, error) {
	switch word {
	case "status":
		return a.status(ctx, t, d)
	case "start":
		return exitOK, a.start(ctx, t, d)
	case "stop":
		stopped, err := d.Stop(ctx, a.force)
		if err == nil {
			fmt.Fprintln(t.out, map[bool]string{true: "Stopped.", false: "It was not running."}[stopped])
		}
		return exitOK, err
	}
	return a.drop(ctx, t, d)
}

func (a dbArgs) status(ctx context.Context, t terminal, d *workspace.Database) (int, error) {
	s, err := d.Status(ctx)
	if err != nil {
		return 0, err
	}
	if a.json {
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(t.out, "%s\n", b)
	} else {
		writeStatus(t.out, s)
	}
	if s.Problem != "" {
		return exitError, nil
	}
	return exitOK, nil
}

func (a dbArgs) start(ctx context.Context, t terminal, d *workspace.Database) error {
	started, err := d.Start(ctx, a.idle)
	if err != nil {
		return err
	}
	s, err := d.Status(ctx)
	if err != nil {
		return err
	}
	s.Own.InUse = false // by this process, for all that is known
	if !started {
		fmt.Fprintln(t.out, "It runs already.")
	}
	writeStatus(t.out, s)
	return nil
}

func (a dbArgs) drop(ctx context.Context, t terminal, d *workspace.Database) (int, error) {
	s, err := d.Status(ctx)
	if err != nil {
		return 0, err
	}
	if s.Own == nil && !s.Running {
		return 0, errors.New(s.Problem)
	}
	what := dropped(s)
	if what == "" {
		fmt.Fprintln(t.out, "Nothing of raglab's is there.")
		return exitOK, nil
	}
	if !a.yes {
		fmt.Fprintf(t.out, "This would remove %s.\nWith -yes it does.\n", what)
		return exitError, nil
	}
	if err := d.Drop(ctx, a.force); err != nil {
		return 0, err
	}
	fmt.Fprintf(t.out, "Removed %s.\n", what)
	return exitOK, nil
}

// runPsql runs psql with this program's streams. An interrupt is psql's: it ends a
// query, not the session.
func runPsql(ctx context.Context, t terminal, d *workspace.Database, args []string) int {
	cmd, err := d.Psql(context.WithoutCancel(ctx), args...)
	if err != nil {
		return t.fail("db", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, psqlStream(t.out), psqlStream(t.err)
	signal.Ignore(os.Interrupt)
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return t.fail("db", fmt.Errorf("run psql: %w", err))
	}
	return exitOK
}

// psqlStream gives psql the terminal itself where there is one, so that it can page
// and edit lines.
func psqlStream(w io.Writer) io.Writer {
	if h, ok := w.(hider); ok {
		if f, ok := h.w.(*os.File); ok {
			return f
		}
	}
	return w
}
