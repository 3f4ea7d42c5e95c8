package private

import (
	"errors"
	"fmt"
	"strings"
)

// ErrDiskFull says that the disk with the server's folder is full.
var ErrDiskFull = errors.New("the disk is full")

// ErrNotRunning says that a server was not started, and may not be now.
var ErrNotRunning = errors.New("raglab's private Postgres is not running")

// ErrInUse says that other processes have leases.
var ErrInUse = errors.New("the private Postgres is in use by another process")

// errBusy says that another supervisor is at work.
var errBusy = errors.New("another supervisor is at work")

// VersionError says that a data folder was made by another major version of
// Postgres.
type VersionError struct {
	Data        string
	Found, Want string
}

// Error names both versions and what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the private Postgres's data folder %s was made by Postgres %s, and the programs here are Postgres %s, "+
		"which cannot read it: raglab db drop removes it, and its index tables are then built again",
		e.Data, e.Found, e.Want)
}

// outcome is what a supervisor tells the process that started it, in one line of
// JSON.
type outcome struct {
	Ready    bool          `json:"ready,omitempty"`
	Busy     bool          `json:"busy,omitempty"`
	Text     string        `json:"text,omitempty"`
	DiskFull bool          `json:"disk_full,omitempty"`
	Version  *VersionError `json:"version,omitempty"`
}

// newOutcome describes how a start ended.
func newOutcome(err error) outcome {
	if err == nil {
		return outcome{Ready: true}
	}
	o := outcome{Text: err.Error(), Busy: errors.Is(err, errBusy), DiskFull: errors.Is(err, ErrDiskFull)}
	errors.As(err, &o.Version)
	return o
}

// err returns the error that the outcome was made from, as far as callers look
// into it.
func (o outcome) err() error {
	switch {
	case o.Ready:
		return nil
	case o.Busy:
		return errBusy
	case o.Version != nil:
		return o.Version
	case o.DiskFull:
		return &toldError{o.Text, ErrDiskFull}
	}
	return errors.New(o.Text)
}

// toldError is an error whose text came from another process.
type toldError struct {
	text string
	kind error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// programError says that a Postgres program failed, with the end of what it said.
func programError(name string, err error, output string) error {
	output = strings.TrimSpace(output)
	if strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded") {
		return fmt.Errorf("run %s: %w: %s", name, ErrDiskFull, lastLines(output, 3))
	}
	if output == "" {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return fmt.Errorf("run %s: %w: %s", name, err, lastLines(output, 5))
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
