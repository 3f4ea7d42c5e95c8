package workspace

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// provenance says who makes results. Nothing of it enters a key.
func provenance(o Options) map[string]string {
	return map[string]string{
		"host": hostName(), "machine": machine(), "version": o.Version, "command": o.Command,
		"os": runtime.GOOS + "/" + runtime.GOARCH, "threads": fmt.Sprint(o.Threads),
	}
}

// hostName is this machine's for people.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// machine tells machines apart whose times cannot be compared: the processor's
// model and how many of it there are.
func machine() string {
	model := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), model)
}

// memory is what stages may take together: four fifths of the machine's, or
// everything they ask for where the machine does not tell.
func memory() int64 {
	const unknown = 1 << 62
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return unknown
	}
	var kb int64
	if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err != nil {
		return unknown
	}
	return kb * 1024 / 5 * 4
}
