package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"raglab/golden"
)

// textTable lays out rows in columns, the first to the left and the others to the
// right.
func textTable(rows [][]string) string {
	widths := make([]int, 0, 8)
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line = cell + gap
			} else {
				line += "  " + gap + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// markdownTable writes rows as a table of Markdown, the first its head.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("| --- |" + strings.Repeat(" ---: |", len(row)-1) + "\n")
		}
	}
	return b.String()
}

func partRow(name string, c golden.PartCount) []string {
	return []string{name, strconv.Itoa(c.Dev), strconv.Itoa(c.Test), strconv.Itoa(c.Total())}
}
