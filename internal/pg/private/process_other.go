//go:build unix && !linux

package private

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// serves tells whether the process is a live server on a data folder. A process id
// alone proves nothing, for ids are used again.
func (a account) serves(pid int, data string) bool {
	return isPostmaster(pid, data)
}

// serving returns nothing: without a process file system the processes that a
// killed server left cannot be told from those of others.
func (a account) serving(string) []int { return nil }

// arguments returns the command line of a process, its parts between spaces.
func arguments(pid int) string {
	line, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(line)) + " "
}

// followParent does nothing: the system has no such signal.
func followParent(*syscall.SysProcAttr, syscall.Signal) {}
