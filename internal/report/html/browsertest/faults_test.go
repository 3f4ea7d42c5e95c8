package browsertest

import (
	"strings"
	"testing"
)

// TestFaults_heard opens a page that does all that none must do.
func TestFaults_heard(t *testing.T) {
	t.Parallel()
	b := Start(t)
	p := b.Open(t, []byte(`<!DOCTYPE html><title>x</title><img alt="" src="http://127.0.0.1:9/x.png">
<script>console.error("no"); setTimeout(() => { throw new Error("no") }); </script>`))
	Eval[bool](p, `new Promise((done) => setTimeout(done, 50, true))`)
	found := strings.Join(p.Faults(), "\n")
	for _, want := range []string{"request: http://127.0.0.1:9/x.png", "console: error", "exception: "} {
		if !strings.Contains(found, want) {
			t.Errorf("not heard: %s in %q", want, found)
		}
	}
	if again := p.Faults(); len(again) > 0 {
		t.Errorf("not forgotten: %q", again)
	}
}
