package pg

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged bounds how long sent data may go unacknowledged: keepalives
// are not sent while some is, and the system would go on for a quarter of an hour.
func boundUnacknowledged(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	const milliseconds = int(keepAliveIdle+keepAliveCount*keepAliveInterval) / 1_000_000
	var optErr error
	err := c.Control(func(fd uintptr) {
		optErr = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
	})
	if err != nil {
		return err
	}
	return optErr
}
