package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"raglab/internal/pg/private"
)

// DefaultSchema is the schema of raglab's tables.
const DefaultSchema = "raglab"

// Config says which server to use and how.
type Config struct {
	// DSN is the address that the spec's store block names, or empty.
	DSN DSN
	// Getenv reads an environment variable; nil is os.Getenv.
	Getenv func(string) string
	// Private is the private server, for when nothing else names one; nil where
	// there is none.
	Private *private.Config
	// Schema holds raglab's tables; empty is [DefaultSchema].
	Schema string
	// MaxConns bounds the pool; 0 is two more than the machine has cores, but at
	// least 4.
	MaxConns int32
	// Version is raglab's own, for the manifests.
	Version string
}

// source returns the address of the server and where that comes from; empty is the
// private one.
func (c Config) source() (DSN, Origin) {
	getenv := c.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if c.DSN != "" {
		return c.DSN, FromSpec
	}
	if dsn := getenv(EnvDSN); dsn != "" {
		return DSN(dsn), FromEnv
	}
	return "", FromPrivate
}

// Origin returns where the choice of the server comes from.
func (c Config) Origin() Origin {
	_, from := c.source()
	return from
}

// schemaPattern is what a schema may be called: names that need no quotes.
var schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

func (c Config) withDefaults() (Config, error) {
	if c.Schema == "" {
		c.Schema = DefaultSchema
	}
	if err := CheckSchema(c.Schema); err != nil {
		return c, fmt.Errorf("schema %w", err)
	}
	if c.MaxConns == 0 {
		c.MaxConns = int32(max(4, runtime.NumCPU()+2))
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	return c, nil
}

// pingTimeout is how long a server may take to say that a connection stands.
const pingTimeout = 10 * time.Second

// DB is a server with raglab's schema. Its methods may be called from several
// goroutines.
type DB struct {
	redactor
	schema  string
	version string
	origin  Origin
	server  Server
	config  *pgx.ConnConfig // of a connection outside of the pool
	lease   *private.Lease  // nil for a server that is not private
	pool    *pgxpool.Pool
}

// Connect connects to the server, starting the private one if need be, and brings
// raglab's schema up to date. A server that lacks something is an [*AdminError],
// one whose schema a newer raglab made a [*NewerSchemaError], and what goes wrong
// on the way an [*Error]. The DB must be closed.
func Connect(ctx context.Context, c Config) (*DB, error) {
	db, conn, err := open(ctx, c, true)
	if err != nil {
		return nil, err
	}
	if err := db.setUp(ctx, conn); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// open connects once and reads the facts. A private server is only started if start
// is set.
func open(ctx context.Context, c Config, start bool) (*DB, *pgx.Conn, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	db := &DB{schema: c.Schema, version: c.Version}
	if err := db.locate(ctx, c, start); err != nil {
		db.Close()
		return nil, nil, err
	}
	conn, err := db.connectPatiently(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	db.server, err = readServer(ctx, conn, db.schema)
	if err == nil {
		db.server.Pooler, err = findPooler(ctx, conn, db.connect)
	}
	if err != nil {
		conn.Close(ctx)
		db.Close()
		return nil, nil, db.wrap(ctx, "look at Postgres", err)
	}
	if err := db.preparePool(ctx, c); err != nil {
		conn.Close(ctx)
		db.Close()
		return nil, nil, err
	}
	return db, conn, nil
}

// locate finds the server and prepares what connects to it.
func (db *DB) locate(ctx context.Context, c Config, start bool) error {
	dsn, from := c.source()
	db.origin = from
	var err error
	if from == FromPrivate {
		if c.Private == nil {
			return fmt.Errorf("no Postgres is named: set dsn in the store block or %s", EnvDSN)
		}
		endpoint, err := db.private(ctx, *c.Private, start)
		if err != nil {
			return err
		}
		if db.config, err = endpoint.Config(private.Database); err != nil {
			return err
		}
		db.secrets = DSN("").secrets(db.config)
	} else {
		if db.config, err = dsn.parse(from); err != nil {
			return err
		}
		db.secrets = dsn.secrets(db.config)
		db.config.DialFunc = dialer()
		if db.config.ConnectTimeout == 0 {
			db.config.ConnectTimeout = connectTimeout
		}
	}
	if db.config.RuntimeParams["application_name"] == "" {
		db.config.RuntimeParams["application_name"] = "raglab"
	}
	// The first connection asks what is at the other end: it must work through any
	// pooler.
	db.config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	return nil
}

// private returns where the private server is.
func (db *DB) private(ctx context.Context, c private.Config, start bool) (private.Endpoint, error) {
	if !start {
		status, err := private.Look(c)
		if err == nil && !status.Running {
			err = private.ErrNotRunning
		}
		return status.Endpoint, err
	}
	var err error
	if db.lease, err = private.Acquire(ctx, c); err != nil {
		return private.Endpoint{}, err
	}
	return db.lease.Endpoint(ctx)
}

// connect makes a connection outside of the pool. A private server that died is
// started again.
func (db *DB) connect(ctx context.Context) (*pgx.Conn, error) {
	config := db.config.Copy()
	if err := db.follow(ctx, config); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config)
}

// follow makes a configuration lead to where the private server is now.
func (db *DB) follow(ctx context.Context, config *pgx.ConnConfig) error {
	if db.lease == nil {
		return nil
	}
	endpoint, err := db.lease.Endpoint(ctx)
	if err == nil {
		endpoint.Apply(config)
	}
	return err
}

// connectPatiently connects, and waits as [DB.Await] does.
func (db *DB) connectPatiently(ctx context.Context) (conn *pgx.Conn, err error) {
	err = db.patiently(ctx, "connect to Postgres", func() error {
		conn, err = db.connect(ctx)
		return err
	})
	return conn, err
}

// Await returns when the server answers. It waits for one that is starting or
// recovers from a crash, and for a private one that is being started again, half a
// minute at most. That raglab's tables are gone is an [ErrNoTable]: only another DB
// makes them again. It takes a connection of the pool.
func (db *DB) Await(ctx context.Context) error {
	return db.patiently(ctx, "look at Postgres", func() error {
		_, err := db.pool.Exec(ctx, "select from "+db.manifests()+" limit 0")
		return err
	})
}

// patiently tries what needs a server until that has started.
func (db *DB) patiently(ctx context.Context, op string, try func() error) error {
	const patience = 30 * time.Second
	deadline := time.Now().Add(patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := try()
		if err == nil {
			return nil
		}
		wrapped := db.wrap(ctx, op, err)
		starting := serverCode(err) == codeStarting
		if !starting && (db.lease == nil || !errors.Is(wrapped, ErrConnection)) || time.Now().After(deadline) {
			return wrapped
		}
		select {
		case <-ctx.Done():
			return wrapped
		case <-time.After(pause):
		}
	}
}

// preparePool makes the pool, which connects when it is first asked to.
func (db *DB) preparePool(ctx context.Context, c Config) error {
	if db.server.Pooler.perTransaction() {
		// Statements that one connection prepared are not known to the next.
		db.config.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		db.config.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	if db.server.Pooler.Mode == "" && db.server.Linux && db.server.VersionNum >= minServer {
		// What a client that was killed had begun must not go on for hours.
		db.config.RuntimeParams["client_connection_check_interval"] = "5s"
	}
	if db.server.Pooler.Mode == "" {
		noticesCut(db.config.RuntimeParams)
	}
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return fmt.Errorf("prepare the connections to Postgres: the variables that begin with PG do not fit together")
	}
	config.ConnConfig = db.config.Copy()
	config.MaxConns = c.MaxConns
	config.MaxConnIdleTime = time.Minute
	// Of a connection that has rested: a network may have fallen silent meanwhile.
	config.PingTimeout = pingTimeout
	config.HealthCheckPeriod = 30 * time.Second
	config.BeforeConnect = db.follow
	config.AfterConnect = db.prepareConn
	db.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	return db.wrap(ctx, "prepare the connections to Postgres", err)
}

// prepareConn makes a new connection know raglab's schema and pgvector's types.
func (db *DB) prepareConn(ctx context.Context, conn *pgx.Conn) error {
	if !db.server.Pooler.perTransaction() {
		if _, err := conn.Exec(ctx, "select set_config('search_path', $1, false)", db.searchPath()); err != nil {
			return err
		}
	}
	if db.server.Vector == "" {
		return nil
	}
	return pgxvector.RegisterTypes(ctx, conn)
}

// searchPath is where names without a schema are looked for.
func (db *DB) searchPath() string {
	path := pgx.Identifier{db.schema}.Sanitize()
	if v := db.server.VectorSchema; v != "" && v != db.schema && v != "public" {
		path += ", " + pgx.Identifier{v}.Sanitize()
	}
	return path + ", public"
}

// setUp brings extension and schema up to date, through the first connection, which
// it closes.
func (db *DB) setUp(ctx context.Context, conn *pgx.Conn) error {
	defer conn.Close(context.WithoutCancel(ctx))
	if err := db.server.needs(db.schema); err != nil {
		return err
	}
	return db.migrate(ctx, conn)
}

// Close closes the connections and gives a private server's lease back.
func (db *DB) Close() {
	if db.pool != nil {
		db.pool.Close()
	}
	if db.lease != nil {
		db.lease.Release()
	}
}

// Server returns what is known of the server.
func (db *DB) Server() Server { return db.server }

// Origin returns where the choice of the server came from.
func (db *DB) Origin() Origin { return db.origin }

// Schema returns the name of raglab's schema.
func (db *DB) Schema() string { return db.schema }

// Pool returns the pool. Errors of what is done with it should pass [DB.Explain].
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Lease returns the private server's lease, nil for another server.
func (db *DB) Lease() *private.Lease { return db.lease }

// Explain turns an error of the driver into an [*Error] that says what was done,
// without DSN and password. Nil stays nil.
func (db *DB) Explain(ctx context.Context, op string, err error) error { return db.wrap(ctx, op, err) }
