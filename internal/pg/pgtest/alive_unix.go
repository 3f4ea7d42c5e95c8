//go:build unix

package pgtest

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Alive tells whether a process runs; one that has ended and that nobody waited
// for does not.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}
