package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Config says where a private server is and how it runs. Dir and Programs are
// required. Processes that share a Dir should agree on the rest: what counts is
// what the process gave that started the server.
type Config struct {
	// Dir is the server's folder, made when needed. One Dir has one server.
	Dir string `json:"dir"`
	// Programs is the folder with bin, lib and share of a Postgres with pgvector.
	Programs string `json:"programs"`
	// Tree is a folder that holds Programs and all that its programs load by
	// relative paths; empty is Programs itself. It is copied when the account that
	// runs the server cannot reach Programs.
	Tree string `json:"tree,omitempty"`
	// IdleAfter is how long a server without leases goes on; 0 is 10 minutes.
	IdleAfter time.Duration `json:"idle_after"`
	// StartTimeout bounds a start, recovery after a crash included; 0 is 5 minutes.
	StartTimeout time.Duration `json:"start_timeout"`
	// Account runs the server when raglab is run by root; empty is postgres, or
	// nobody where there is no such account. Ignored for other users.
	Account string `json:"account,omitempty"`
	// AccountDir holds data folders of that account that cannot be in Dir; empty
	// is /var/lib/raglab.
	AccountDir string `json:"account_dir,omitempty"`
	// NoSocket makes the server listen on 127.0.0.1 instead of a Unix socket.
	NoSocket bool `json:"no_socket,omitempty"`
	// Temporary removes the server's folders when it stops.
	Temporary bool `json:"temporary,omitempty"`
	// Supervisor is the program that calls [Supervise] when its first argument is
	// [SupervisorFlag]; empty is the running program.
	Supervisor string `json:"-"`
}

// withDefaults returns the configuration with nothing left out, and paths absolute.
func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" || c.Programs == "" {
		return c, errors.New("private Postgres: a folder and the folder of its programs must be given")
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = 10 * time.Minute
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 5 * time.Minute
	}
	if c.AccountDir == "" {
		c.AccountDir = "/var/lib/raglab"
	}
	if c.Tree == "" {
		c.Tree = c.Programs
	}
	var err error
	if c.Supervisor == "" {
		if c.Supervisor, err = os.Executable(); err != nil {
			return c, fmt.Errorf("find the running program: %w", err)
		}
	}
	for _, path := range []*string{&c.Dir, &c.Programs, &c.Tree, &c.AccountDir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return c, err
		}
	}
	if rel, err := filepath.Rel(c.Tree, c.Programs); err != nil || !filepath.IsLocal(rel) {
		return c, fmt.Errorf("private Postgres: the programs' folder %s is not in %s", c.Programs, c.Tree)
	}
	if rel, err := filepath.Rel(c.Tree, c.Dir); err == nil && filepath.IsLocal(rel) {
		return c, fmt.Errorf("private Postgres: the folder %s lies in that of the programs, %s", c.Dir, c.Tree)
	}
	return c, nil
}

// The files of a Dir.
func (c Config) startLock() string      { return filepath.Join(c.Dir, "lock") }
func (c Config) clientsLock() string    { return filepath.Join(c.Dir, "clients") }
func (c Config) supervisorLock() string { return filepath.Join(c.Dir, "supervisor") }
func (c Config) stateFile() string      { return filepath.Join(c.Dir, "server.json") }
func (c Config) passwordFile() string   { return filepath.Join(c.Dir, "password") }
func (c Config) logFile() string        { return filepath.Join(c.Dir, "server.log") }

// home is the folder, or the link to the folder, that belongs to the account
// which runs the server.
func (c Config) home() string { return filepath.Join(c.Dir, "server") }
