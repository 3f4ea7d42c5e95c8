package main

import (
	"errors"
	"strings"

	"raglab/engine/workspace"
)

// pins warns once of each thing that is not pinned, or refuses it.
type pins struct {
	terminal
	refuse bool
	told   map[string]bool
}

func newPins(t terminal, refuse bool) *pins { return &pins{t, refuse, map[string]bool{}} }

// check looks at what the pipeline reads now.
func (p *pins) check(s *workspace.Session) error {
	unpinned := s.Unpinned()
	if p.refuse && len(unpinned) > 0 {
		return errors.New("-locked asks for everything to be pinned, and this is not:\n  " + strings.Join(unpinned, "\n  "))
	}
	for _, text := range unpinned {
		if !p.told[text] {
			p.told[text] = true
			p.warn(text)
		}
	}
	return nil
}
