package pg

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reader is a read-only transaction on a server whose tables are not raglab's own.
// All that is read through it is of one moment. It is for one goroutine.
type Reader struct {
	redactor
	conn *pgx.Conn
	tx   pgx.Tx
}

// lockWait is how long a reader waits for a table that somebody else has locked.
const lockWait = 10 * time.Second

// readerSettings make a server write values as text in the same way wherever it
// stands and whoever asks.
var readerSettings = [][2]string{
	{"bytea_output", "hex"},
	{"datestyle", "ISO, YMD"},
	{"extra_float_digits", "1"},
	{"intervalstyle", "postgres"},
	{"standard_conforming_strings", "on"},
	{"timezone", "UTC"},
}

// OpenReader connects to a server and begins a transaction. The origin says in
// errors where the DSN is from; statement bounds each statement. Errors are as those
// of [Connect]. The reader must be closed.
func OpenReader(ctx context.Context, dsn DSN, from Origin, statement time.Duration) (*Reader, error) {
	config, err := dsn.parse(from)
	if err != nil {
		return nil, err
	}
	r := &Reader{redactor: redactor{dsn.secrets(config)}}
	config.DialFunc = dialer()
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "raglab"
	}
	// Nothing is prepared under a name, so that any pooler will do.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if r.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, r.wrap(ctx, "connect to Postgres", err)
	}
	if err := r.begin(ctx, statement); err != nil {
		r.Close()
		return nil, r.wrap(ctx, "begin to read from Postgres", err)
	}
	return r, nil
}

func (r *Reader) begin(ctx context.Context, statement time.Duration) (err error) {
	r.tx, err = r.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	settings := append([][2]string{
		{"statement_timeout", milliseconds(statement)}, {"lock_timeout", milliseconds(lockWait)},
	}, readerSettings...)
	for _, s := range settings {
		if _, err := r.tx.Exec(ctx, "select set_config($1, $2, true)", s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Tx is the transaction. Errors of what is done in it should pass [Reader.Explain].
func (r *Reader) Tx() pgx.Tx { return r.tx }

// Explain is [DB.Explain] for the reader's server.
func (r *Reader) Explain(ctx context.Context, op string, err error) error {
	return r.wrap(ctx, op, err)
}

// Close ends the transaction and the connection, whether or not it still works.
func (r *Reader) Close() {
	// Closing the connection is what ends the transaction: nothing was written.
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, context.DeadlineExceeded)
	defer cancel()
	_ = r.conn.Close(ctx)
}

// Place names the server and the database of a DSN, without user and password.
func (d DSN) Place() (string, error) {
	config, err := d.parse("it")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s/%s", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), config.Database), nil
}
