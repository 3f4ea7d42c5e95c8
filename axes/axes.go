// Package axes defines what the factors of a retrieval pipeline have in common:
// documents, chunks, rankings, and the description of a kind.
//
// Each factor is a folder below this one, each kind of a factor one file in it
// with its parameter struct, version and documentation. The factor's main file
// lists its kinds by hand in one slice; adding a kind is one file and one line
// there. Kinds know neither the engine nor the cache: they are handed readers,
// writers and values.
package axes

import (
	"context"
	"fmt"

	"raglab/internal/param"
	"raglab/internal/pg"
)

// Resource is the class of machine resource that a kind's work mainly uses.
// The engine limits how much of each is in use at once.
type Resource string

// The resource classes.
const (
	CPU         Resource = "cpu"
	Network     Resource = "network"
	Accelerator Resource = "accelerator"
)

// Meta is what a kind says about itself.
type Meta struct {
	// Name is what a spec writes in kind, in the field's own term.
	Name string
	// Version is raised whenever the same parameters and inputs may give
	// other output than before. It enters every key.
	Version string
	// Summary is one sentence; Doc, which may be empty, is what else a user
	// must know, in plain paragraphs.
	Summary, Doc string
	// Resource defaults to CPU.
	Resource Resource
	// Volatile says that the output is not a function of the parameters and
	// inputs to the last bit (embeddings, approximate indexes). The first
	// result of a key is kept, and verification compares with a tolerance.
	Volatile bool
	// BringsQuestions says of a source that it has judged questions of its own.
	BringsQuestions bool
}

// Needs lists what a kind reads besides its declared inputs. The engine
// resolves both lists and puts the digests, never the names' places, in the key.
type Needs struct {
	// Assets are names known to internal/assets.
	Assets []string
	// Files are local paths of files or folders.
	Files []string
	// Postgres says that the kind keeps its index in Postgres, which Env then
	// gives it.
	Postgres bool
	// Embedder says of a chunker that it embeds sentences with the embedder of
	// the configuration.
	Embedder bool
}

// Env is what a kind is handed when it is made.
type Env struct {
	// Language is the corpus's language as a BCP 47 tag, or empty.
	Language string
	// Threads is how many threads one instance may use; 0 means 1.
	Threads int
	// Asset returns the folder that holds a named asset's files. It is never
	// asked for a name that the kind's Needs did not list.
	Asset func(ctx context.Context, name string) (string, error)
	// Postgres returns the database for kinds whose Needs asked for it. It
	// connects the first time, starting a private server if need be, and gives
	// every caller the same pool, which is not the caller's to close.
	Postgres func(ctx context.Context) (*pg.DB, error)
}

// Kind is one implementation of a factor, whose instances are of type T. Make
// one with [Define]; the zero value is of no use.
type Kind[T any] struct {
	Meta
	params func() any
	needs  func(params any) Needs
	make   func(params any, env Env) (T, error)
}

// Define describes a kind whose parameters are a struct P with the tags that
// package param reads. The function make must not do the kind's work yet, only
// check the parameters and prepare. Parameters that contradict each other are
// reported as a [*param.Error], which names the attribute.
func Define[P, T any](meta Meta, make func(P, Env) (T, error)) Kind[T] {
	if meta.Name == "" || meta.Version == "" || meta.Summary == "" {
		panic(fmt.Sprintf("axes: kind %q lacks a name, version or summary", meta.Name))
	}
	if meta.Resource == "" {
		meta.Resource = CPU
	}
	param.MustFields(new(P))
	return Kind[T]{
		Meta:   meta,
		params: func() any { p := new(P); param.SetDefaults(p); return p },
		needs:  func(any) Needs { return Needs{} },
		make:   func(params any, env Env) (T, error) { return make(*params.(*P), env) },
	}
}

// NeedsOf returns the kind with a function that tells what it reads besides its
// inputs under given parameters.
func NeedsOf[P, T any](kind Kind[T], needs func(P) Needs) Kind[T] {
	kind.needs = func(params any) Needs { return needs(*params.(*P)) }
	return kind
}

// Params returns a pointer to a new parameter struct with every default set.
func (k Kind[T]) Params() any { return k.params() }

// Needs tells what the kind reads besides its inputs. The argument is a pointer
// as [Kind.Params] returns.
func (k Kind[T]) Needs(params any) Needs { return k.needs(params) }

// New makes an instance. The argument is a pointer as [Kind.Params] returns.
func (k Kind[T]) New(params any, env Env) (T, error) { return k.make(params, env) }

// Described is the part of a kind that does not depend on its factor's type.
type Described interface {
	About() Meta
	Params() any
	Needs(params any) Needs
}

// About returns the kind's description.
func (k Kind[T]) About() Meta { return k.Meta }

// Find returns the kind of that name.
func Find[T any](kinds []Kind[T], name string) (Kind[T], bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind[T]{}, false
}

// Describe returns the kinds as descriptions, and panics when two share a name.
func Describe[T any](kinds []Kind[T]) []Described {
	seen := make(map[string]bool, len(kinds))
	out := make([]Described, len(kinds))
	for i, k := range kinds {
		if seen[k.Name] {
			panic(fmt.Sprintf("axes: two kinds named %q", k.Name))
		}
		seen[k.Name] = true
		out[i] = k
	}
	return out
}
