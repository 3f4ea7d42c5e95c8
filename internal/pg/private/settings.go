//go:build unix

package private

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// machine is what the settings depend on.
type machine struct {
	memory int64 // bytes
	cores  int
	// shm is the free space of /dev/shm, where parallel index builds share memory;
	// negative where there is no such place.
	shm int64
}

// thisMachine looks the running machine up.
func thisMachine() machine {
	m := machine{memory: totalMemory(), cores: runtime.NumCPU(), shm: -1}
	var fs unix.Statfs_t
	if runtime.GOOS == "linux" && unix.Statfs("/dev/shm", &fs) == nil {
		m.shm = int64(fs.Bavail) * int64(fs.Bsize)
	}
	return m
}

// Memory returns the bytes of memory that the server's machine has, which is this
// one, or 4 GiB where it does not tell.
func (*Lease) Memory() int64 { return totalMemory() }

// totalMemory returns the machine's memory, or less where a control group allows
// less, or 4 GiB where neither is known.
func totalMemory() int64 {
	total := int64(4096 * mib)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var kib int64
			if _, err := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); err == nil {
				total = kib << 10
				break
			}
		}
	}
	if data, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			total = min(total, limit)
		}
	}
	return total
}

// settings returns the server's settings on a machine. What is not here has
// Postgres's default. They fit measuring on one machine: enough memory that an
// index build and the tables it reads stay out of the disk's way, no work at odd
// times beside what Postgres needs, and every promise about durability kept.
func (m machine) settings() map[string]string {
	buffers := between(m.memory/8, 128*mib, 1024*mib)
	maintenance := between(m.memory/16, 64*mib, 1024*mib)
	s := map[string]string{
		// A result that was written stays written: results name these tables.
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",
		// No standby reads this server. So a table that is made and filled in one
		// transaction is not written twice, but synced at commit.
		"wal_level":       "minimal",
		"max_wal_senders": "0",
		"max_wal_size":    "2GB",
		// Checkpoints seldom fall into a measurement.
		"checkpoint_timeout": "15min",

		"shared_buffers":       megabytes(buffers),
		"effective_cache_size": megabytes(m.memory / 2),
		// An HNSW graph that does not fit is built many times slower.
		"maintenance_work_mem": megabytes(maintenance),
		"work_mem":             "32MB",

		"max_connections":                  "200",
		"max_worker_processes":             strconv.Itoa(m.cores + 4),
		"max_parallel_workers":             strconv.Itoa(m.cores),
		"max_parallel_maintenance_workers": strconv.Itoa(max(1, m.cores-1)),

		// A client that was killed must not keep a build running.
		"client_connection_check_interval": "5s",
		"jit":                              "off",
		"timezone":                         "'UTC'",
		"log_timezone":                     "'UTC'",
		"datestyle":                        "'iso, ymd'",
		"lc_messages":                      "'C'",
		"default_text_search_config":       "'pg_catalog.simple'",
		"cluster_name":                     "'raglab'",
		"log_destination":                  "'stderr'",
		"logging_collector":                "off",
		"log_line_prefix":                  "'%m [%p] %a '",
		"log_checkpoints":                  "off",
		// Texts of documents and questions do not belong in a log.
		"log_min_error_statement": "panic",
	}
	// Containers often have 64 MB there, and a parallel build needs what it was
	// given as maintenance memory.
	if m.shm >= 0 && m.shm < maintenance+64*mib {
		s["dynamic_shared_memory_type"] = "mmap"
	}
	return s
}

func between(n, low, high int64) int64 { return max(low, min(n, high)) }

func megabytes(n int64) string { return strconv.FormatInt(n/mib, 10) + "MB" }

// writeSettings makes the configuration files for a server at an endpoint. User is
// the system's name for who may connect through the socket.
func (l layout) writeSettings(s map[string]string, e Endpoint, user string) error {
	s = maps.Clone(s)
	s["port"] = strconv.Itoa(int(e.Port))
	s["hba_file"] = quote(l.conf("hba.conf"))
	s["ident_file"] = quote(l.conf("ident.conf"))
	hba, ident := "", ""
	if filepath.IsAbs(e.Host) {
		s["listen_addresses"] = "''"
		s["unix_socket_directories"] = quote(e.Host)
		s["unix_socket_permissions"] = "0777" // the folder is closed, and peers are asked for
		hba = "local all " + Role + " peer map=raglab\n"
		ident = fmt.Sprintf("raglab %q %s\n", user, Role)
	} else {
		s["listen_addresses"] = quote(e.Host)
		s["unix_socket_directories"] = "''"
		hba = fmt.Sprintf("host all %s %s/32 scram-sha-256\n", Role, e.Host)
	}
	var conf strings.Builder
	conf.WriteString("# Written by raglab at every start. What a file local.conf beside it says comes after.\n")
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&conf, "%s = %s\n", name, s[name])
	}
	if _, err := os.Stat(l.conf("local.conf")); err == nil {
		conf.WriteString("include = 'local.conf'\n")
	}
	return l.writeConf(map[string]string{"postgresql.conf": conf.String(), "hba.conf": hba, "ident.conf": ident})
}

// writeConf writes files that the account reads.
func (l layout) writeConf(files map[string]string) error {
	err := l.account.passable(filepath.Dir(l.conf("any")))
	for name, text := range files {
		if err == nil {
			err = replaceFile(l.conf(name), []byte(text), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("write the settings of the private Postgres: %w", err)
	}
	return nil
}

// quote writes a string as a configuration file wants it.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
