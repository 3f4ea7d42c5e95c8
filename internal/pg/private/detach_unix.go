//go:build unix

package private

import (
	"os/exec"
	"syscall"
)

// detach gives a child a session of its own: no terminal's signals reach it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
