package embedder

import (
	"testing"
	"time"
)

// cpuTime is not measured on Windows.
func cpuTime(testing.TB) time.Duration { return 0 }
