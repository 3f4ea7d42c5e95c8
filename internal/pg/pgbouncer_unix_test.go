//go:build unix

package pg_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// The program itself, where it is installed, in both modes.
func TestPooler_pgBouncer(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		pgtest.Skip(t, "SKIP-PGBOUNCER: pgbouncer is not installed; a pooler written for these tests stands for it")
	}
	server := pgtest.Private(t)
	server.NoSocket = true
	db, err := pg.Connect(t.Context(), pg.Config{Getenv: func(string) string { return "" }, Private: &server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	requireTransactionPooler(t, through(db, startPgBouncer(t, program, db, "transaction")), "PgBouncer")
	requireSessionPooler(t, through(db, startPgBouncer(t, program, db, "session")))
}

// startPgBouncer runs it until the test ends and returns its port. It refuses to
// run as root.
func startPgBouncer(t *testing.T, program string, db *pg.DB, mode string) int {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	to := db.Pool().Config().ConnConfig
	cmd := exec.CommandContext(t.Context(), program)
	dir, err := os.MkdirTemp("", "raglab-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n%s = host=%s port=%d user=%s password=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"+
		"listen_port = %d\nauth_type = any\npool_mode = %s\nunix_socket_dir =\n", to.Database, to.Host, to.Port, to.User, to.Password, port, mode)
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			pgtest.Skip(t, "SKIP-PGBOUNCER: there is no account nobody to run it as")
		}
		uid, err := strconv.Atoi(nobody.Uid)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, ini} {
			if err := os.Chown(path, uid, -1); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	cmd.Args = append(cmd.Args, ini)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	eventually(t, func() bool {
		c, err := net.DialTimeout("tcp4", "127.0.0.1:"+strconv.Itoa(port), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return port
}
