//go:build unix

package private_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// childConfig holds the configuration of a process that takes a lease, says so, and
// keeps it until its standard input ends.
const childConfig = "RAGLAB_TEST_LEASE"

func TestMain(m *testing.M) {
	if text := os.Getenv(childConfig); text != "" {
		os.Exit(leaseInChild(text))
	}
	os.Exit(pgtest.Main(m))
}

func leaseInChild(text string) int {
	var c private.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println(err)
		return 1
	}
	// The children of this process are supervisors, not holders of leases.
	os.Unsetenv(childConfig)
	l, err := private.Acquire(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer l.Release()
	status, err := private.Look(c)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("leased", status.Server)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// child is a process with a lease.
type child struct {
	cmd    *exec.Cmd
	in     io.Closer
	server int
}

// startChild runs a process that takes a lease.
func startChild(t *testing.T, c private.Config) *child {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childConfig+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ch := &child{cmd: cmd, in: in}
	t.Cleanup(ch.end)
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "leased %d", &ch.server); err != nil {
		t.Errorf("the child says %q", line)
	}
	return ch
}

// end lets the process give its lease back and waits for its end.
func (c *child) end() {
	c.in.Close()
	c.cmd.Wait()
}

// kill ends the process as kill -9 does.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// acquire takes a lease for the length of the test.
func acquire(t *testing.T, c private.Config) *private.Lease {
	t.Helper()
	l, err := private.Acquire(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

// look returns the status of a server that must run.
func look(t *testing.T, c private.Config) private.Status {
	t.Helper()
	s, err := private.Look(c)
	if err != nil || !s.Running {
		t.Fatalf("the server does not run: %+v, %v", s, err)
	}
	return s
}

// query returns the first column of the first row as text.
func query(t *testing.T, l *private.Lease, sql string) string {
	t.Helper()
	conn := connect(t, l)
	defer conn.Close(context.Background())
	var s string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// connect connects to the server, again while one that was killed is not quite gone,
// as package pg does.
func connect(t *testing.T, l *private.Lease) *pgx.Conn {
	t.Helper()
	var conn *pgx.Conn
	eventually(t, "a connection", func() bool {
		e, err := l.Endpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		config, err := e.Config(private.Database)
		if err != nil {
			t.Fatal(err)
		}
		conn, err = pgx.ConnectConfig(t.Context(), config)
		return err == nil
	})
	return conn
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !true() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

// gone waits for the end of processes.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("end of process %d", pid), func() bool { return !pgtest.Alive(pid) })
	}
}

// owner returns the user that a process runs as.
func owner(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Skipf("SKIP: no process file system: %v", err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := strings.CutPrefix(string(line), "Uid:"); ok {
			uid, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return uid
		}
	}
	t.Fatal("the process file system does not tell the user")
	return 0
}

// sigkill is kill -9.
func sigkill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
