package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"raglab/internal/pg/private"
)

// options are the flags.
type options struct {
	only    *regexp.Regexp
	reps    int
	quick   bool
	million bool
	dvc     bool
	list    bool
	cores   int
	raglab  string
	work    string
	out     string
}

func main() {
	if private.IsSupervisor(os.Args) {
		os.Exit(private.Supervise(os.Args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 2 && os.Args[1] == driverFlag {
		exit(drive(ctx, os.Args[2], os.Args[3:]))
	}
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parseOptions(args []string) (options, error) {
	o := options{cores: min(2, runtime.NumCPU())}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.Func("only", "measure the rows whose name this `pattern` matches", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	set.IntVar(&o.reps, "reps", 5, "turns that raglab and each peer take")
	set.BoolVar(&o.quick, "quick", false, "small inputs, to see that everything runs")
	set.BoolVar(&o.million, "million", false, "also the memory of an index over 1,000,000 documents, 1,000,000 stages, and 5,000,000 passages")
	set.BoolVar(&o.dvc, "dvc", false, "also dvc, which takes a quarter of an hour")
	set.BoolVar(&o.list, "list", false, "list the rows and measure nothing")
	set.IntVar(&o.cores, "cores", o.cores, "processors that everything is kept to, where the system allows that")
	set.StringVar(&o.raglab, "raglab", "", "measure this `program` instead of building ./cmd/raglab")
	set.StringVar(&o.work, "work", "", "keep made inputs in this `folder` for the next run")
	set.StringVar(&o.out, "out", "", "add the figures to this `file` (default results/bench.jsonl)")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", set.Arg(0))
	}
	if o.reps < 1 || o.cores < 1 {
		return o, errors.New("-reps and -cores must be at least 1")
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	if o.list {
		for _, r := range allRows() {
			fmt.Printf("%-12s %s\n", r.name, r.does)
		}
		return nil
	}
	rows := chosen(allRows(), o)
	if len(rows) == 0 {
		return errors.New("no row has such a name; -list lists them")
	}
	if err := keepTo(o.cores); err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	fmt.Fprintln(os.Stderr, b.machine)
	out, err := openRecord(b.o.out)
	if err != nil {
		return err
	}
	defer out.Close()
	var results []rowResult
	for _, r := range rows {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format(time.TimeOnly), r.name, r.does)
		got := b.measure(ctx, r)
		if ctx.Err() != nil {
			break
		}
		if err := out.add(b.machine, got); err != nil {
			return err
		}
		results = append(results, got)
	}
	writeReport(os.Stdout, b.machine, b.peers, results)
	for _, r := range results {
		if r.err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, r.err))
		}
	}
	return errors.Join(err, ctx.Err())
}

// chosen are the rows that the flags ask for.
func chosen(rows []row, o options) []row {
	var out []row
	for _, r := range rows {
		switch {
		case o.only != nil && !o.only.MatchString(r.name):
		case r.needs != nil && !r.needs(o) && o.only == nil:
		default:
			out = append(out, r)
		}
	}
	return out
}

// root is the folder of the checkout: the nearest one above the working folder
// that holds go.mod.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working folder: start bench in the checkout")
		}
		dir = parent
	}
}
