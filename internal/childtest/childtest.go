// Package childtest runs a test binary again as another process, for tests of what
// processes do to each other and of what one leaves behind that is killed.
package childtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// env holds the arguments of a child, one a line.
const env = "RAGLAB_TEST_CHILD"

// Main is the whole of a TestMain: it runs the tests, or child in a process that
// [Command] started.
func Main(m *testing.M, child func(args []string) error) {
	args := os.Getenv(env)
	if args == "" {
		os.Exit(m.Run())
	}
	if err := child(strings.Split(args, "\n")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command is this test binary as a child with arguments, which hold no newline. It is not
// started, and is killed when ctx ends.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+strings.Join(args, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// Child is a process that was started, with its input and output.
type Child struct {
	*exec.Cmd
	In  io.WriteCloser
	Out *bufio.Reader
}

// Start starts this test binary as a child. It is killed when the test's context ends,
// and is to be waited for.
func Start(t *testing.T, args ...string) *Child {
	t.Helper()
	cmd := Command(t.Context(), args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Child{cmd, in, bufio.NewReader(out)}
}
