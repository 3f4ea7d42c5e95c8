package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/term"

	"raglab/engine/workspace"
	"raglab/internal/assets"
	"raglab/internal/pg"
	"raglab/spec"
)

// specArgs are the flags of commands that read a spec.
type specArgs struct {
	vars     map[string]string
	varFiles []string
	cache    string
	store    workspace.StoreOptions
	threads  int
}

const specHelp = `  -var NAME=VALUE      set a variable of the spec; may be repeated
  -var-file FILE       set variables from a file; may be repeated
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -store URL           use this store of many machines behind it, such as
                         s3://BUCKET/PREFIX (or RAGLAB_STORE)
  -store-mode MODE     read, or write to upload results (or RAGLAB_STORE_MODE;
                         default read)
  -threads N           threads a stage may use (default: all processors)
`

func (a *specArgs) register(set *flag.FlagSet) {
	a.vars = map[string]string{}
	set.Func("var", "", func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", s)
		}
		a.vars[name] = value
		return nil
	})
	set.Func("var-file", "", func(s string) error {
		a.varFiles = append(a.varFiles, s)
		return nil
	})
	set.StringVar(&a.cache, "cache", "", "")
	set.StringVar(&a.store.URL, "store", "", "")
	set.StringVar(&a.store.Mode, "store-mode", "", "")
	set.IntVar(&a.threads, "threads", 0, "")
}

// load reads a spec. Diagnostics are the caller's to show.
func (a *specArgs) load(path string) (*spec.Experiment, hcl.Diagnostics) {
	return spec.Load(path, spec.LoadOptions{Catalog: workspace.Catalog(), Vars: a.vars, VarFiles: a.varFiles})
}

func (a *specArgs) workspace(t terminal, command string, readOnly bool) (*workspace.Workspace, error) {
	return workspace.Open(workspace.Options{
		CacheDir: a.cache, Remote: a.store, ReadOnly: readOnly, Threads: a.threads, Command: command, Version: version, Log: t.log,
		Warn:        t.warn,
		Progress:    func(text string) { fmt.Fprintln(t.err, text) },
		AssetEvents: assetLines(t),
	})
}

// assetLines says which assets are being fetched: a line when a file's download
// begins, every ten seconds while it goes on, and at its end.
func assetLines(t terminal) func(assets.Event) {
	var mu sync.Mutex
	told := map[string]time.Time{}
	return func(e assets.Event) {
		mu.Lock()
		defer mu.Unlock()
		file := e.Asset + "/" + e.File
		last, begun := told[file]
		switch {
		case e.Phase == assets.Waiting:
			t.assetLine(e, "waiting for another process that gets it")
		case e.Phase == assets.Done:
			t.assetLine(e, fmt.Sprintf("%s, %s", e.File, sizeText(e.Total)))
		case e.Phase == assets.Downloading && (!begun || time.Since(last) > 10*time.Second):
			told[file] = time.Now()
			t.assetLine(e, fmt.Sprintf("getting %s from %s, %s of %s", e.File, e.Place, sizeText(e.Done), sizeText(e.Total)))
		}
	}
}

func (t terminal) assetLine(e assets.Event, text string) {
	if t.events != nil {
		t.events.emit("asset", e.Asset+": "+text, "asset", e.Asset, "file", e.File, "done", e.Done, "total", e.Total)
		return
	}
	fmt.Fprintf(t.err, "%s: %s\n", e.Asset, text)
}

// specPath is the spec that a command was given, or the only one there is.
func specPath(args []string) (string, error) {
	switch len(args) {
	case 1:
		return args[0], nil
	case 0:
	default:
		return "", fmt.Errorf("one spec at a time: %s", strings.Join(args, " "))
	}
	for _, pattern := range []string{"*.hcl", "experiments/*.hcl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("look for specs: %w", err)
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("name the spec: there are %s", strings.Join(found, ", "))
		}
	}
	return "", errors.New("name the spec: there is none in this folder or in experiments/; raglab init DIR writes one")
}

// specOrLast is the spec that a command was given, or the one that was applied
// last in this folder, or the only one there is.
func (a *specArgs) specOrLast(t terminal, args []string) (string, error) {
	path, err := specPath(args)
	if len(args) > 0 {
		return path, err
	}
	w, openErr := a.workspace(t, "raglab", true)
	if openErr != nil {
		return "", openErr
	}
	defer closing(t, w.Close)
	last, lastErr := w.Applied()
	switch {
	case lastErr != nil:
		return "", lastErr
	case last == "" || last == path:
		return path, err
	}
	if t.events == nil {
		fmt.Fprintf(t.err, "%s: the spec applied last in this folder\n", last)
	}
	return last, nil
}

// showDiagnostics writes what is wrong with a spec, with its source.
func (t terminal) showDiagnostics(exp *spec.Experiment, diags hcl.Diagnostics) {
	if t.events != nil {
		t.events.diagnostics(exp, diags)
		return
	}
	if len(diags) == 0 {
		return
	}
	var files map[string]*hcl.File
	if exp != nil {
		files = exp.Files
	}
	width, color := 100, false
	if t.screen != nil {
		color = os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(t.screen.Fd())); err == nil {
			width = w
		}
	}
	var text bytes.Buffer
	if err := spec.WriteDiagnostics(&text, files, diags, width, color); err != nil {
		fmt.Fprintln(t.err, err)
	}
	// A line of the spec may hold an address with a password, in an attribute that
	// nobody knows.
	fmt.Fprint(t.err, pg.Redact(text.String()))
}

// showError writes an error, as diagnostics when it holds any.
func (t terminal) showError(name string, exp *spec.Experiment, err error) int {
	var diags hcl.Diagnostics
	var one *hcl.Diagnostic
	switch {
	case errors.As(err, &diags):
		t.showDiagnostics(exp, diags)
	case errors.As(err, &one):
		t.showDiagnostics(exp, hcl.Diagnostics{one})
	default:
		return t.fail(name, err)
	}
	return exitError
}
