// Package source holds the kinds of corpus source: where documents come from.
//
// Every source that reads local files keeps the same rules. Text must be valid
// UTF-8; a leading byte order mark is dropped and said; line ends stay as they
// are, since keys hash bytes as they are, and CRLF is said. Ids are unique and
// free of control characters. What is wrong with the input is collected, so that
// a user sees all of it at once: see [Errors]. What is odd but harmless is told
// by [Warner].
package source

import (
	"context"
	"iter"

	"raglab/axes"
	"raglab/golden"
)

// Source yields the documents of a corpus.
type Source interface {
	// Documents yields every document once, in corpus order. An error ends the
	// sequence; it says which file and line it is about. It may be called
	// again and then starts anew.
	Documents(ctx context.Context) iter.Seq2[axes.Document, error]
	// Inputs lists the local files that Documents and Questions read, sorted: those
	// that hold the corpus, or the lock file of one that is fetched.
	Inputs(ctx context.Context) ([]string, error)
}

// Questioner is implemented by sources that bring judged questions along.
type Questioner interface {
	Questions(ctx context.Context) (*golden.Set, error)
}

// Warner is implemented by sources that may notice what is odd but no error.
type Warner interface {
	// Warnings tells, in whole sentences, what the last complete run through
	// Documents and the last call of Questions noticed. It may be called from
	// any goroutine.
	Warnings() []string
}

// Pinner is implemented by sources whose content may change where it is kept. What
// a lock file or a digest in the spec fixes is pinned.
type Pinner interface {
	// Unpinned tells, in a whole sentence, what a later fetch may find changed and
	// how to pin it; it is empty when everything is pinned.
	Unpinned() string
	// LockFile is the path of the lock file that the spec names, or empty.
	LockFile() string
	// Lock asks the source what it holds now and returns the content of the lock
	// file: the same bytes for the same content. It writes nothing. The function
	// progress, which may be nil, is told how many of how many items are done.
	Lock(ctx context.Context, progress func(done, total int)) ([]byte, error)
}

// Placed is implemented by sources of which no parameter in a key tells where they
// are, such as a table on a server that only its DSN names.
type Placed interface {
	// Place names where the content is kept, without secrets. It tells the results
	// of one place from those of another, and is empty when the content is pinned,
	// for then it does not matter where it is from.
	Place() string
}

// Remoter is implemented by sources of a kind that fetches over the network under
// some parameters and not under others.
type Remoter interface {
	// Remote reports whether this one does.
	Remote() bool
}

// Remote reports whether a source of the kind fetches over the network.
func Remote(kind axes.Kind[Source], s Source) bool {
	if r, ok := s.(Remoter); ok {
		return r.Remote()
	}
	return kind.Resource == axes.Network
}

// Kinds lists the kinds of source.
func Kinds() []axes.Kind[Source] {
	return []axes.Kind[Source]{Files(), JSONL(), BEIR(), Git(), HuggingFace(), Postgres(), Wikipedia()}
}
