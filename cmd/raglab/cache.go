package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"raglab/cache"
	"raglab/engine/workspace"
	"raglab/internal/param"
	"raglab/spec"
)

const cacheHelp = `Usage: raglab cache du|gc|verify|pin|unpin [flags]

du [SPEC]              how much the cache holds, what sources fetched, and the
                         tables of its indexes
gc [SPEC]              remove what is old, or over a size; tables before the
                         results that describe them; of what sources fetched,
                         what is old
  -max-age TIME          results not used for that long, as 720h or 30d (default 30d)
  -max-size SIZE         the oldest beyond that size, as 20GB
  -dry-run               only say what would go
verify                 read everything and set aside what is damaged
pin EXPERIMENT         keep the last results of an experiment from gc
unpin EXPERIMENT

  -shared              du, gc, verify, pin and unpin the store of many machines
                         instead of this machine's cache
  -store URL           that store (or RAGLAB_STORE)
  -store-mode MODE     read, or write to remove and pin (or RAGLAB_STORE_MODE)
  -cache DIR           use this cache folder (or RAGLAB_CACHE)
  -json                one JSON object

A gc keeps pinned experiments and is safe beside a running apply. That of a shared
store removes what has had no use for -max-age (default 180d there) and was found so
by a gc a week before already; -max-size and SPEC are for this machine's cache. Tables are those
of the server of SPEC's store block or of RAGLAB_DSN, and of raglab's own server.

Exit codes: 0 done, 1 error, 3 verify found damage.
`

func cacheCommand() command {
	return command{"cache", "show, shrink or check the cache", cacheHelp, runCache}
}

type cacheArgs struct {
	specArgs
	maxAge  time.Duration
	maxSize int64
	dryRun  bool
	shared  bool
	json    bool
}

func runCache(ctx context.Context, t terminal, argv []string) int {
	a := cacheArgs{maxAge: -1}
	set := flag.NewFlagSet("cache", flag.ContinueOnError)
	a.register(set)
	set.Func("max-age", "", func(s string) (err error) { a.maxAge, err = parseAge(s); return err })
	set.Func("max-size", "", func(s string) (err error) { a.maxSize, err = parseSize(s); return err })
	set.BoolVar(&a.dryRun, "dry-run", false, "")
	set.BoolVar(&a.shared, "shared", false, "")
	set.BoolVar(&a.json, "json", false, "")
	rest, err := parseFlags(t, set, cacheHelp, argv)
	if err != nil {
		return exitOfFlags(err)
	}
	if len(rest) == 0 {
		fmt.Fprint(t.err, cacheHelp)
		return exitError
	}
	if a.shared {
		return a.runShared(ctx, t, rest)
	}
	if a.maxAge < 0 {
		a.maxAge = 30 * 24 * time.Hour
	}
	exp, code := a.namedSpec(&t, rest)
	if code != exitOK {
		return code
	}
	readOnly := rest[0] == "du" || a.dryRun
	w, err := a.workspace(t, "raglab cache "+rest[0], readOnly)
	if err != nil {
		return t.fail("cache", err)
	}
	defer closing(t, w.Close)
	code, err = a.do(ctx, t, w, exp, rest[0], rest[1:])
	if err != nil {
		return t.fail("cache", err)
	}
	return code
}

// namedSpec is the spec behind du and gc, if there is one. The code is for problems
// that it has shown.
func (a *cacheArgs) namedSpec(t *terminal, rest []string) (*spec.Experiment, int) {
	if rest[0] != "du" && rest[0] != "gc" || len(rest) < 2 {
		return nil, exitOK
	}
	path, err := specPath(rest[1:])
	if err != nil {
		return nil, t.fail("cache", err)
	}
	exp, diags := a.load(path)
	*t = t.hiding(exp)
	t.showDiagnostics(exp, diags)
	if diags.HasErrors() {
		return nil, exitError
	}
	return exp, exitOK
}

func (a cacheArgs) do(ctx context.Context, t terminal, w *workspace.Workspace, exp *spec.Experiment, word string, rest []string) (int, error) {
	c := w.Cache
	switch word {
	case "du":
		u, err := w.Du(ctx, exp)
		if err != nil {
			return 0, err
		}
		return exitOK, a.show(t, c.Dir(), u, append(append(usageLines(u.Usage), downloadLines(u.Downloads)...), tableLines(u.Tables)...))
	case "gc":
		r, err := w.GC(ctx, exp, cache.GCOptions{DryRun: a.dryRun, MaxAge: a.maxAge, MaxBytes: a.maxSize})
		if err != nil {
			return 0, err
		}
		lines := append(append(gcLines(r.GCReport, a.dryRun), downloadGCLines(r)...), tableGCLines(r.Tables)...)
		return exitOK, a.show(t, c.Dir(), r, append(lines, a.overLines(r.GCReport)...))
	case "verify":
		r, err := c.Verify(ctx)
		if err != nil {
			return 0, err
		}
		code := exitOK
		if len(r.Bad) > 0 {
			code = exitFailed
		}
		return code, a.show(t, c.Dir(), r, verifyLines(r))
	case "pin", "unpin":
		return exitOK, a.pin(ctx, t, c, word, rest)
	}
	return 0, fmt.Errorf("there is no %q; raglab help cache lists what there is", word)
}

