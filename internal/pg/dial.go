package pg

import (
	"net"
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
