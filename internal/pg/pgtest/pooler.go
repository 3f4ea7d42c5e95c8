package pgtest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// pooler stands between clients and a server as PgBouncer does: clients talk to it,
// and it lends them the server's connections, the one given back last first.
type pooler struct {
	t       testing.TB
	config  *pgconn.Config
	session bool
	named   bool

	mu   sync.Mutex
	idle []*serverConn
	all  []*serverConn
}

// serverConn is one of the server's connections.
type serverConn struct {
	conn     net.Conn
	frontend *pgproto3.Frontend
}

// Pooler runs a connection pooler on 127.0.0.1 before a server until the test ends,
// and returns its port. With session a client keeps its connection until it leaves,
// else until its transaction ends. With named it refuses parameters as PgBouncer
// does.
func Pooler(t testing.TB, server *pgconn.Config, session, named bool) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{t: t, config: server, session: session, named: named}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			clients.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		for _, s := range p.all {
			s.conn.Close()
		}
		p.mu.Unlock()
		clients.Wait()
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// lend returns a connection of the server.
func (p *pooler) lend() (*serverConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return s, nil
	}
	conn, err := pgconn.ConnectConfig(context.Background(), p.config)
	if err != nil {
		return nil, err
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, err
	}
	s := &serverConn{hijacked.Conn, hijacked.Frontend}
	p.all = append(p.all, s)
	return s, nil
}

func (p *pooler) takeBack(s *serverConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

// serve talks to one client.
func (p *pooler) serve(conn net.Conn) {
	defer conn.Close()
	client := pgproto3.NewBackend(conn, conn)
	if !p.greet(client) {
		return
	}
	var server *serverConn
	for {
		m, err := client.Receive()
		if err != nil {
			if server != nil {
				server.conn.Close() // its transaction may be open
			}
			return
		}
		if _, leaves := m.(*pgproto3.Terminate); leaves {
			if server != nil && p.session {
				p.takeBack(server)
			}
			return
		}
		if server == nil {
			if server, err = p.lend(); err != nil {
				p.t.Error(err)
				return
			}
		}
		server.frontend.Send(m)
		free, err := relay(m, server, client)
		if err != nil {
			server.conn.Close()
			return
		}
		if free && !p.session {
			p.takeBack(server)
			server = nil
		}
	}
}

// greet answers a client's first message; the key by which statements are
// cancelled is the pooler's own.
func (p *pooler) greet(client *pgproto3.Backend) bool {
	first, err := client.ReceiveStartupMessage()
	start, ok := first.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return false
	}
	if _, probed := start.Parameters["raglab.probe"]; probed && p.named {
		client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: raglab.probe"})
		client.Flush()
		return false
	}
	client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{
		"server_version": "18.4", "client_encoding": "UTF8", "standard_conforming_strings": "on", "integer_datetimes": "on",
	} {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	client.Send(&pgproto3.BackendKeyData{ProcessID: 4_000_000_000, SecretKey: []byte{1, 2, 3, 4}})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return client.Flush() == nil
}

// relay carries the server's answers to a message that asks for some, and tells
// whether the server has no transaction open after them.
func relay(m pgproto3.FrontendMessage, server *serverConn, client *pgproto3.Backend) (free bool, err error) {
	switch m.(type) {
	case *pgproto3.Query, *pgproto3.Sync, *pgproto3.CopyDone, *pgproto3.CopyFail:
	default:
		return false, nil // more of the client's is to come
	}
	if err := server.frontend.Flush(); err != nil {
		return false, err
	}
	for {
		answer, err := server.frontend.Receive()
		if err != nil {
			return false, err
		}
		client.Send(answer)
		switch a := answer.(type) {
		case *pgproto3.CopyInResponse:
			return false, client.Flush()
		case *pgproto3.ReadyForQuery:
			return a.TxStatus == 'I', client.Flush()
		case *pgproto3.ErrorResponse:
			if a.Severity == "FATAL" {
				return false, errors.Join(client.Flush(), io.EOF)
			}
		}
	}
}
