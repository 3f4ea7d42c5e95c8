//go:build unix

package embedder

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that the process has used.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
