package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// volatile are what differs from run to run, in the order in which they are
// replaced.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<digest>"},
	{regexp.MustCompile(`<digest>-[0-9a-z]+\.bad`), "<digest>-<n>.bad"},
	{regexp.MustCompile(`\b20\d{6}t\d{6}\.\d{6}-[0-9a-f]{4}\b`), "<run>"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), "<when>"},
	{regexp.MustCompile(`"(wall_ms|cpu_ms|estimate_seconds)":( ?)[0-9.e+-]+`), `"$1":$2<n>`},
	{regexp.MustCompile(`(?m)^made     .* by raglab`), "made     <when> by raglab"},
	{regexp.MustCompile(`(?m)^on       .*$`), "on       <machine>"},
	{regexp.MustCompile(`"report":\{.*\},"type":"result"`), `"report":{…},"type":"result"`},
	{regexp.MustCompile(`"pid":\d+`), `"pid":<n>`},
	{regexp.MustCompile(`"(host|user|machine)":"[^"]*"`), `"$1":"<$1>"`},
	{regexp.MustCompile(`as process \d+ of \w+`), "as process <pid> of <user>"},
	{regexp.MustCompile(`database test_[a-z0-9]+`), "database <database>"},
	{regexp.MustCompile(`socket \S+/\.s\.PGSQL\.\d+`), "socket <folder>/.s.PGSQL.<port>"},
	{regexp.MustCompile(`process \d+ on \S+ \(\w+, `), "process <pid> on <host> (<user>, "},
	{regexp.MustCompile(`( in| after|At most|is held for|waited|again in) (\d+h)?(\d+m)?\d+(\.\d+)?(ms|s|µs)`), "$1 <time>"},
	{regexp.MustCompile(`( in| after|At most|is held for|waited) \d+m\d+s`), "$1 <time>"},
	{regexp.MustCompile(`(?m)^(\w+) +(\d+\.\d ms|)  [0-9a-f]{12}  `), "$1 <time> <key> "},
	{regexp.MustCompile(` +\d+(\.\d+)? (B|kB|MB|GB)\b`), "  <size>"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "<key>"},
	{regexp.MustCompile(`(?m)^  ingest s +[0-9.]+ +–$`), "  ingest s #"},
	{regexp.MustCompile(`\braglab dev \(go[^)]*\)`), "raglab dev (<go>)"},
}

// normalise replaces what differs from run to run.
func normalise(s, work string) string {
	s = strings.ReplaceAll(s, work, "$WORK")
	for _, v := range volatile {
		s = v.pattern.ReplaceAllString(s, v.with)
	}
	return normaliseTables(normaliseItems(s))
}

// measuredTimes are what the items of a report say of times, and of the row that is
// recommended, which depends on them.
var measuredTimes = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`p50 ≈?[0-9.]+ ms, p95 ≈?[0-9.]+ ms`), "p50 # ms, p95 # ms"},
	{regexp.MustCompile(`Recommended: .*, the cheapest by `), "Recommended: <row>, the cheapest by "},
}

// normaliseItems joins the lines of items, which are broken where their figures end,
// and replaces the times in them.
func normaliseItems(s string) string {
	lines := strings.Split(s, "\n")
	out := lines[:0]
	in := false
	for _, line := range lines {
		if in && strings.HasPrefix(line, "     ") {
			out[len(out)-1] += " " + strings.TrimSpace(line)
			continue
		}
		in = itemStart.MatchString(line)
		out = append(out, line)
	}
	for i, line := range out {
		if itemStart.MatchString(line) {
			for _, m := range measuredTimes {
				line = m.pattern.ReplaceAllString(line, m.with)
			}
			out[i] = line
		}
	}
	return strings.Join(out, "\n")
}

// itemStart is the beginning of an item of a report.
var itemStart = regexp.MustCompile(`^  (•  |\d+\. )`)

// timed are the columns of result tables that hold measurements of time.
var timed = []string{
	"p50 ms", "p95 ms", "chunk s", "embed s", "index s", "total s", "ingest s",
	"normalise s", "ms/doc", "copy s", "build s",
	"text p50", "text p95", "embed p50", "embed p95", "search p50", "search p95", "fuse p50", "fuse p95",
	"rerank p50", "rerank p95", "whole p50", "whole p95",
}

// normaliseTables replaces the cells of tables' timed columns, which are set to
// the right below their heads.
func normaliseTables(s string) string {
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "  ──") {
			maskColumns(lines, i)
		}
	}
	return strings.Join(lines, "\n")
}

func maskColumns(lines []string, rule int) {
	head := []rune(lines[rule-1])
	for _, name := range timed {
		at := strings.Index(string(head), "  "+name)
		if at < 0 {
			continue
		}
		end := utf8.RuneCountInString(string(head)[:at]) + 2 + utf8.RuneCountInString(name)
		for j := rule + 1; j < len(lines) && strings.HasPrefix(lines[j], "  "); j++ {
			lines[j] = maskCell(lines[j], end)
		}
	}
}

// maskCell replaces the number whose last digit stands before end.
func maskCell(line string, end int) string {
	r := []rune(line)
	if end > len(r) {
		return line
	}
	begin := end
	for begin > 0 && strings.ContainsRune("0123456789.", r[begin-1]) {
		begin--
	}
	if begin == end {
		return line
	}
	for i := begin; i < end-1; i++ {
		r[i] = ' '
	}
	r[end-1] = '#'
	return string(r)
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	got := normalise(strings.Join([]string{
		"chunk[whole]#000: done in 0.1s — never run",
		"wrote /tmp/w/x/out.csv in 1m2s",
		"rivers 20261130t072543.871741-a59a  2026-11-30 07:25:43  30 of 30 stages planned, 15 run in 400ms",
		"executed      17.9 ms  cba33c127de6  chunk[whole]#000  — never run",
		"  chunker    p50 ms  index MB  ingest s",
		"  ─────────  ──────  ────────  ────────",
		"  whole*        0.0      0.00     12.17",
		"",
		"  •  Best: a: ndcg@10 0.9, p50 0.1",
		"     ms, p95 12.3 ms",
		"  •  Recommended: a: ndcg@10 0.9, p50 0.1 ms, p95 2 ms, the",
		"     cheapest by p95",
	}, "\n"), "/tmp/w/x")
	want := strings.Join([]string{
		"chunk[whole]#000: done in <time> — never run",
		"wrote $WORK/out.csv in <time>",
		"rivers <run>  <when>  30 of 30 stages planned, 15 run in <time>",
		"executed <time> <key> chunk[whole]#000  — never run",
		"  chunker    p50 ms  index MB  ingest s",
		"  ─────────  ──────  ────────  ────────",
		"  whole*          #      0.00         #",
		"",
		"  •  Best: a: ndcg@10 0.9, p50 # ms, p95 # ms",
		"  •  Recommended: <row>, the cheapest by p95",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
