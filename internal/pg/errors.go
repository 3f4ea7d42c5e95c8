package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"raglab/internal/pg/private"
)

// What an [Error] can be a case of.
var (
	// ErrConnection says that the server could not be reached, cut the connection,
	// or is starting or stopping.
	ErrConnection = errors.New("no connection to Postgres")
	// ErrTooManyConnections says that the server has no connection to spare.
	ErrTooManyConnections = errors.New("too many connections to Postgres")
	// ErrAuthentication says that the server does not know the user, or the
	// password is wrong.
	ErrAuthentication = errors.New("user refused by Postgres")
	// ErrStatementTimeout says that a statement took longer than a timeout that the
	// server or its administrator set.
	ErrStatementTimeout = errors.New("statement timeout of Postgres")
	// ErrCancelled says that somebody else cancelled the statement.
	ErrCancelled = errors.New("statement cancelled in Postgres")
	// ErrReadOnly says that the role, the database or the server only reads.
	ErrReadOnly = errors.New("read-only in Postgres")
	// ErrPermission says that the role lacks a right.
	ErrPermission = errors.New("the Postgres role lacks a right")
	// ErrDiskFull says that the server's disk is full.
	ErrDiskFull = private.ErrDiskFull
	// ErrOutOfMemory says that the server got no more memory.
	ErrOutOfMemory = errors.New("out of memory in Postgres")
	// ErrConflict says that the server ended a transaction for the sake of another.
	ErrConflict = errors.New("conflict with another transaction in Postgres")
	// ErrNoTable says that a table is not there.
	ErrNoTable = errors.New("no such table in Postgres")
)

// Error is what an operation on the server failed with. Its text has no DSN and no
// password.
type Error struct {
	// Op is what was done.
	Op string
	// Kind is one of the package's errors, or nil.
	Kind error
	// Transient says that the same operation may succeed later as it is.
	Transient bool
	text      string
	cause     error
}

func (e *Error) Error() string { return e.Op + ": " + e.text }

// Unwrap returns the kind, and the cause where its own text is safe: what the
// server said, or why the context ended.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// IsTransient tells whether what failed may succeed later as it is.
func IsTransient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Transient
}

// wrap turns an error of the driver into an [Error]. An error that is none of its
// kinds, the caller's own above all, is only said to be of the operation.
func (r redactor) wrap(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	kind, transient := classify(err)
	e := &Error{Op: op, Kind: kind, Transient: transient, text: r.text(err.Error())}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	hidden := connecting || e.text != err.Error()
	pgErr, isPg := errors.AsType[*pgconn.PgError](err)
	switch {
	case ctx.Err() != nil:
		// That the context ended is why all the rest happened.
		e.Kind, e.Transient = nil, false
		e.cause, e.text = context.Cause(ctx), context.Cause(ctx).Error()
	case isPg:
		safe := r.server(pgErr)
		e.cause, e.text = safe, serverText(safe)+remedies[kind]
	case kind == nil && !hidden:
		return fmt.Errorf("%s: %w", op, err)
	case connecting:
		e.text = oneLine(e.text)
	case !hidden:
		e.cause = err
	}
	if e.Kind != nil && !isPg {
		e.text = e.Kind.Error() + ": " + e.text
	}
	return e
}

// remedies say what helps against what the server or its administrator decided.
var remedies = map[error]string{
	ErrStatementTimeout: ": have statement_timeout raised for the role, or raise it in the address, " +
		"as by options='-c statement_timeout=0'",
	ErrTooManyConnections: ": it has none to spare; max_connections in the store block bounds how many raglab takes",
}

// oneLine joins the lines of an error of connecting: what was tried, and how each
// attempt went, the same once with and once without encryption.
func oneLine(text string) string {
	head, rest, _ := strings.Cut(text, "\n")
	var attempts []string
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); !slices.Contains(attempts, line) {
			attempts = append(attempts, line)
		}
	}
	return strings.TrimSpace(head + " " + strings.Join(attempts, "; "))
}

// server returns what the server said without secrets.
func (r redactor) server(e *pgconn.PgError) *pgconn.PgError {
	safe := *e
	for _, text := range []*string{&safe.Message, &safe.Detail, &safe.Hint, &safe.Where, &safe.InternalQuery} {
		*text = r.text(*text)
	}
	return &safe
}

// serverText is what the server said, in one line.
func serverText(e *pgconn.PgError) string {
	text := e.Message
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return strings.ReplaceAll(text, "\n", " ") + ", SQLSTATE " + e.Code
}

const (
	codeCancelled         = "57014"
	codeStarting          = "57P03"
	codeInsufficientRight = "42501"
	codeNoTable           = "42P01"
)

// serverCode returns the SQLSTATE of an error, or nothing.
func serverCode(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

// classify returns what an error of the driver is a case of, and whether it may
// pass. Codes are from appendix A of Postgres's manual.
func classify(err error) (kind error, transient bool) {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyCode(pgErr)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return ErrConnection, !dns.IsNotFound
	}
	_, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, os.ErrDeadlineExceeded), pgconn.Timeout(err):
		return ErrConnection, true
	}
	return nil, false
}

func classifyCode(e *pgconn.PgError) (kind error, transient bool) {
	switch e.Code {
	case "53300": // too_many_connections
		return ErrTooManyConnections, true
	case codeCancelled:
		if strings.Contains(e.Message, "statement timeout") || strings.Contains(e.Message, "lock timeout") {
			return ErrStatementTimeout, false
		}
		return ErrCancelled, false
	case "55P03": // lock_not_available
		return ErrConflict, true
	case "25006": // read_only_sql_transaction
		return ErrReadOnly, false
	case codeInsufficientRight:
		return ErrPermission, false
	case "53100": // disk_full
		return ErrDiskFull, false
	case "53200": // out_of_memory
		return ErrOutOfMemory, false
	case "28P01", "28000":
		return ErrAuthentication, false
	case codeNoTable:
		return ErrNoTable, false
	case "57P01", "57P02", codeStarting, "57P05", "25P03":
		return ErrConnection, true
	case "40001", "40P01":
		return ErrConflict, true
	}
	if strings.HasPrefix(e.Code, "08") { // connection exceptions
		return ErrConnection, true
	}
	if e.Code == "58030" && strings.Contains(e.Message, "No space left") {
		return ErrDiskFull, false
	}
	return nil, false
}
