//go:build unix

package private

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Lease is a process's wish that the server run. Its methods may be called from
// several goroutines.
type Lease struct {
	config Config
	lock   *os.File
}

// Acquire returns a lease on the server, starting it if it does not run. Every
// lease must be released; the end of the process does it too.
func Acquire(ctx context.Context, c Config) (*Lease, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := c.makeDir(); err != nil {
		return nil, fmt.Errorf("make the folder of the private Postgres: %w", diskError(err))
	}
	start, err := waitLock(ctx, c.startLock(), exclusive)
	if err != nil {
		return nil, err
	}
	defer start.Close()
	// The lease comes first: from now on the server, if there is one, goes on.
	lock, err := waitLock(ctx, c.clientsLock(), shared)
	if err != nil {
		return nil, err
	}
	l := &Lease{config: c, lock: lock}
	if err := c.ensure(ctx); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// Release gives the lease back. A second call does nothing.
func (l *Lease) Release() { l.lock.Close() }

// Endpoint returns where the server is. A server that died is started again, and
// may then be elsewhere.
func (l *Lease) Endpoint(ctx context.Context) (Endpoint, error) {
	if s, ok := l.config.running(); ok {
		return s.Endpoint, nil
	}
	start, err := waitLock(ctx, l.config.startLock(), exclusive)
	if err != nil {
		return Endpoint{}, err
	}
	defer start.Close()
	if err := l.config.ensure(ctx); err != nil {
		return Endpoint{}, err
	}
	s, err := l.config.readState()
	return s.Endpoint, err
}

// running returns the state of a server that accepts connections now.
func (c Config) running() (state, bool) {
	if alive, err := held(c.supervisorLock(), exclusive); err != nil || !alive {
		return state{}, false
	}
	s, err := c.readState()
	return s, err == nil && s.Ready && s.accepts()
}

// ensure starts a server unless one runs. The caller holds the lock for starts.
func (c Config) ensure(ctx context.Context) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		if _, ok := c.running(); ok {
			return nil
		}
		alive, err := held(c.supervisorLock(), exclusive)
		if err != nil {
			return err
		}
		if !alive {
			err := c.startSupervisor(ctx)
			if !errors.Is(err, errBusy) {
				return err
			}
		}
		// Another supervisor starts its server for a process that died meanwhile, or
		// is about to notice that its server died.
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the private Postgres: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// startSupervisor runs the supervisor and waits until its server is ready. The
// supervisor outlives ctx and this process.
func (c Config) startSupervisor(ctx context.Context) error {
	arg, err := json.Marshal(c)
	if err != nil {
		return err
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	log, err := c.openLog()
	if err != nil {
		tell.Close()
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.Supervisor, SupervisorFlag, string(arg))
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{tell}
	detach(cmd)
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return fmt.Errorf("start the supervisor of the private Postgres: %w", err)
	}
	// It ends long after this function, or this process; a child that nobody
	// waits for would stay in the process table.
	go cmd.Wait()
	stop := context.AfterFunc(ctx, func() { told.Close() })
	defer stop()
	var o outcome
	line, err := bufio.NewReader(told).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the private Postgres: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("start the private Postgres: its supervisor (%s) ended without a word: see %s", c.Supervisor, c.logFile())
	}
	if err := o.err(); err != nil {
		return fmt.Errorf("start the private Postgres: %w", err)
	}
	return nil
}
