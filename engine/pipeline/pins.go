package pipeline

import (
	"raglab/axes/source"
	"raglab/engine"
)

// Pin is a source whose content a lock file may fix.
type Pin struct {
	// Block is the block of the spec that names the source, such as corpus.
	Block string
	source.Pinner
}

// pins puts a source on the pipeline's list if its content can be pinned.
func (b *builder) pins(block string, src source.Source) {
	if p, ok := src.(source.Pinner); ok {
		b.p.Pins = append(b.p.Pins, Pin{block, p})
	}
}

// placeFields name the place of a source that no parameter tells.
func placeFields(prefix string, src source.Source) []engine.Field {
	p, ok := src.(source.Placed)
	if !ok || p.Place() == "" {
		return nil
	}
	return []engine.Field{{Class: engine.Source, Path: prefix + ".place", Value: p.Place()}}
}
