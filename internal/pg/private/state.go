package private

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Role and Database are the names of the server's only role, a superuser, and of
// the database for raglab's tables.
const (
	Role     = "raglab"
	Database = "raglab"
)

// A port is part of a socket's file name only; every server has its own folder.
// At the hidden port a server is alone with its supervisor.
const (
	socketPort = 5432
	hiddenPort = 5433
)

// Endpoint is where a server is reached.
type Endpoint struct {
	// Host is the folder of the Unix socket, or 127.0.0.1.
	Host string `json:"host"`
	Port uint16 `json:"port"`
	// Password is empty when the server knows its user by the socket.
	Password string `json:"-"`
}

// network returns what net.Dial takes.
func (e Endpoint) network() (network, address string) {
	if filepath.IsAbs(e.Host) {
		return "unix", socketPath(e.Host, e.Port)
	}
	return "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// accepts tells whether a server accepts connections there.
func (e Endpoint) accepts() bool {
	network, address := e.network()
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func socketPath(dir string, port uint16) string {
	return filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(int(port)))
}

// state is the content of server.json.
type state struct {
	Endpoint
	Ready      bool          `json:"ready"`
	Supervisor int           `json:"supervisor_pid"`
	Server     int           `json:"server_pid"`
	Version    string        `json:"version"`
	Data       string        `json:"data"`
	Programs   string        `json:"programs"`
	Account    string        `json:"account"`
	Started    time.Time     `json:"started"`
	IdleAfter  time.Duration `json:"idle_after"`
}

// readState reads the state that a supervisor left; it says nothing about whether
// the supervisor lives.
func (c Config) readState() (state, error) {
	var s state
	data, err := os.ReadFile(c.stateFile())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", c.stateFile(), err)
	}
	if !filepath.IsAbs(s.Host) {
		s.Password, err = c.readPassword()
	}
	return s, err
}

// write replaces the state file.
func (s state) write(c Config) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(c.stateFile(), append(data, '\n'), 0o600)
}

// replaceFile makes the file at path with the content: readers see the old or the
// new one. It is not synced: what is written so is worth nothing after a reboot,
// or can be made again.
func replaceFile(path string, content []byte, mode os.FileMode) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(temp, content, mode); err != nil {
		return err
	}
	if err := os.Chmod(temp, mode); err != nil { // whatever the umask took away
		return err
	}
	return os.Rename(temp, path)
}

func (c Config) readPassword() (string, error) {
	data, err := os.ReadFile(c.passwordFile())
	return strings.TrimSpace(string(data)), err
}
