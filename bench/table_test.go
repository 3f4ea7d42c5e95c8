package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func testRow() rowResult {
	with := func(peer string, g goal, f figures) result {
		return result{comparison{figure: "search", threads: 1, unit: perSecond("questions"), peer: peer, goal: g}, f}
	}
	return rowResult{
		name: "bm25", does: "BM25", input: "20 documents",
		results: []result{
			with("lucene", ahead(1), figures{raglab: series{2000, 3000}, other: series{1000, 1000}, ratio: series{2, 3}, raglabCPU: series{1}, otherCPU: series{2}, note: "hit10 0.9000, 0.1000", disagree: true}),
			with("tantivy", ahead(1), figures{raglab: series{2000}, raglabCPU: series{1}}),
			with("", under(5, seconds), figures{raglab: series{7}, raglabCPU: series{1}}),
		},
		unmeasured: []string{"tantivy: not set up: no Python in /x"},
		err:        errors.New("turn 3: it stopped"),
	}
}

func TestWriteReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	writeReport(&out, machine{CPU: "a processor", Cores: 2, Load: "0.1 0.2 0.3"}, peerFolder{missing: "not set up: no scripts"}, []rowResult{testRow()})
	got := out.String()
	for _, want := range []string{
		"a processor, 2 cores", "load average 0.1 0.2 0.3", "Peers not set up: no scripts.",
		"2,500 (2,000–3,000) questions/s", "2.50 (2.00–3.00)", "DIFFERS: hit10",
		"| holds", "| missed", "| not set up", "tantivy: not set up: no Python in /x", "error: turn 3: it stopped", "20 documents.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	width := 0
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if n := utf8.RuneCountInString(line); width == 0 {
			width = n
		} else if n != width {
			t.Errorf("columns do not stand in line:\n%s", got)
			break
		}
	}
}

func TestRecord_addsLinesThatCanBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results", "bench.jsonl")
	for range 2 {
		r, err := openRecord(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(machine{CPU: "a processor"}, testRow()); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != 2*4 {
		t.Fatalf("%d lines, want three figures and one of what is missing, twice", len(lines))
	}
	var first, last line
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[3]), &last); err != nil {
		t.Fatal(err)
	}
	if first.Ratio.Median != 2.5 || first.Ratio.Least != 2 || first.Ratio.Most != 3 || first.Verdict != "holds" || !first.Disagree {
		t.Errorf("first line: %+v", first)
	}
	if last.Error != "turn 3: it stopped" || len(last.Unmeasured) != 1 || last.Machine.CPU != "a processor" {
		t.Errorf("last line: %+v", last)
	}
}
