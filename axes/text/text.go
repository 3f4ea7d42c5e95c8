// Package text holds the kinds of text handling: which terms the lexical side
// indexes and asks for.
package text

import "raglab/axes"

// Analyzer turns text into terms. Implementations are deterministic and safe
// for concurrent use.
type Analyzer interface {
	// Terms calls emit for each term of s in order, repeated terms each time.
	// The slice is valid during the call only.
	Terms(s string, emit func(term []byte))
}

// Kinds are the kinds of this factor.
var Kinds = []axes.Kind[Analyzer]{
	simple,
	unaccent,
	prefix,
}
