package pg

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// OpenWatched is [DB.OpenSession] for a session whose end is noticed on both sides
// within about the time given, also when the network between them was cut: it is for
// locks that say that a process is alive. What the session holds ends with it.
func (db *DB) OpenWatched(ctx context.Context, within time.Duration) (*Session, error) {
	if p := db.server.Pooler; p.perTransaction() {
		return nil, &PoolerError{Pooler: p, What: "a lock that tells that a worker is alive"}
	}
	s, err := db.OpenSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := watch(ctx, s, within); err != nil {
		s.Conn.Close(context.WithoutCancel(ctx))
		return nil, db.wrap(ctx, "prepare a session", err)
	}
	return s, nil
}

// probes is how many keepalives go unanswered before a connection counts as cut.
const probes = 3

// watch sets the keepalives of a session's two ends. A server on a system that lacks
// one of the settings, or behind a socket of the file system, keeps to zero.
func watch(ctx context.Context, s *Session, within time.Duration) error {
	interval := max(within/probes, time.Second)
	_, err := s.Conn.Exec(ctx, fmt.Sprintf(`
		select set_config('tcp_keepalives_idle', '%[1]d', false), set_config('tcp_keepalives_interval', '%[1]d', false),
			set_config('tcp_keepalives_count', '%[2]d', false), set_config('tcp_user_timeout', '%[3]d', false),
			set_config('idle_session_timeout', '0', false)`,
		int(interval.Seconds()), probes, within.Milliseconds()))
	if err != nil {
		return err
	}
	conn := s.Conn.PgConn().Conn()
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil // a socket of the file system ends with its peer
	}
	err = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: interval, Interval: interval, Count: probes})
	if err != nil {
		return err
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return setUserTimeout(raw, within)
}
