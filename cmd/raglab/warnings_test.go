package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A warning is logged once in a while, and other lines always.
func TestWarnings(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	w := &warnings{now: func() time.Time { return at }}
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &out, Exclude: w.drop, DisableTime: true})
	for range 3 {
		log.Warn("away", "after", at.Unix())
		log.Warn("another")
		log.Info("line")
		at = at.Add(warnAgain * 2 / 3)
	}
	for words, want := range map[string]int{"away": 2, "another": 2, "line": 3} {
		if got := strings.Count(out.String(), words); got != want {
			t.Errorf("%q was logged %d times, want %d:\n%s", words, got, want, out.String())
		}
	}
}
