package retriever

import (
	"context"
	"io"

	"raglab/axes/text"
)

// Resident is implemented by leaves whose index lives outside the cache, such as
// in a database. What they write into the cache is a manifest: it says what was
// built, and counts only while the index itself is there.
type Resident interface {
	Leaf
	// BuildAs builds the index under a name that no other index has, writes the
	// manifest to w, and returns what it observed. Whatever dies on the way
	// leaves nothing under the name. When an index of that name is there it is
	// replaced.
	BuildAs(ctx context.Context, name string, corpus Corpus, analyzer text.Analyzer, w io.Writer) (Measures, error)
	// Present reports which of the named indexes are there, whole, in one
	// question to the store. It writes nothing.
	Present(ctx context.Context, names []string) (map[string]bool, error)
}

// Measures is what a build observed. It enters no key.
type Measures struct {
	// IndexBytes is the size of the index itself, HeapBytes of the rows that it
	// is over.
	IndexBytes, HeapBytes int64
	// Seconds are the parts of the build by name, such as "copy" and "build".
	Seconds map[string]float64
}

// Approximate is implemented by leaves that may miss some of the nearest
// vectors. Their rankings are held against the exact kind's over the same
// vectors.
type Approximate interface {
	Approximate() bool
}
