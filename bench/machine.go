package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and when a run was made.
type machine struct {
	CPU     string    `json:"cpu"`
	Cores   int       `json:"cores"` // that the run is kept to
	Load    string    `json:"load"`  // averages over 1, 5 and 15 minutes at the start
	OS      string    `json:"os"`
	Go      string    `json:"go"`
	Started time.Time `json:"started"`
}

func readMachine(cores int) machine {
	m := machine{CPU: runtime.GOARCH, Cores: cores, Load: "unknown", OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Started: time.Now().UTC().Truncate(time.Second)}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = cpuModel(string(b), m.CPU)
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(b)); len(fields) >= 3 {
			m.Load = strings.Join(fields[:3], " ")
		}
	}
	return m
}

// cpuModel finds the processor's name in Linux's description of processors.
func cpuModel(cpuinfo, otherwise string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}

// String is the machine in one line.
func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, load average %s, %s", m.CPU, m.Cores, m.OS, m.Go, m.Load, m.Started.Format(time.RFC3339))
}
