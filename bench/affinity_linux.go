package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// keepTo starts this program anew on so many processors, if it may use more.
// What it starts inherits that, so that every tool has the same.
func keepTo(cores int) error {
	if runtime.NumCPU() <= cores {
		return nil
	}
	runtime.LockOSThread()
	var may, some unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("keep to %d processors: %w", cores, err)
	}
	for cpu := 0; some.Count() < cores && cpu < len(may)*64; cpu++ {
		if may.IsSet(cpu) {
			some.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return fmt.Errorf("keep to %d processors: %w", cores, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("start on %d processors: %w", cores, unix.Exec(self, os.Args, os.Environ()))
}
