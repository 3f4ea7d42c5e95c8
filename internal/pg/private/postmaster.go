//go:build unix

package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postmaster is a server process and what it needs. One goroutine uses it, the one
// that is locked to the thread the process follows.
type postmaster struct {
	layout
	log      *os.File
	endpoint Endpoint
	cmd      *exec.Cmd
	ended    chan error // gets the process's end
}

// command prepares a Postgres program to run as the account, with nothing of our
// environment and its messages in English.
func (l layout) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.program(name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.account.credential()}
	return cmd
}

// version returns the version of the programs, as 18.4, and its major part.
func (l layout) version(ctx context.Context) (full, major string, err error) {
	out, err := l.command(ctx, "postgres", "--version").CombinedOutput()
	if err != nil {
		return "", "", programError("postgres --version", err, string(out))
	}
	fields := strings.Fields(string(out)) // postgres (PostgreSQL) 18.4
	if len(fields) < 3 {
		return "", "", fmt.Errorf("postgres --version said %q", out)
	}
	full = fields[2]
	major, _, _ = strings.Cut(full, ".")
	return full, major, nil
}

// checkVersion refuses a data folder of another major version; no data folder is
// fine.
func (l layout) checkVersion(major string) error {
	data, err := os.ReadFile(filepath.Join(l.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if found := strings.TrimSpace(string(data)); found != major {
		return &VersionError{Data: l.data(), Found: found, Want: major}
	}
	return nil
}

// initialise makes the data folder if there is none. It is made under another name
// and renamed, so that a start that dies leaves none that is half made.
func (l layout) initialise(ctx context.Context, major, password string) error {
	if _, err := os.Stat(l.data()); err == nil {
		return nil
	}
	temp := l.data() + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := l.account.folder(temp); err != nil {
		return err
	}
	secret, err := os.CreateTemp(l.home, ".password-*")
	if err != nil {
		return err
	}
	defer os.Remove(secret.Name())
	_, err = secret.WriteString(password + "\n")
	if err = errors.Join(err, secret.Close(), l.account.own(secret.Name())); err != nil {
		return err
	}
	args := append([]string{
		"--pgdata", temp, "--username", Role, "--pwfile", secret.Name(),
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-instructions",
	}, locale(major)...)
	cmd := l.command(ctx, "initdb", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(temp)
		return programError("initdb", err, string(out))
	}
	return os.Rename(temp, l.data())
}

// locale are initdb's arguments for a locale that orders and folds case alike on
// every system. Versions before 17 have only C, which folds no letters but Latin
// ones; raglab's text kinds fold case before Postgres sees a word.
func locale(major string) []string {
	args := []string{"--locale", "C"}
	if n, err := strconv.Atoi(major); err == nil && n < 17 {
		return args
	}
	return append(args, "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8")
}

// start starts the server and waits until it answers.
func (p *postmaster) start(ctx context.Context) error {
	from, err := p.log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := p.command(context.WithoutCancel(ctx), "postgres", "-D", p.data(), "-c", "config_file="+p.conf("postgresql.conf"))
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr.Setpgid = true
	followParent(cmd.SysProcAttr, syscall.SIGINT)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s as %s: %w", cmd.Path, p.account.name, err)
	}
	p.cmd, p.ended = cmd, make(chan error, 1)
	go func() { p.ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-p.ended:
			p.cmd = nil
			return programError("postgres", err, p.logSince(from))
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the private Postgres: %w", context.Cause(ctx)), p.stop())
		case <-tick.C:
		}
		if !p.endpoint.accepts() {
			continue
		}
		err := p.ensureDatabase(ctx)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == codeStarting {
			continue
		}
		if err != nil {
			return errors.Join(err, p.stop())
		}
		return nil
	}
}

// codeStarting is what a server answers while it recovers from a crash.
const codeStarting = "57P03"

// ensureDatabase makes the database for raglab's tables if it is not there.
func (p *postmaster) ensureDatabase(ctx context.Context) error {
	config, err := p.endpoint.Config("postgres")
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to the private Postgres: %w", err)
	}
	defer conn.Close(ctx)
	var there bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", Database).Scan(&there)
	if err == nil && !there {
		_, err = conn.Exec(ctx, "create database "+Database)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "53100" {
		err = fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// hasSessions tells whether somebody is connected. A server that does not answer has
// nobody.
func (p *postmaster) hasSessions(ctx context.Context) (any bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("the private Postgres does not answer"))
	defer cancel()
	config, err := p.endpoint.Config("postgres")
	if err != nil {
		return false
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `
		select exists (select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid())`).Scan(&any)
	return err == nil && any
}

// logSince returns what the log got after an offset.
func (p *postmaster) logSince(from int64) string {
	var text bytes.Buffer
	io.Copy(&text, io.NewSectionReader(p.log, from, 1<<20))
	return text.String()
}

// stop stops the server: at first so that it ends what it is doing, then so that it
// has to recover at the next start, at last by force.
func (p *postmaster) stop() error {
	if p.cmd == nil {
		return nil
	}
	for _, s := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, 60 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		p.cmd.Process.Signal(s.signal)
		select {
		case err := <-p.ended:
			p.cmd = nil
			return err
		case <-time.After(s.patience):
		}
	}
	return fmt.Errorf("the server, process %d, does not end", p.cmd.Process.Pid)
}
