package html

import (
	"strings"

	"raglab/internal/report"
)

// findingView is a finding with its verdict, where its sentence does not hold that.
type findingView struct {
	report.Finding
	Said cell
}

func mattered(in Input) (part, error) {
	var list []findingView
	for _, f := range in.Report.Mattered {
		v := findingView{Finding: f}
		if f.Verdict != "" && !strings.Contains(f.Text, f.Verdict) {
			v.Said = verdictCell(f.Verdict)
		}
		list = append(list, v)
	}
	if len(list) == 0 {
		return part{}, nil
	}
	return part{view: list}, nil
}

func limits(in Input) (part, error) {
	if len(in.Report.Limits) == 0 {
		return part{}, nil
	}
	return part{view: in.Report.Limits}, nil
}
