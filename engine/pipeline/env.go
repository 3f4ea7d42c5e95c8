package pipeline

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
	"raglab/engine"
	"raglab/internal/pg"
)

// Env is what building and running a pipeline needs of the machine.
type Env struct {
	// Threads is how many threads a stage that can use several may use.
	Threads int
	// Deciding is as in [axes.Env].
	Deciding int
	// Machine tells machines apart whose times cannot be compared.
	Machine string
	// Version is the program's version; Downloads is where sources may keep what they
	// fetched.
	Version, Downloads string
	// Sketch is set when the pipeline is only looked at: files with judged questions
	// need not be there yet.
	Sketch bool
	// Assets are models and other large files.
	Assets Assets
	// Memo opens the memory of embeddings, or of rerankers' scores, of one space.
	Memo func(space cache.Digest) (*cache.Memo, error)
	// Fingerprints remembers digests of local files; nil remembers nothing.
	Fingerprints *Fingerprints
	// PostgresAsset is the asset with the programs of the server that Postgres
	// starts, empty when it connects to one that the user named.
	PostgresAsset string
	// Postgres connects to the database that indexes live in, the first time;
	// Tables tells which of them are there.
	Postgres func(ctx context.Context) (*pg.DB, error)
	Tables   engine.Residence
	Log      hclog.Logger

	// cut, where a test sets it, decides how a corpus is cut instead of [shardsFor].
	cut func(bytes int64) sharding
}

// Assets finds models and other large files by name.
type Assets interface {
	// Digest names the content of an asset without having it. An unknown name
	// is an error that lists what there is.
	Digest(name string) (string, error)
	// Missing returns what to do to get the asset, or "" when it is on this
	// machine.
	Missing(name string) string
	// Dir returns the folder of an asset, and gets it when it is not there.
	Dir(ctx context.Context, name string) (string, error)
}
