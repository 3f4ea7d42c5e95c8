package pg

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged bounds how long sent data may go unacknowledged: keepalives
// are not sent while some is, and the system would go on for a quarter of an hour.
func boundUnacknowledged(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return setUserTimeout(c, keepAliveIdle+keepAliveCount*keepAliveInterval)
}

// setUserTimeout bounds how long sent data may go unacknowledged.
func setUserTimeout(c syscall.RawConn, bound time.Duration) error {
	var optErr error
	err := c.Control(func(fd uintptr) {
		optErr = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(bound.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return optErr
}
