package main

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// warnAgain is after how long a warning in the same words is worth another line.
const warnAgain = 30 * time.Second

// warnings keeps a log from being filled: while a server is away, each part of a worker
// finds that out again and again. It is safe for concurrent use.
type warnings struct {
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // by the words
}

// drop reports whether a line is a warning in words that were logged a moment ago. It is
// an hclog.LoggerOptions.Exclude.
func (w *warnings) drop(level hclog.Level, words string, _ ...any) bool {
	if level != hclog.Warn {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if last, told := w.last[words]; told && now.Sub(last) < warnAgain {
		return true
	}
	if w.last == nil {
		w.last = map[string]time.Time{}
	}
	w.last[words] = now
	return false
}
