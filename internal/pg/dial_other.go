//go:build !linux

package pg

import "syscall"

// boundUnacknowledged does nothing: the option is Linux's.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }
