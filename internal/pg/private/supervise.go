//go:build unix

package private

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// SupervisorFlag is the first argument of a program that is run to supervise a
// server. It begins with a dash so that a program that does not know it, a test
// above all, stops instead of doing what it otherwise does.
const SupervisorFlag = "-raglab-postgres-supervisor"

// outcomeFD is the file descriptor on which a supervisor tells how the start went.
const outcomeFD = 3

// IsSupervisor tells whether a program with these arguments was run to supervise a
// server: its main function must then return what [Supervise] returns.
func IsSupervisor(args []string) bool { return len(args) == 3 && args[1] == SupervisorFlag }

// Supervise starts the server that the arguments describe, stops it when it is idle
// or when the process is told to end, and returns the exit code. It is for main
// functions only: it takes over the process's signals.
func Supervise(args []string) int {
	runtime.LockOSThread() // the server ends with the thread that starts it
	told := os.NewFile(outcomeFD, "outcome")
	s := &supervisor{tell: func(o outcome) {
		json.NewEncoder(told).Encode(o) // nobody may be listening any more
		told.Close()
	}}
	err := json.Unmarshal([]byte(args[2]), &s.config)
	if err == nil {
		s.config, err = s.config.withDefaults()
	}
	if err == nil {
		err = s.run()
	}
	if err != nil {
		s.tell(newOutcome(err))
		s.say("%v", err)
		return 1
	}
	return 0
}

// supervisor is the process that owns a server.
type supervisor struct {
	config Config
	tell   func(outcome)
	log    *os.File
	// cleaned says that the files are those of the next supervisor.
	cleaned bool
}

// say writes a line to the log.
func (s *supervisor) say(format string, args ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, "%s [%d] supervisor: %s\n", time.Now().UTC().Format("2006-01-02 15:04:05.000 UTC"),
			os.Getpid(), fmt.Sprintf(format, args...))
	}
}

// maxLog is the size from which the log begins anew at the next start.
const maxLog = 8 << 20

// openLog opens the file in which supervisor and server say what they do.
func (c Config) openLog() (*os.File, error) {
	flags := os.O_CREATE | os.O_APPEND | os.O_RDWR
	if info, err := os.Stat(c.logFile()); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(c.logFile(), flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the private Postgres: %w", diskError(err))
	}
	return f, nil
}

// run is the life of a supervisor.
func (s *supervisor) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var err error
	if s.log, err = s.config.openLog(); err != nil {
		return err
	}
	startCtx, cancel := context.WithTimeoutCause(ctx, s.config.StartTimeout,
		fmt.Errorf("it was not ready after %s: see %s", s.config.StartTimeout, s.config.logFile()))
	defer cancel()
	lock, err := s.takeLock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	defer s.clean()
	server, err := s.start(startCtx)
	if err != nil {
		return err
	}
	s.tell(outcome{Ready: true})
	s.say("ready at %s, port %d", server.endpoint.Host, server.endpoint.Port)
	return s.watch(ctx, server)
}

// takeLock takes the lock that says that this is the supervisor. Those who only look
// whether there is one are in the way for a moment.
func (s *supervisor) takeLock(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 500*time.Millisecond, errBusy)
	defer cancel()
	return waitLock(ctx, s.config.supervisorLock(), exclusive)
}

// clean removes what tells of a running server, once: the next server's may come at
// any time after.
func (s *supervisor) clean() {
	if s.cleaned {
		return
	}
	s.cleaned = true
	if err := os.Remove(s.config.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.say("%v", err)
	}
	if s.config.Temporary {
		os.RemoveAll(s.config.accountHome())
		os.RemoveAll(s.config.Dir)
	}
}

// start brings the server up, whatever state an earlier one left.
func (s *supervisor) start(ctx context.Context) (*postmaster, error) {
	now := state{Supervisor: os.Getpid(), Started: time.Now().UTC(), IdleAfter: s.config.IdleAfter}
	if err := now.write(s.config); err != nil {
		return nil, diskError(err)
	}
	password, err := s.config.ensurePassword()
	if err != nil {
		return nil, diskError(fmt.Errorf("make the password of the private Postgres: %w", err))
	}
	l, err := s.config.makeLayout()
	if err != nil {
		return nil, diskError(err)
	}
	full, major, err := l.version(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.checkVersion(major); err != nil {
		return nil, err
	}
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if err := l.initialise(ctx, major, password); err != nil {
		return nil, err
	}
	if crashed, err := l.crashed(ctx); err != nil {
		return nil, err
	} else if crashed {
		if err := s.sweep(ctx, l, password); err != nil {
			return nil, err
		}
	}
	server, err := s.launch(ctx, l, password, false)
	if err != nil {
		return nil, err
	}
	now.Endpoint, now.Server, now.Version = server.endpoint, server.cmd.Process.Pid, full
	now.Data, now.Programs, now.Account, now.Ready = l.data(), l.programs, l.account.name, true
	if err := now.write(s.config); err != nil {
		return nil, errors.Join(diskError(err), server.stop())
	}
	return server, nil
}

// launch starts a server on the data folder, for all or hidden.
func (s *supervisor) launch(ctx context.Context, l layout, password string, hidden bool) (*postmaster, error) {
	settings := thisMachine().settings()
	if hidden {
		settings["autovacuum"] = "off"
	}
	const tries = 3 // of ports that another program takes in between
	var failure error
	for range tries {
		endpoint, err := s.config.place(l, password, hidden)
		if err != nil {
			return nil, err
		}
		if err := l.writeSettings(settings, endpoint, userName(os.Geteuid())); err != nil {
			return nil, diskError(err)
		}
		p := &postmaster{layout: l, log: s.log, endpoint: endpoint}
		if failure = p.start(ctx); failure == nil {
			return p, nil
		}
		if filepath.IsAbs(endpoint.Host) || ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

// watch waits for the end of the server, and is the cause of it when the process is
// told to end or nobody has a lease for long enough.
func (s *supervisor) watch(ctx context.Context, server *postmaster) error {
	tick := time.NewTicker(min(max(s.config.IdleAfter/10, 20*time.Millisecond), 5*time.Second))
	defer tick.Stop()
	idleSince := time.Now()
	for {
		select {
		case err := <-server.ended:
			s.say("the server ended: %v", err)
			return nil
		case <-ctx.Done():
			s.say("told to stop")
			return server.stop()
		case <-tick.C:
		}
		used, err := held(s.config.clientsLock(), shared)
		if used || err != nil {
			idleSince = time.Now()
		} else if time.Since(idleSince) >= s.config.IdleAfter {
			if server.hasSessions(ctx) { // of somebody who was told its address
				idleSince = time.Now()
				continue
			}
			if stopped, err := s.stopIdle(server); stopped {
				return err
			}
		}
	}
}

// stopIdle stops the server unless somebody is about to use it.
func (s *supervisor) stopIdle(server *postmaster) (bool, error) {
	lock, err := tryLock(s.config.startLock(), exclusive)
	if err != nil {
		return false, nil
	}
	defer lock.Close()
	if used, err := held(s.config.clientsLock(), shared); used || err != nil {
		return false, nil
	}
	s.say("idle for %s: stopping", s.config.IdleAfter)
	err = server.stop()
	s.clean() // before the lock is free: who comes next makes these files again
	return true, err
}

// diskError marks an error of the file system that a full disk is the cause of.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}
