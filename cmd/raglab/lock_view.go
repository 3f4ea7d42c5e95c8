package main

import (
	"fmt"
	"strings"

	"raglab/axes/source"
	"raglab/engine/workspace"
)

// lockView tells what became of lock files.
type lockView interface {
	file(f workspace.LockFile)
	end(unlocked, warnings []string)
}

func newLockView(t terminal, check bool) lockView {
	if t.events != nil {
		return lockJSON{t}
	}
	return lockHuman{t, check}
}

// lockHuman shows locks to a person.
type lockHuman struct {
	terminal
	check bool
}

func (v lockHuman) file(f workspace.LockFile) {
	fmt.Fprintf(v.out, "%s (%s)\n", f.Path, v.state(f))
	c := f.Changes
	if c.Name == "" {
		return
	}
	for _, list := range []struct {
		sign  string
		items []string
	}{{"+", c.Added}, {"-", c.Removed}, {"~", c.Changed}} {
		for i, item := range list.items {
			if i == maxLockItems {
				fmt.Fprintf(v.out, "  %s and %d more\n", list.sign, len(list.items)-i)
				break
			}
			fmt.Fprintf(v.out, "  %s %s\n", list.sign, item)
		}
	}
	fmt.Fprintf(v.out, "  %s\n", countsLine(c))
	if c.Fingerprint != "" {
		fmt.Fprintf(v.out, "  fingerprint %s\n", c.Fingerprint)
	}
}

// maxLockItems is how many items of one sort are listed.
const maxLockItems = 20

func (v lockHuman) state(f workspace.LockFile) string {
	switch {
	case !f.Changed():
		return "unchanged"
	case v.check:
		return "would change"
	}
	return "written"
}

// countsLine sums up the changes.
func countsLine(c source.LockChanges) string {
	parts := []string{
		fmt.Sprintf("%d added", len(c.Added)), fmt.Sprintf("%d removed", len(c.Removed)),
		fmt.Sprintf("%d changed", len(c.Changed)), fmt.Sprintf("%d as before", c.Same),
	}
	line := c.Name + ": " + strings.Join(parts, ", ")
	if c.Renewed > 0 {
		line += fmt.Sprintf(", %d of them under a new revision", c.Renewed)
	}
	return line
}

func (v lockHuman) end(unlocked, warnings []string) {
	for _, text := range append(warnings, unlocked...) {
		v.warn(text)
	}
}

// lockJSON shows locks to a program.
type lockJSON struct{ terminal }

// lockFileJSON is one lock file in JSON.
type lockFileJSON struct {
	Of          string   `json:"of"`
	Path        string   `json:"path"`
	Changed     bool     `json:"changed"`
	Added       []string `json:"added,omitempty"`
	Removed     []string `json:"removed,omitempty"`
	Differ      []string `json:"differ,omitempty"`
	Same        int      `json:"same"`
	Fingerprint string   `json:"fingerprint,omitempty"`
}

func (v lockJSON) file(f workspace.LockFile) {
	c := f.Changes
	v.events.emit("lock", f.Path, "lock", raw(lockFileJSON{
		f.Of, f.Path, f.Changed(), c.Added, c.Removed, c.Changed, c.Same, c.Fingerprint,
	}))
}

func (v lockJSON) end(unlocked, warnings []string) {
	for _, text := range append(warnings, unlocked...) {
		v.warn(text)
	}
}
