package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// writeReport writes the table of everything that was measured, as Markdown whose
// columns stand in line.
func writeReport(w io.Writer, m machine, p peerFolder, rows []rowResult) {
	fmt.Fprintf(w, "# raglab and its peers\n\n%s.\n", m)
	if p.missing != "" {
		fmt.Fprintf(w, "Peers %s.\n", p.missing)
	}
	fmt.Fprint(w, "Median (least–greatest) over the turns; cpu: seconds of processor time of one repetition.\n"+
		"Ratio: how many times better raglab is, turn by turn; above 1 it is ahead.\n\n")
	table := [][]string{{"row", "figure", "threads", "raglab", "cpu s", "peer", "peer's", "cpu s", "ratio", "goal", ""}}
	for _, r := range rows {
		for i, res := range r.results {
			name := r.name
			if i > 0 {
				name = ""
			}
			table = append(table, append([]string{name}, cells(res, r.unmeasured)...))
		}
	}
	if len(table) > 1 {
		writeTable(w, table)
		fmt.Fprintln(w)
	}
	for _, r := range rows {
		writeNotes(w, r)
	}
}

// writeNotes says what a row was measured on, who did not take part, and what
// went wrong.
func writeNotes(w io.Writer, r rowResult) {
	fmt.Fprintf(w, "- %s: %s", r.name, r.does)
	if r.input != "" {
		fmt.Fprintf(w, "; %s", r.input)
	}
	fmt.Fprintln(w, ".")
	for _, why := range r.unmeasured {
		fmt.Fprintf(w, "  - %s\n", why)
	}
	if r.err != nil {
		fmt.Fprintf(w, "  - error: %v\n", r.err)
	}
}

// cells are a result's, from the figure on.
func cells(r result, unmeasured []string) []string {
	threads := ""
	if r.threads > 0 {
		threads = fmt.Sprint(r.threads)
	}
	out := []string{r.figure, threads, fmt.Sprintf("%s %s", r.raglab, r.unit.name), show(r.raglabCPU.median())}
	switch {
	case r.peer == "":
		out = append(out, "", "", "", "")
	case len(r.other) == 0:
		out = append(out, r.peer, absent(r.peer, unmeasured), "", "")
	default:
		out = append(out, r.peer, fmt.Sprintf("%s %s", r.other, r.unit.name), show(r.otherCPU.median()), r.ratio.String())
	}
	verdict := r.goal.verdict(r.figures)
	if r.note != "" {
		note := r.note
		if r.disagree {
			note = "DIFFERS: " + note
		}
		verdict = strings.TrimSpace(verdict + " " + note)
	}
	return append(out, r.goal.text, verdict)
}

// absent is why a peer has no figure, in short: the notes say it in full.
func absent(peer string, unmeasured []string) string {
	for _, why := range unmeasured {
		if said, ok := strings.CutPrefix(why, peer+": "); ok {
			for _, short := range []string{"not set up", "left out"} {
				if strings.HasPrefix(said, short) {
					return short
				}
			}
			return "failed"
		}
	}
	return "–"
}

// writeTable writes rows of cells, the first of them the head.
func writeTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, line.String()+"|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprintf(w, "| %s ", strings.Repeat("-", max(3, width)))
			}
			fmt.Fprintln(w, "|")
		}
	}
}
