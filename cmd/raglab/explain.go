package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"raglab/cache"
	"raglab/engine"
)

const explainHelp = `Usage: raglab explain KEY [KEY] [flags]

Prints what a result's key was made from: every field, and the inputs by digest.
With two keys, prints what differs between them. The beginning of a key is
enough when no other key begins so.

  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -json                one JSON object

Exit codes: 0 done (or the keys are equal in every field), 1 error, 2 the two
keys differ.
`

func explainCommand() command {
	return command{"explain", "print or compare what results were made from", explainHelp, runExplain}
}

func runExplain(ctx context.Context, t terminal, argv []string) int {
	var a specArgs
	set := flag.NewFlagSet("explain", flag.ContinueOnError)
	a.register(set)
	asJSON := set.Bool("json", false, "")
	rest, err := parseFlags(t, set, explainHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) < 1 || len(rest) > 2 {
		return t.fail("explain", errors.New("give one key, or two to compare"))
	}
	return a.explain(ctx, t, "explain", rest, *asJSON)
}

// explain prints a result's key, or compares two.
func (a *specArgs) explain(ctx context.Context, t terminal, command string, keys []string, asJSON bool) int {
	w, err := a.workspace(t, "raglab "+command, true)
	if err != nil {
		return t.fail(command, err)
	}
	defer closing(t, w.Close)
	var found []explained
	for _, prefix := range keys {
		x, err := explainKey(ctx, w.Cache, prefix)
		if err != nil {
			return t.fail(command, err)
		}
		found = append(found, x)
	}
	if asJSON {
		return explainJSON(t, found)
	}
	if len(found) == 1 {
		found[0].write(t)
		return exitOK
	}
	return compareKeys(t, found[0], found[1])
}

// explained is a record with its manifest read.
type explained struct {
	Key          cache.Key       `json:"key"`
	Manifest     engine.Manifest `json:"manifest"`
	Outputs      []cache.Blob    `json:"outputs"`
	Measurements json.RawMessage `json:"measurements"`
	Provenance   json.RawMessage `json:"provenance"`
}

func explainKey(ctx context.Context, c *cache.Local, prefix string) (explained, error) {
	if strings.Trim(prefix, "0123456789abcdef") != "" {
		return explained{}, fmt.Errorf("%q is no beginning of a key, which is 64 hexadecimal digits", prefix)
	}
	keys, err := c.Keys(ctx, prefix)
	if err != nil {
		return explained{}, err
	}
	switch len(keys) {
	case 0:
		return explained{}, fmt.Errorf("no result's key begins with %q; raglab log prints keys", prefix)
	case 1:
	default:
		return explained{}, fmt.Errorf("%d results' keys begin with %q: give more digits", len(keys), prefix)
	}
	r, err := c.Get(ctx, keys[0])
	if err != nil {
		return explained{}, err
	}
	m, err := engine.ParseManifest(r.Manifest)
	return explained{r.Key, m, r.Outputs, r.Measurements, r.Provenance}, err
}

func (x explained) write(t terminal) {
	fmt.Fprintf(t.out, "key      %s\nstage    %s, version %s\n", x.Key, x.Manifest.Kind, x.Manifest.Version)
	for _, f := range x.Manifest.Fields {
		fmt.Fprintf(t.out, "%-8s %s = %s\n", f.Class, f.Path, raw(f.Value))
	}
	for _, in := range x.Manifest.Inputs {
		fmt.Fprintf(t.out, "input    %s = %s of %s\n", in.Name, in.Digest, in.From)
	}
	for _, o := range x.Outputs {
		fmt.Fprintf(t.out, "output   %s = %s (%d bytes)\n", o.Name, o.Digest, o.Size)
	}
	x.writeMaking(t)
}

// writeMaking says who made the result and what was observed meanwhile.
func (x explained) writeMaking(t terminal) {
	var made struct {
		Started time.Time         `json:"started"`
		WallMS  float64           `json:"wall_ms"`
		CPUMS   float64           `json:"cpu_ms"`
		By      map[string]string `json:"by"`
	}
	if json.Unmarshal(x.Provenance, &made) == nil {
		fmt.Fprintf(t.out, "made     %s in %s ms", made.Started.Local().Format(time.DateTime), shortNumber(made.WallMS))
		if made.CPUMS > 0 {
			fmt.Fprintf(t.out, ", %s ms of processors", shortNumber(made.CPUMS))
		}
		fmt.Fprintf(t.out, ", by %s (raglab %s)\n", made.By["command"], made.By["version"])
		fmt.Fprintf(t.out, "on       %s, %s, %s, threads: %s\n", made.By["host"], made.By["machine"], made.By["os"], made.By["threads"])
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(x.Measurements, &values) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(t.out, "measured %s = %s\n", name, brief(values[name]))
	}
}

func shortNumber(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// brief is a value on one line: an object or list of many values as their number.
func brief(v json.RawMessage) string {
	const most = 60
	if len(v) <= most {
		return string(v)
	}
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(v, &object) == nil:
		return fmt.Sprintf("%d values (see -json)", len(object))
	case json.Unmarshal(v, &list) == nil:
		return fmt.Sprintf("%d values (see -json)", len(list))
	}
	return string(v)
}

func explainJSON(t terminal, found []explained) int {
	var v any = found[0]
	code := exitOK
	if len(found) == 2 {
		differences := engine.Differences(found[0].Manifest, found[1].Manifest)
		v = map[string]any{"old": found[0], "new": found[1], "differences": differences}
		if len(differences) > 0 {
			code = exitChanges
		}
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return t.fail("explain", err)
	}
	fmt.Fprintf(t.out, "%s\n", b)
	return code
}

func compareKeys(t terminal, a, b explained) int {
	differences := engine.Differences(a.Manifest, b.Manifest)
	if len(differences) == 0 {
		fmt.Fprintln(t.out, "The keys are made from the same fields and inputs.")
		return exitOK
	}
	for _, d := range differences {
		fmt.Fprintln(t.out, d)
	}
	return exitChanges
}
