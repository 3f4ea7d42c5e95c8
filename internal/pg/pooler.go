package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pooler is a program between a client and a server that hands the server's
// connections out.
type Pooler struct {
	// Name is PgBouncer, or "a connection pooler" where it does not tell.
	Name string
	// Mode is how long a client keeps a server's connection: "session", or
	// "transaction" (or only a statement), which loses settings and locks of a
	// session. Empty when there is no pooler.
	Mode string
}

// perTransaction tells whether settings and locks of a session are lost.
func (p Pooler) perTransaction() bool { return p.Mode == "transaction" }

// PoolerError says that what was asked for needs a session of its own on the
// server, which a transaction pooler does not give.
type PoolerError struct {
	Pooler Pooler
	// What needs it.
	What string
}

func (e *PoolerError) Error() string {
	return e.What + " cannot be had through " + e.Pooler.Name + " in transaction mode, where the next statement may run in " +
		"another session: give raglab the address of the server itself, or of a pool in session mode"
}

// poolerPatience bounds each step of looking for a pooler: one that has no
// connection to give lets its clients wait.
const poolerPatience = 2 * time.Second

// findPooler finds out whether the connection leads to the server itself. The
// process id that the other end told when the connection was made is that of the
// server's process unless somebody in between made it up.
func findPooler(ctx context.Context, conn *pgx.Conn, connect func(context.Context) (*pgx.Conn, error)) (Pooler, error) {
	var pid uint32
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		return Pooler{}, err
	}
	if pid == conn.PgConn().PID() {
		return Pooler{}, nil
	}
	p := Pooler{Name: poolerName(ctx, conn.Config()), Mode: "session"}
	lost, err := losesSessions(ctx, conn, connect)
	if lost {
		p.Mode = "transaction"
	}
	return p, err
}

// poolerName tells PgBouncer by its refusal of a parameter that every server takes.
func poolerName(ctx context.Context, config *pgx.ConnConfig) string {
	config = config.Copy()
	config.RuntimeParams["raglab.probe"] = "1"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		conn.Close(ctx)
	} else if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && strings.Contains(pgErr.Message, "startup parameter") {
		return "PgBouncer"
	}
	return "a connection pooler"
}

// losesSessions tells whether a session's settings are lost between transactions:
// it leaves a mark in the session and has other connections begin transactions,
// which then hold the server's connections. Either one of them meets the mark, or
// the first connection does not find it again.
func losesSessions(ctx context.Context, conn *pgx.Conn, connect func(context.Context) (*pgx.Conn, error)) (bool, error) {
	mark := rand.Text()
	if _, err := conn.Exec(ctx, "select set_config('raglab.probe', $1, false)", mark); err != nil {
		return false, err
	}
	const others = 4
	for range others {
		ctx, cancel := context.WithTimeoutCause(ctx, poolerPatience, errors.New("the pooler has no connection to give"))
		defer cancel()
		other, err := connect(ctx)
		if err != nil {
			break // no connection to spare: the first one is asked with what there is
		}
		defer other.Close(ctx)
		if _, err := other.Exec(ctx, "begin"); err != nil {
			if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(pgErr.Code, "08") {
				return true, nil // a pooler that gives connections for one statement
			}
			break
		}
		if marked(ctx, other, mark) {
			return true, nil
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, poolerPatience, errors.New("the pooler has no connection to give"))
	defer cancel()
	return !marked(ctx, conn, mark), nil
}

// marked tells whether a connection is in the session with the mark.
func marked(ctx context.Context, conn *pgx.Conn, mark string) bool {
	var found string
	err := conn.QueryRow(ctx, "select coalesce(current_setting('raglab.probe', true), '')").Scan(&found)
	return err == nil && found == mark
}
