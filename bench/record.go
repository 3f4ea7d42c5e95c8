package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// record is the file of JSON lines that figures are added to.
type record struct{ *os.File }

func openRecord(path string) (*record, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &record{f}, nil
}

// recorded is a series as it is written: its values, so that anything can be
// computed from them.
type recorded struct {
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Least  float64 `json:"min"`
	Most   float64 `json:"max"`
	Turns  series  `json:"turns"`
	CPU    series  `json:"cpu_s,omitempty"`
}

func recordOf(unit string, s, cpu series) *recorded {
	if len(s) == 0 {
		return nil
	}
	least, most := s.ends()
	return &recorded{unit, s.median(), least, most, s, cpu}
}

// line is one figure.
type line struct {
	Machine machine   `json:"machine"`
	Row     string    `json:"row"`
	Input   string    `json:"input,omitempty"`
	Figure  string    `json:"figure,omitempty"`
	Threads int       `json:"threads,omitempty"`
	Raglab  *recorded `json:"raglab,omitempty"`
	Peer    string    `json:"peer,omitempty"`
	Theirs  *recorded `json:"theirs,omitempty"`
	// Ratio is above 1 where raglab is ahead.
	Ratio      *recorded `json:"ratio,omitempty"`
	Goal       string    `json:"goal,omitempty"`
	Verdict    string    `json:"verdict,omitempty"`
	Note       string    `json:"note,omitempty"`
	Disagree   bool      `json:"disagree,omitempty"`
	Unmeasured []string  `json:"unmeasured,omitempty"`
	Error      string    `json:"error,omitempty"`
}

// add writes a row's figures, and a line without a figure when somebody did not
// take part or something went wrong.
func (r *record) add(m machine, row rowResult) error {
	var lines []line
	for _, f := range row.results {
		lines = append(lines, line{
			Machine: m, Row: row.name, Input: row.input, Figure: f.figure, Threads: f.threads,
			Raglab: recordOf(f.unit.name, f.raglab, f.raglabCPU), Peer: f.peer, Theirs: recordOf(f.unit.name, f.other, f.otherCPU),
			Ratio: recordOf("×", f.ratio, nil), Goal: f.goal.text, Verdict: f.goal.verdict(f.figures),
			Note: f.note, Disagree: f.disagree,
		})
	}
	if row.err != nil || len(row.unmeasured) > 0 {
		l := line{Machine: m, Row: row.name, Input: row.input, Unmeasured: row.unmeasured}
		if row.err != nil {
			l.Error = row.err.Error()
		}
		lines = append(lines, l)
	}
	out := json.NewEncoder(r)
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return fmt.Errorf("write %s: %w", r.Name(), err)
		}
	}
	return nil
}
