//go:build unix

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"raglab/internal/childtest"
)

func TestMain(m *testing.M) { childtest.Main(m, child) }

// child is what the other process does: "write DIR N" makes a result and kills itself at the Nth
// step of writing; "hold DIR" takes the lease of heldKey, says so, and keeps it until its input
// ends.
func child(args []string) error {
	ctx := context.Background()
	switch what, dir := args[0], args[1]; what {
	case "write":
		n, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			return err
		}
		l, err := OpenLocal(dir, Options{Failpoint: killAt(n)})
		if err != nil {
			return err
		}
		if err := makeResult(ctx, l); err != nil {
			return err
		}
		return l.Close()
	case "hold":
		l, err := OpenLocal(dir, Options{Command: "raglab apply child.hcl"})
		if err != nil {
			return err
		}
		le, err := l.Acquire(ctx, heldKey, LeaseRequest{})
		if err != nil {
			return err
		}
		fmt.Println("held")
		_, err = io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, le.Release(), l.Close())
	default:
		return fmt.Errorf("no child named %s", what)
	}
}

// killAt kills the process without warning at the nth step.
func killAt(n int64) func(Step, string) error {
	var steps atomic.Int64
	return func(Step, string) error {
		if steps.Add(1) == n {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return err
			}
			select {}
		}
		return nil
	}
}
