//go:build unix

package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Look returns the status of the server in a folder. It changes nothing.
func Look(c Config) (Status, error) {
	st := Status{Data: filepath.Join(c.home(), "data"), Log: c.logFile()}
	if to, err := os.Readlink(c.home()); err == nil {
		st.Data = filepath.Join(to, "data")
	}
	st.Bytes = folderBytes(st.Data)
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	used, err := held(c.clientsLock(), shared)
	if err != nil {
		return st, fmt.Errorf("look at the private Postgres: %w", err)
	}
	st.InUse = used
	if s, ok := c.running(); ok {
		st.Running, st.Version, st.Server, st.Supervisor = true, s.Version, s.Server, s.Supervisor
		st.Account, st.Started, st.IdleAfter, st.Endpoint = s.Account, s.Started, s.IdleAfter, s.Endpoint
	}
	return st, nil
}

// Stop stops the server in a folder and returns when it has ended; false says that
// none ran. A server that other processes use is left alone, with [ErrInUse],
// unless force is set.
func Stop(ctx context.Context, c Config, force bool) (bool, error) {
	c, err := c.withDefaults()
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	start, err := c.mayStop(ctx, force)
	if err != nil {
		return false, err
	}
	defer start.Close()
	return c.stop(ctx)
}

// mayStop returns the lock for starts, or ErrInUse.
func (c Config) mayStop(ctx context.Context, force bool) (*os.File, error) {
	start, err := waitLock(ctx, c.startLock(), exclusive)
	if err != nil {
		return nil, err
	}
	used, err := held(c.clientsLock(), shared)
	if err == nil && used && !force {
		err = ErrInUse
	}
	if err != nil {
		start.Close()
		return nil, fmt.Errorf("stop the private Postgres: %w", err)
	}
	return start, nil
}

// stop tells the supervisor to end, until it has. The caller holds the lock for
// starts.
func (c Config) stop(ctx context.Context) (bool, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	told := 0
	for {
		alive, err := held(c.supervisorLock(), exclusive)
		if err != nil || !alive {
			return told != 0, err
		}
		if s, err := c.readState(); err == nil && s.Supervisor != told && c.supervises(s.Supervisor) {
			if err := syscall.Kill(s.Supervisor, syscall.SIGTERM); err == nil {
				told = s.Supervisor
			}
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("wait for the end of the private Postgres: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// supervises tells whether a process is a supervisor of the server: the file that
// names it may be what a killed one left.
func (c Config) supervises(pid int) bool {
	args := arguments(pid)
	arg, err := json.Marshal(c.Dir)
	return err == nil && strings.Contains(args, SupervisorFlag) && strings.Contains(args, string(arg))
}

// Drop stops the server in a folder and removes all its data. It needs no programs
// that can read the data, and leaves a server that others use alone, with
// [ErrInUse], unless force is set.
func Drop(ctx context.Context, c Config, force bool) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	start, err := c.mayStop(ctx, force)
	if err != nil {
		return err
	}
	defer start.Close()
	if _, err := c.stop(ctx); err != nil {
		return err
	}
	if err := c.settleBeforeDrop(ctx); err != nil {
		return err
	}
	// The locks stay: others may be waiting for them.
	var errs []error
	for _, path := range []string{c.accountHome(), c.home(), c.passwordFile(), c.stateFile(), c.logFile()} {
		errs = append(errs, os.RemoveAll(path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the data of the private Postgres: %w", err)
	}
	return nil
}

// settleBeforeDrop ends a server that lost its supervisor.
func (c Config) settleBeforeDrop(ctx context.Context) error {
	a, err := findAccount(c.Account)
	if err != nil {
		return err
	}
	home := c.home()
	if to, err := os.Readlink(home); err == nil {
		home = to
	}
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return layout{account: a, home: home}.settle(ctx)
}

// Psql prepares a command that opens the server's database in psql, the bundle's
// own. The caller connects its standard streams, and keeps the lease until the
// command has ended.
func (l *Lease) Psql(ctx context.Context, args ...string) (*exec.Cmd, error) {
	e, err := l.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(l.config.Programs, "bin", "psql"), args...)
	cmd.Env = append(os.Environ(), "PGHOST="+e.Host, fmt.Sprintf("PGPORT=%d", e.Port), "PGUSER="+Role,
		"PGDATABASE="+Database, "PGPASSWORD="+e.Password, "PGSSLMODE=disable")
	return cmd, nil
}

// folderBytes adds up what the files below dir take, skipping what it cannot read.
func folderBytes(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
