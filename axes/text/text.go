// Package text holds the kinds of text handling: which terms the lexical side
// indexes and asks for.
package text

import (
	"context"

	"raglab/axes"
)

// Analyzer turns text into terms. Implementations are deterministic and safe
// for concurrent use.
type Analyzer interface {
	// Terms calls emit for each term of s in order, repeated terms each time.
	// The slice is valid during the call only.
	Terms(s string, emit func(term []byte))
}

// Opener is implemented by analyzers that read a file before they can work.
// [Open] calls it.
type Opener interface {
	// Open reads the file, once however often and from however many goroutines
	// it is called; an error is not remembered.
	Open(ctx context.Context) error
}

// Open makes an analyzer ready. It must be called before Terms and its error
// handled: Terms has none to return, and panics when the file cannot be read.
func Open(ctx context.Context, a Analyzer) error {
	if o, ok := a.(Opener); ok {
		return o.Open(ctx)
	}
	return nil
}

// Counter is implemented by analyzers that look words up. They must be open.
type Counter interface {
	// Unknown returns how many words of s are looked up and how many of them are
	// not found. Words without a letter, numbers above all, do not count.
	Unknown(s string) (words, unknown int)
	// Memory returns the bytes that what is looked up in takes.
	Memory() int
}

// Kinds are the kinds of this factor.
var Kinds = []axes.Kind[Analyzer]{
	simple,
	unaccent,
	prefix,
	snowball,
	lemmas,
}
