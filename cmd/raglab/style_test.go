package main

import (
	"bytes"
	"testing"

	"raglab/internal/report"
)

func TestStyleOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		env     map[string]string
		goos    string
		columns int
		want    report.Style
	}{
		{"utf-8", map[string]string{"TERM": "xterm", "LANG": "uk_UA.UTF-8"}, "linux", 80, report.Style{Plots: true, Width: 80}},
		{"utf8 as some write it", map[string]string{"LANG": "C.utf8"}, "linux", 300, report.Style{Plots: true, Width: 100}},
		{"no locale", nil, "linux", 0, report.Style{Plots: true, ASCII: true}},
		{"the plain locale", map[string]string{"LANG": "C"}, "linux", 0, report.Style{Plots: true, ASCII: true}},
		{"the first that is set counts", map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, "linux", 0, report.Style{Plots: true, ASCII: true}},
		{"a dumb terminal", map[string]string{"TERM": "dumb", "LANG": "en_US.UTF-8"}, "linux", 10, report.Style{Plots: true, ASCII: true, Width: 40}},
		{"windows", nil, "windows", 100, report.Style{Plots: true, Width: 100}},
	} {
		getenv := func(name string) string { return c.env[name] }
		if got := styleOf(getenv, c.goos, c.columns); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (terminal{out: new(bytes.Buffer)}).style(); got != (report.Style{}) {
		t.Errorf("a pipe has the style %+v", got)
	}
}
