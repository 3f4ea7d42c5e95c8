//go:build unix

package private_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// refused returns the error of a connection that must not come about.
func refused(t *testing.T, config *pgx.ConnConfig) error {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		conn.Close(context.Background())
		t.Error("connected")
		return errors.New("connected")
	}
	return err
}

func TestCrash_killedServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	conn := connect(t, l)
	if _, err := conn.Exec(t.Context(), "create table kept as select 42 as n"); err != nil {
		t.Fatal(err)
	}
	first := look(t, c)
	sigkill(t, first.Server)
	// The process behind the connection notices a moment after the server itself is
	// gone, and may answer until then.
	gone(t, first.Server, int(conn.PgConn().PID()))
	if _, err := conn.Exec(t.Context(), "select 1"); err == nil {
		t.Error("the connection outlived the server")
	}
	if got := query(t, l, "select n::text from kept"); got != "42" {
		t.Errorf("got %s", got)
	}
	if second := look(t, c); second.Server == first.Server {
		t.Error("the killed server is said to run")
	}
}

func TestCrash_killedClientLetsTheServerStop(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.IdleAfter = 200 * time.Millisecond
	ch := startChild(t, c)
	status := look(t, c)
	ch.kill()
	gone(t, status.Server, status.Supervisor)
}

// A session without a lease, of a program that was told the address, keeps the server.
func TestIdle_sessionKeepsTheServer(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.IdleAfter = 200 * time.Millisecond
	l := acquire(t, c)
	conn := connect(t, l)
	first := look(t, c)
	l.Release()
	// It is looked at several times within a second.
	if _, err := conn.Exec(t.Context(), "select pg_sleep(2)"); err != nil {
		t.Fatalf("the server stopped under a session: %v", err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, first.Server, first.Supervisor)
}

func TestCrash_killedSupervisorTakesTheServerAlong(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP-LINUX: elsewhere the next start ends a server that lost its supervisor")
	}
	c := pgtest.Private(t)
	l := acquire(t, c)
	first := look(t, c)
	sigkill(t, first.Supervisor)
	gone(t, first.Supervisor, first.Server)
	query(t, l, "select 'again'")
	second := look(t, c)
	if second.Server == first.Server || second.Supervisor == first.Supervisor {
		t.Errorf("after the supervisor was killed: %+v", second)
	}
}

func TestCrash_allKilledAtOnce(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	ch := startChild(t, c)
	first := look(t, c)
	sigkill(t, first.Supervisor)
	sigkill(t, first.Server)
	ch.kill()
	gone(t, first.Supervisor, first.Server)
	l := acquire(t, c)
	query(t, l, "select 'again'")
}

func TestCrash_busyBackendOfKilledServerIsEnded(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	conn := connect(t, l)
	backend := int(conn.PgConn().PID())
	ended := make(chan error, 1)
	go func() {
		// Such a loop never looks whether its server is alive.
		_, err := conn.Exec(context.Background(), "do $$ begin loop end loop; end $$")
		ended <- err
	}()
	eventually(t, "a busy backend", func() bool {
		return query(t, l, fmt.Sprintf("select count(*)::text from pg_stat_activity where pid = %d and state = 'active'", backend)) == "1"
	})
	server := look(t, c).Server
	sigkill(t, server)
	gone(t, server)
	query(t, l, "select 'again'")
	gone(t, backend)
	if err := <-ended; err == nil {
		t.Error("the loop ended by itself")
	}
}

func TestCrash_filesOfUnfinishedTablesAreRemoved(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	conn := connect(t, l)
	if _, err := conn.Exec(t.Context(), "create table kept as select g as n from generate_series(1, 1000) g"); err != nil {
		t.Fatal(err)
	}
	// A connection that nothing refers to any more may be closed at any time.
	defer conn.Close(context.Background())
	var file string
	if _, err := conn.Exec(t.Context(), "begin; create table lost as select repeat('x', 100) from generate_series(1, 50000)"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "select pg_relation_filepath('lost')").Scan(&file); err != nil {
		t.Fatal(err)
	}
	status := look(t, c)
	path := filepath.Join(status.Data, file)
	if info, err := os.Stat(path); err != nil || info.Size() < 1<<20 {
		t.Fatalf("the file of the table: %v, %v", info, err)
	}
	sigkill(t, status.Server)
	gone(t, status.Server)
	if got := query(t, l, "select sum(n)::text from kept"); got != "500500" {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of a table that never was: %v", err)
	}
}

func TestCrash_stalePidFileNamesAnotherProcess(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	first := look(t, c)
	// A process of the server's account that has nothing to do with it.
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if uid := owner(t, first.Server); uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	files := map[string]string{
		filepath.Join(first.Data, "postmaster.pid"):              "",
		filepath.Join(first.Endpoint.Host, ".s.PGSQL.5432.lock"): "",
	}
	for path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(content), "\n")
		files[path] = fmt.Sprintf("%d\n%s", cmd.Process.Pid, rest)
	}
	l.Release()
	if _, err := private.Stop(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if uid := owner(t, cmd.Process.Pid); uid != os.Geteuid() {
			if err := os.Chown(path, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	query(t, acquire(t, c), "select 'again'")
	if !pgtest.Alive(cmd.Process.Pid) {
		t.Error("the other process was ended")
	}
}

func TestCrash_initialisationThatDiedIsBegunAgain(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	half := filepath.Join(c.Dir, "server", "data.new", "base")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	query(t, acquire(t, c), "select 'there'")
}

func TestAcquire_otherMajorVersionIsRefused(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	l := acquire(t, c)
	data := look(t, c).Data
	l.Release()
	if _, err := private.Stop(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := private.Acquire(t.Context(), c)
	version, ok := errors.AsType[*private.VersionError](err)
	if !ok || version.Found != "16" || version.Want != "18" || !strings.Contains(err.Error(), "raglab db drop") {
		t.Fatalf("%v", err)
	}
	if s, err := private.Look(c); err != nil || s.Running {
		t.Errorf("%+v, %v", s, err)
	}
	if err := private.Drop(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	query(t, acquire(t, c), "select 'again'")
}

func TestAcquire_supervisorThatIsNone(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.Supervisor = "/bin/false"
	_, err := private.Acquire(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "/bin/false") || !strings.Contains(err.Error(), "ended without a word") {
		t.Errorf("%v", err)
	}
}

func TestAcquire_programsThatAreNone(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	c.Programs, c.Tree = t.TempDir(), ""
	_, err := private.Acquire(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "bin/postgres") {
		t.Errorf("no programs: %v", err)
	}
	c.Programs = filepath.Dir(c.Dir)
	_, err = private.Acquire(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "lies in that of the programs") {
		t.Errorf("the server in its programs: %v", err)
	}
}

func TestAcquire_cancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t)
	cause := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := private.Acquire(ctx, c); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	query(t, acquire(t, c), "select 'there'")
}
