package main

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"raglab/internal/report"
)

// style says what standard output can show. A pipe gets the texts as they are and
// no plots, so that they do not depend on who reads.
func (t terminal) style() report.Style {
	out := t.out
	if h, ok := out.(hider); ok {
		out = h.w
	}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return report.Style{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return styleOf(os.Getenv, runtime.GOOS, width)
}

// styleOf is the style of a terminal of so many columns; 0 is unknown.
func styleOf(getenv func(string) string, goos string, columns int) report.Style {
	s := report.Style{Plots: true, ASCII: !showsUnicode(getenv, goos)}
	if columns > 0 {
		s.Width = min(max(columns, 40), 100)
	}
	return s
}

// showsUnicode reports whether a terminal shows characters beyond ASCII, by the
// locale, of which the first that is set counts. Windows has no such variables.
func showsUnicode(getenv func(string) string, goos string) bool {
	if getenv("TERM") == "dumb" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(getenv(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return goos == "windows"
}
