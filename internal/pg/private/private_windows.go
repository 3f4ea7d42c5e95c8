package private

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// errUnsupported says that there is no private server on this system.
var errUnsupported = errors.New("raglab runs no Postgres of its own on Windows: " +
	"start one with docker compose up -d, or name yours by RAGLAB_DSN")

// flock is not needed where there is no server to share.
func flock(*os.File, lockMode) error { return errUnsupported }

// SupervisorFlag is the first argument of a program that is run to supervise a
// server.
const SupervisorFlag = "-raglab-postgres-supervisor"

// IsSupervisor returns false.
func IsSupervisor([]string) bool { return false }

// Supervise returns an exit code that says failure.
func Supervise([]string) int { return 1 }

// Lease cannot be had.
type Lease struct{}

// Acquire returns an error.
func Acquire(context.Context, Config) (*Lease, error) { return nil, errUnsupported }

// Release does nothing.
func (*Lease) Release() {}

// Endpoint returns an error.
func (*Lease) Endpoint(context.Context) (Endpoint, error) { return Endpoint{}, errUnsupported }

// Memory returns 0.
func (*Lease) Memory() int64 { return 0 }

// Psql returns an error.
func (*Lease) Psql(context.Context, ...string) (*exec.Cmd, error) { return nil, errUnsupported }

// Look returns an error.
func Look(Config) (Status, error) { return Status{}, errUnsupported }

// Stop returns an error.
func Stop(context.Context, Config, bool) (bool, error) { return false, errUnsupported }

// Drop returns an error.
func Drop(context.Context, Config, bool) error { return errUnsupported }
