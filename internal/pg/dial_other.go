//go:build !linux

package pg

import (
	"syscall"
	"time"
)

// boundUnacknowledged does nothing: the option is Linux's.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }

// setUserTimeout does nothing: keepalives alone notice that a network was cut.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
