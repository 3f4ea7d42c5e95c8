package private

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serves tells whether the process is a live one of the account's that works on a
// data folder: every process of a Postgres server has it as its working folder. A
// process id alone proves nothing, for ids are used again.
func (a account) serves(pid int, data string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(proc)
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != a.uid {
		return false
	}
	cwd, err := os.Readlink(proc + "/cwd") // which a zombie does not have
	if err != nil {
		return false
	}
	want, err := filepath.EvalSymlinks(data)
	return err == nil && cwd == want
}

// serving returns the processes that work on a data folder.
func (a account) serving(data string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && a.serves(pid, data) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// arguments returns the command line of a process, its parts between spaces.
func arguments(pid int) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(line), "\x00", " ")
}

// followParent makes a child get the signal when the thread that starts it ends.
func followParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