func (a cacheArgs) show(t terminal, of string, v any, lines []string) error {
	if a.json {
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%s\n", b)
		return nil
	}
	fmt.Fprintln(t.out, of)
	for _, l := range lines {
		fmt.Fprintln(t.out, l)
	}
	return nil
}

// tallies are the rows in which a cache's contents are shown.
func tallies(u cache.Usage) []struct {
	name  string
	tally cache.Tally
} {
	return []struct {
		name  string
		tally cache.Tally
	}{
		{"results", u.Records},
		{"blobs", u.Blobs},
		{"embeddings", u.Memo},
		{"run logs", u.Runs},
		{"states", u.States},
		{"set aside", u.Quarantine},
		{"unfinished", u.Drafts},
		{"together", u.Total()},
	}
}

func tallyLine(name string, n cache.Tally) string {
	return fmt.Sprintf("  %-11s %8d  %8s", name, n.Count, sizeText(n.Bytes))
}

func usageLines(u cache.Usage) []string {
	var lines []string
	for _, t := range tallies(u) {
		lines = append(lines, tallyLine(t.name, t.tally))
	}
	return lines
}

// gcLines shows what there was beside what went.
func gcLines(r cache.GCReport, dry bool) []string {
	verb := "removed"
	if dry {
		verb = "would go"
	}
	lines := []string{fmt.Sprintf("  %-11s %18s  %20s", "", "held", verb)}
	removed := tallies(r.Removed)
	for i, t := range tallies(r.Before) {
		gone := removed[i].tally
		lines = append(lines, fmt.Sprintf("%s  %10d  %8s", tallyLine(t.name, t.tally), gone.Count, sizeText(gone.Bytes)))
	}
	return lines
}

// overLines says why a cache stays above the size that it was to have.
func (a cacheArgs) overLines(r cache.GCReport) []string {
	counted := func(u cache.Usage) int64 { return u.Blobs.Bytes + u.Records.Bytes + u.Memo.Bytes }
	left := counted(r.Before) - counted(r.Removed)
	if a.maxSize == 0 || left <= a.maxSize {
		return nil
	}
	return []string{fmt.Sprintf("%s stay, which is above -max-size: what was used or written since %s, is pinned or at work is kept.",
		sizeText(left), r.KeepSince.Local().Format(time.DateTime))}
}

// downloadLines shows what sources fetched, if they did.
func downloadLines(held cache.Tally) []string {
	if held.Count == 0 {
		return nil
	}
	return []string{tallyLine("downloads", held)}
}

func downloadGCLines(r workspace.GCReport) []string {
	if r.Downloads.Count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s  %10d  %8s", tallyLine("downloads", r.Downloads), r.RemovedDownloads.Count, sizeText(r.RemovedDownloads.Bytes))}
}

// tableLines shows the tables of each database.
func tableLines(tables []workspace.TableUsage) []string {
	var lines []string
	for _, u := range tables {
		lines = append(lines, tableLine(u, tallyLine("tables", u.Held)))
	}
	return lines
}

// tableGCLines shows the tables that there were beside those that went.
func tableGCLines(tables []workspace.TableUsage) []string {
	var lines []string
	for _, u := range tables {
		text := fmt.Sprintf("%s  %10d  %8s", tallyLine("tables", u.Held), u.Removed.Count, sizeText(u.Removed.Bytes))
		lines = append(lines, tableLine(u, text))
	}
	return lines
}

func tableLine(u workspace.TableUsage, counts string) string {
	if u.Note != "" && u.Held.Count == 0 {
		return fmt.Sprintf("  tables of %s: %s", u.Origin, u.Note)
	}
	text := counts + "  in " + string(u.Origin)
	if u.Note != "" {
		text += ": " + u.Note
	}
	return text
}

func verifyLines(r cache.VerifyReport) []string {
	lines := []string{tallyLine("results", r.Records), tallyLine("blobs", r.Blobs), tallyLine("embeddings", r.Segments)}
	for _, b := range r.Bad {
		lines = append(lines, "  "+b.Error())
	}
	for _, k := range r.Incomplete {
		lines = append(lines, "  result "+k.Short()+" is incomplete and will be made again")
	}
	if len(r.Bad) == 0 {
		lines = append(lines, "Nothing is damaged.")
	}
	return lines
}

// pin keeps the results that an experiment's last apply left.
func (a cacheArgs) pin(ctx context.Context, t terminal, c *cache.Local, word string, rest []string) error {
	if len(rest) != 1 {
		return errors.New("name the experiment")
	}
	if word == "unpin" {
		return c.Unpin(ctx, rest[0])
	}
	keys, err := lastKeys(c, rest[0])
	if err != nil {
		return err
	}
	if err := c.Pin(ctx, rest[0], keys); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%d results of %s are pinned.\n", len(keys), rest[0])
	return nil
}

// parseAge reads a duration, in which days count too.
func parseAge(s string) (time.Duration, error) {
	age, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		age = time.Duration(n * 24 * float64(time.Hour))
	}
	if err != nil || age < 0 {
		return 0, fmt.Errorf("%q is not a time such as 30d or 720h", s)
	}
	return age, nil
}

func parseSize(s string) (int64, error) { return param.ParseSize(s) }

func sizeText(n int64) string { return param.SizeText(n) }
