package engine

import (
	"context"
	"errors"
	"io"

	"raglab/cache"
)

// Kind is a kind of stage: what it is called and how it is done. Kinds are
// values that live as long as the program; stages point to them.
type Kind struct {
	Name string
	// Version is raised whenever equal fields and inputs may give another
	// result than before.
	Version string
	// Outputs are the names that every successful run must have created.
	Outputs []string
	// Pure kinds give the same bytes for the same key, at any time and on any
	// machine. What follows a stage that is not pure cannot be known before it
	// has run.
	Pure bool
	// Steady kinds are not pure, but what they give comes out equal as a rule, as cuts
	// do that hang on numbers which are nearly the same each time. What follows one
	// that is to run may be found in the cache.
	Steady bool
	// Cheap kinds are pure, read only their inputs and local files, and are so
	// quick that a plan may run them in memory to learn what would change.
	Cheap bool
	// Run does the work. It may be called again after a failure and must then
	// start anew. It must return soon after ctx is done.
	Run func(ctx context.Context, t *Task) error
	// Forecast counts how much of a planned run's work is new, from inputs that
	// are known; nil for kinds that do all or nothing.
	Forecast func(ctx context.Context, t *Task) (Forecast, error)
	// Same reports how two results of one key differ more than the kind's
	// tolerance allows; nil compares bytes.
	Same func(output string, old, again io.Reader) error
}

// Residence is a store outside the cache, such as a database, in which stages
// leave what their outputs only describe, under the stage's content key. Safe for
// concurrent use.
type Residence interface {
	// Whole reports what is wrong with what the keys name, in a few words and in
	// one question to the store: "" for what is there as it was made. A key that
	// it says nothing of is not there. With keys nil it reports on all that is
	// there. It writes nothing. ErrNotAsked means that nobody can tell without
	// starting or reaching something that is not there now.
	Whole(ctx context.Context, keys []cache.Key) (map[cache.Key]string, error)
	// Remove takes away what a key names, whole or not; nothing there is no error.
	// A stage that is forced to run would keep what it finds. What may pass is
	// marked by [Transient].
	Remove(ctx context.Context, key cache.Key) error
}

// ErrNotAsked says that a residence cannot be looked at just now, as that of a
// server that is stopped. A plan then believes the records; a run that needs what
// they describe finds out.
var ErrNotAsked = errors.New("not asked")

// Class says what sort of thing a field is: it is the reason a rerun is given.
type Class string

// The classes of field.
const (
	Params Class = "params"
	Code   Class = "code"
	Model  Class = "model"
	Env    Class = "env"
	Source Class = "input" // a file outside the cache, by its digest
)

// Field is one thing that can change a stage's result.
type Field struct {
	Class Class
	Path  string
	Value Value
}

// Input is an output of another stage that a stage reads, under a name of its own.
type Input struct {
	Name   string
	From   *Stage
	Output string
	// Late inputs are read by the stage's Late function alone. What they
	// decide is in the fields that it returns, so that they are no part of the
	// content key: a value that was tuned names the same result as one that
	// was written.
	Late bool
}

// Stage is one unit of work in a graph.
type Stage struct {
	// Address names the stage within its experiment, in words that stay the
	// same while parameters change: a kind and the options it depends on.
	Address string
	Kind    *Kind
	// Fields, sorted by class and path once the stage is in a graph.
	Fields []Field
	Inputs []Input
	// Work is handed to the kind's functions: parameters and instances.
	Work any
	// Needs is what a run takes of the machine.
	Needs Resources
	// Limits are names of limits that a run counts in: see [Local.Limits].
	Limits []string
	// Late, when set, makes the definition from the content of inputs: it
	// returns the fields that replace those of the same class and path, and the
	// work. It is called once the inputs it reads are known.
	Late func(read func(input string) ([]byte, error)) ([]Field, any, error)
	// Blocked, when not empty, says why the stage cannot run on this machine
	// as it is.
	Blocked string
	// Outside is how many bytes a run reads from outside the cache.
	Outside int64
	// Billed says that somebody bills for a run at a price that is known: it
	// measures [PaidUSD], and a forecast of it says what it costs.
	Billed bool
	// Check, when set, is called after a run; an error says which file outside
	// the cache changed meanwhile. The result is then not kept.
	Check func() error
	// Residence, when set, is where a run leaves something that its outputs only
	// describe. The result counts while that is there.
	Residence Residence

	planKey cache.Key
	index   int
	also    []string
}

// PlanKey names the stage before anything has run.
func (s *Stage) PlanKey() cache.Key { return s.planKey }

// Index is the stage's place in its graph; inputs come before what reads them.
func (s *Stage) Index() int { return s.index }

// Also lists other addresses that turned out to be the same stage.
func (s *Stage) Also() []string { return s.also }

// PaidUSD is the measurement of what a run was billed for, in USD, which a budget of
// money counts.
const PaidUSD = "new_usd"

// Forecast is how much of a stage's work is new to it: the rest is remembered
// from other runs.
type Forecast struct {
	New   int    `json:"new"`
	Total int    `json:"total"`
	Unit  string `json:"unit"`
	// USD is what the new work costs, of a stage that is billed.
	USD float64 `json:"usd,omitempty"`
}
