package pg_test

import (
	"testing"
	"time"
)

// eventually repeats what fails while a server is started again.
func eventually(t *testing.T, true func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !true() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not after a minute")
		}
	}
}
