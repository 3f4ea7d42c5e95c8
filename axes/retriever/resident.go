package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"raglab/axes"
	"raglab/axes/text"
)

// Resident is implemented by leaves whose index lives outside the cache, in a
// table of Postgres. What they write into the cache is a manifest: it says what
// was built, and counts only while the table is there.
type Resident interface {
	Leaf
	// BuildAs builds the index as the table of a key, 64 hexadecimal digits that
	// no other index has, writes the manifest to w, and returns what it observed.
	// The manifest's bytes are a function of the key, the corpus and the
	// parameters alone, so that building again what was lost changes nothing that
	// follows. Whatever dies on the way leaves nothing behind. When the table is
	// there and whole it stays, and Built is false.
	BuildAs(ctx context.Context, key string, corpus Corpus, analyzer text.Analyzer, w io.Writer) (Measures, error)
	// Settings are what the machine decided for a build where the parameters left
	// it open and where it can change the result, by name. They are part of the
	// index's key.
	Settings() map[string]string
}

// ErrGone says that the table of a resident index is not there, or not as it was
// built. Searchers and Open return it wrapped.
var ErrGone = errors.New("the index is gone from its store")

// ChunkError says which chunk an index cannot hold.
type ChunkError struct {
	// Ordinal is the chunk's.
	Ordinal int
	// Err is what is wrong with it, and what to do.
	Err error
}

func (e *ChunkError) Error() string { return fmt.Sprintf("chunk %d: %v", e.Ordinal, e.Err) }

// Unwrap returns what is wrong.
func (e *ChunkError) Unwrap() error { return e.Err }

// Measures is what a build observed. It enters no key.
type Measures struct {
	// Built is false when the index was there.
	Built bool
	// IndexBytes is the size of the index itself, HeapBytes of the rows that it
	// is over. A kind without an index over its rows has 0 index bytes.
	IndexBytes, HeapBytes int64
	// Normalise, Copy and Index are the parts of the time that the build took:
	// text handling, sending the rows, and building the index over them.
	Normalise, Copy, Index time.Duration
	// Skipped counts chunks that the index cannot hold and no search can find, as a
	// vector of zeros has no cosine; Dropped counts terms that are too long for it.
	Skipped, Dropped int
	// Server is the version of the server and of its extension, for people.
	Server string
}

// Rounded is implemented by leaves that may keep vectors in a lower precision than
// they were given. Their rankings are held against the exact kind's over the same
// vectors as they were given, though they are a function of the index like any
// other.
type Rounded interface {
	// Rounded returns the distance to rank the exact twin by, and false for
	// parameters under which no number loses a digit.
	Rounded() (distance string, ok bool)
}

// Approximate is implemented by leaves that may miss some of the nearest
// vectors. Their rankings are held against the exact kind's over the same
// vectors.
type Approximate interface {
	// Approximate returns the distance to rank the exact twin by, and false for
	// parameters under which the leaf is exact.
	Approximate() (distance string, ok bool)
}

// Blanker is implemented by searchers to which a question may say nothing.
type Blanker interface {
	// Blank reports whether nothing of a question is left to search for, so that it
	// finds nothing whatever the index holds. Safe for concurrent use.
	Blank(q axes.Query) bool
}

// DepthLimiter is implemented by leaves that cannot rank to any depth.
type DepthLimiter interface {
	// CheckDepth returns a *param.Error when searches of the depth would be refused.
	CheckDepth(depth int) error
}
