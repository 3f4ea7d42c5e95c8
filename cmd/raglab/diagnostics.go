package main

import (
	"github.com/hashicorp/hcl/v2"

	"raglab/internal/pg"
	"raglab/spec"
)

// diagnosticJSON is a diagnostic for programs.
type diagnosticJSON struct {
	Severity string     `json:"severity"` // "error" or "warning"
	Summary  string     `json:"summary"`
	Detail   string     `json:"detail"`
	Range    *rangeJSON `json:"range,omitempty"`
	// Snippet is the source that the range names.
	Snippet string `json:"snippet,omitempty"`
}

// rangeJSON is a place in a file.
type rangeJSON struct {
	File  string  `json:"file"`
	Start posJSON `json:"start"`
	End   posJSON `json:"end"`
}

// posJSON counts lines and columns from 1 and bytes from 0.
type posJSON struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

func diagnosticsJSON(exp *spec.Experiment, diags hcl.Diagnostics) []diagnosticJSON {
	out := make([]diagnosticJSON, 0, len(diags))
	for _, d := range diags {
		j := diagnosticJSON{Severity: "error", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			j.Severity = "warning"
		}
		if d.Subject != nil {
			j.Range = &rangeJSON{d.Subject.Filename, posJSON(d.Subject.Start), posJSON(d.Subject.End)}
			if exp != nil {
				if f := exp.Files[d.Subject.Filename]; f != nil && d.Subject.CanSliceBytes(f.Bytes) {
					j.Snippet = pg.Redact(string(d.Subject.SliceBytes(f.Bytes)))
				}
			}
		}
		out = append(out, j)
	}
	return out
}
