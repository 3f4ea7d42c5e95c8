package fleet

import (
	"context"

	"raglab/cache"
	"raglab/engine"
)

// Pusher uploads what only this machine has, so that all machines can read it. What is
// there already costs a look.
type Pusher interface {
	// Push uploads results: their blobs, then their records.
	Push(ctx context.Context, keys ...cache.Key) error
	// PushBlobs uploads blobs without a record, of a result that no later run is to find.
	PushBlobs(ctx context.Context, digests ...cache.Digest) error
}

// Fetcher brings blobs to this machine before they are read.
type Fetcher interface {
	Fetch(ctx context.Context, digests ...cache.Digest) error
}

// Leaser gives the right to be the one in the whole fleet that makes the result of a
// content key. It ends with the process that has it, at the latest. Advice, as
// [cache.Lease] is: the first writer of a key wins in any case.
type Leaser interface {
	// Lease does not wait: ok is false while somebody else has the key. Release is to be
	// called once, when ok.
	Lease(ctx context.Context, key cache.Key) (release func(), ok bool, err error)
}

// Watcher is a queue that knows at once when a claim is lost, before it is renewed next.
type Watcher interface {
	// Lost is closed when it is, and may be when the claim has ended.
	Lost(c *Claim) <-chan struct{}
}

// Source builds the graphs that workers find their stages in.
type Source interface {
	// Graph builds the graph of a bundle. It is called by one goroutine at a time for one
	// bundle, and may be called again after an error.
	Graph(ctx context.Context, bundle cache.Digest) (Project, error)
}

// Project is a graph with what its stages need to run: models, connections. It is safe
// for concurrent use.
type Project interface {
	// Find returns the stage of a plan key.
	Find(key cache.Key) (*engine.Stage, bool)
	// Close releases what the stages hold. None of them runs any more.
	Close() error
}

// Preparer is a [Project] that has something to bring to this machine before a stage
// runs, such as local files of where it was submitted.
type Preparer interface {
	Prepare(ctx context.Context, s *engine.Stage) error
}

// Explainer is a [Project] that can say why it does not have a stage that a queue knows.
type Explainer interface {
	Missing(address, kind, version string) string
}
