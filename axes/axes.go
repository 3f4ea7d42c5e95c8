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
	"raglab/internal/web"
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
	// Examples are shown besides the one that is made from the parameters.
	Examples []Example
	// BringsQuestions says of a source that it has judged questions of its own.
	BringsQuestions bool
}

// Example is a part of a spec that uses a kind.
type Example struct {
	// Title says in a few words what it shows.
	Title string
	// Text is HCL, as raglab fmt lays it out.
	Text string
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
	// Services are the servers that the kind asks, as a user would tell them apart:
	// an address without scheme, say. They go into the key as they are, since what a
	// server gives is nowhere else in it.
	Services []string
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
	// Deciding is how many threads count where their number decides a setting that shows
	// in a result: those of where the experiment was submitted; 0 means Threads.
	Deciding int
	// Version is the program's version, which a server may be told, or empty.
	Version string
	// Downloads is a folder that the kind may keep fetched content in, below one of
	// its own name, so that nothing is fetched twice; empty where it may not. What
	// is there may be damaged, or gone the next time.
	Downloads string
	// Web asks servers; nil is a client with the usual settings. See [Env.Client].
	Web *web.Client
	// Getenv reads the environment variables that the doc of a kind names; nil is
	// os.Getenv.
	Getenv func(string) string
	// Asset returns the folder that holds a named asset's files. It is never
	// asked for a name that the kind's Needs did not list.
	Asset func(ctx context.Context, name string) (string, error)
	// Postgres returns the database for kinds whose Needs asked for it. It
	// connects the first time, starting a private server if need be, and gives
	// every caller the same pool, which is not the caller's to close.
	Postgres func(ctx context.Context) (*pg.DB, error)
}

// Client returns what asks servers.
func (e Env) Client() *web.Client {
	if e.Web != nil {
		return e.Web
	}
	return web.New(web.Config{UserAgent: web.Agent(e.Version, "")})
}

// Kind is one implementation of a factor, whose instances are of type T. Make
// one with [Define]; the zero value is of no use.
type Kind[T any] struct {
	Meta
	params func() any
	needs  func(params any) Needs
	// lacks is nil for a kind whose parameters do not matter to its questions.
	lacks func(params any) string
	// secrets is nil for a kind that has none.
	secrets func(params any) []string
	make    func(params any, env Env) (T, error)
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

// QuestionsOf returns the kind with a function that tells whether a source of given
// parameters brings questions: what the user has to set so that it does, or nothing
// when it does.
func QuestionsOf[P, T any](kind Kind[T], lacks func(P) string) Kind[T] {
	kind.lacks = func(params any) string { return lacks(*params.(*P)) }
	return kind
}

// SecretsOf returns the kind with a function that tells which texts in given
// parameters nobody may see, such as a password.
func SecretsOf[P, T any](kind Kind[T], secrets func(P) []string) Kind[T] {
	kind.secrets = func(params any) []string { return secrets(*params.(*P)) }
	return kind
}

// Params returns a pointer to a new parameter struct with every default set.
func (k Kind[T]) Params() any { return k.params() }

// Needs tells what the kind reads besides its inputs. The argument is a pointer
// as [Kind.Params] returns.
func (k Kind[T]) Needs(params any) Needs { return k.needs(params) }

// LacksQuestions tells what a user has to set in parameters so that a kind with
// BringsQuestions does bring some, or nothing when it does.
func (k Kind[T]) LacksQuestions(params any) string {
	if k.lacks == nil {
		return ""
	}
	return k.lacks(params)
}

// Secrets returns the texts in parameters that nobody may see. The argument is a
// pointer as [Kind.Params] returns.
func (k Kind[T]) Secrets(params any) []string {
	if k.secrets == nil {
		return nil
	}
	return k.secrets(params)
}

// New makes an instance. The argument is a pointer as [Kind.Params] returns.
func (k Kind[T]) New(params any, env Env) (T, error) { return k.make(params, env) }

// Check reports what is wrong with parameters that are each valid. The argument is a
// pointer as [Kind.Params] returns.
func (k Kind[T]) Check(params any, env Env) error {
	_, err := k.make(params, env)
	return err
}

// Described is the part of a kind that does not depend on its factor's type.
type Described interface {
	About() Meta
	Params() any
	Needs(params any) Needs
	Secrets(params any) []string
	Check(params any, env Env) error
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
