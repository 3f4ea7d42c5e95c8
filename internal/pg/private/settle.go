//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settle makes sure that nothing works on the data folder: no server that lost its
// supervisor, no process that lost its server, and no file that names a process
// which has long been another.
func (l layout) settle(ctx context.Context) error {
	pidFile := filepath.Join(l.data(), "postmaster.pid")
	signals := []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, 30 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 10 * time.Second}}
	for _, s := range signals {
		pids := l.account.serving(l.data())
		if pid, err := readPID(pidFile); err == nil && l.account.serves(pid, l.data()) && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
		if len(pids) == 0 {
			break
		}
		// A server ends its own processes; what has no server does not mind SIGINT.
		first := slices.IndexFunc(pids, func(pid int) bool { return isPostmaster(pid, l.data()) })
		if first >= 0 && s.signal != syscall.SIGKILL {
			pids = pids[first : first+1]
		} else if s.signal == syscall.SIGINT {
			continue
		}
		for _, pid := range pids {
			syscall.Kill(pid, s.signal)
		}
		if err := l.waitGone(ctx, pids, s.patience); err != nil {
			return err
		}
	}
	if left := l.account.serving(l.data()); len(left) > 0 {
		return fmt.Errorf("the processes %v of an earlier server on %s do not end", left, l.data())
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// waitGone waits until none of the processes serves the data folder, or patience
// ends.
func (l layout) waitGone(ctx context.Context, pids []int, patience time.Duration) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		if !slices.ContainsFunc(pids, func(pid int) bool { return l.account.serves(pid, l.data()) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return nil
		case <-tick.C:
		}
	}
}

// readPID returns the process id in the first line of a file.
func readPID(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err == nil && pid <= 1 {
		err = fmt.Errorf("%d is no process id", pid)
	}
	return pid, err
}

// isPostmaster tells whether a process of a server is its first one: only its
// command line names the data folder.
func isPostmaster(pid int, data string) bool {
	return strings.Contains(arguments(pid), " -D "+data+" ")
}
