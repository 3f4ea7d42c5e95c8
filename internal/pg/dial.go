package pg

import (
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Keepalives of TCP connections: a server that vanished without a word is noticed
// after about a minute instead of two hours.
const (
	keepAliveIdle     = 30 * time.Second
	keepAliveInterval = 10 * time.Second
	keepAliveCount    = 3
)

// noticesCut makes a server notice, as this side does, that the network was cut, where the
// address says nothing else: left alone it would believe in a client that vanished within a
// transaction, and in that one's locks, for two hours.
func noticesCut(settings map[string]string) {
	for name, value := range map[string]string{
		"tcp_keepalives_idle":     strconv.Itoa(int(keepAliveIdle.Seconds())),
		"tcp_keepalives_interval": strconv.Itoa(int(keepAliveInterval.Seconds())),
		"tcp_keepalives_count":    strconv.Itoa(keepAliveCount),
		"tcp_user_timeout":        strconv.Itoa(int((keepAliveIdle + keepAliveCount*keepAliveInterval).Milliseconds())),
	} {
		if settings[name] == "" {
			settings[name] = value
		}
	}
}

// connectTimeout bounds one attempt to connect when the DSN says nothing else.
const connectTimeout = 15 * time.Second

// dialer returns what opens network connections.
func dialer() pgconn.DialFunc {
	d := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		},
		Control: boundUnacknowledged,
	}
	return d.DialContext
}
