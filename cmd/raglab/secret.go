package main

import (
	"io"

	"raglab/spec"
)

// hiding makes a terminal that does not show the values of an experiment's
// sensitive variables and the addresses of its store and sources, wherever they got into a text.
func (t terminal) hiding(exp *spec.Experiment) terminal {
	if exp == nil || !exp.HasSecrets() {
		return t
	}
	hide := exp.Redact()
	t.out, t.err = hider{t.out, hide}, hider{t.err, hide}
	if t.events != nil {
		t.events = t.events.to(t.out)
	}
	return t
}

// hider hides secrets in what is written. Each must be in one call.
type hider struct {
	w    io.Writer
	hide func(string) string
}

func (h hider) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.w, h.hide(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
