package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/private"
)

// Database makes an empty database on the server that [EnvDSN] names or that the
// tests of the binary share. It returns how to connect to it, as a list of
// parameters to which more may be added, and what drops it.
func Database(ctx context.Context) (dsn string, drop func() error, err error) {
	config, err := administrator(ctx)
	if err != nil {
		return "", nil, err
	}
	name := "test_" + strings.ToLower(rand.Text())
	run := func(ctx context.Context, sql string) error {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
	if err := run(ctx, "create database "+name); err != nil {
		return "", nil, fmt.Errorf("make a database: %w", err)
	}
	dsn = fmt.Sprintf("host='%s' port=%d user='%s' dbname=%s", config.Host, config.Port, config.User, name)
	if config.Password != "" {
		dsn += fmt.Sprintf(" password='%s'", config.Password)
	}
	return dsn, func() error {
		return run(context.Background(), "drop database if exists "+name+" with (force)")
	}, nil
}

// Named returns the address of an empty database that goes with the test.
func Named(t testing.TB) string {
	t.Helper()
	Bundle(t)
	dsn, drop, err := Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return dsn
}

// administrator connects to the server as one who may make databases.
func administrator(ctx context.Context) (*pgx.ConnConfig, error) {
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return pgx.ParseConfig(dsn)
	}
	own, err := shared.start(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := private.Acquire(ctx, *own)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	endpoint, err := lease.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	return endpoint.Config("postgres")
}
