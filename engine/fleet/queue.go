package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"raglab/cache"
	"raglab/engine"
)

// Queue is where stages wait for a worker. All methods are safe for concurrent use,
// and a queue on a server is safe between processes.
//
// A node is one stage, named by its plan key: submissions that have a stage in common
// share it. It waits for its needs, is ready, is claimed, and ends done, failed or
// blocked; a claim that is lost (see Renew) makes it ready again.
type Queue interface {
	// Submit adds a submission's nodes and returns the run that follows them. A node
	// that is waiting, ready or claimed already is shared as it is; one that ended before
	// the submission's plan was made is queued again. Submitting what another run of the
	// same experiment and graph is at work on attaches to that run: same ID, nothing added
	// twice. What ended after the plan was made stays as it ended: a notice of the new run
	// says so at once (apply_complete with Elsewhere, apply_errored or apply_blocked),
	// unless Made names that result.
	Submit(ctx context.Context, s Submission) (RunID, error)

	// Claim waits for a ready node that the offer can take, and claims it. Among ready
	// nodes of a class the order is priority, then since when they are ready, then key.
	// It returns ctx's cause when that ends first.
	Claim(ctx context.Context, o Offer) (*Claim, error)

	// Renew says that the claim is still worked on. ErrClaimLost means that the node was
	// given to somebody else, or is wanted by nobody any more: the work is to stop and
	// publish nothing.
	Renew(ctx context.Context, c *Claim) error

	// Finish ends a claim with a result: the node is done, and in the same transaction
	// each node whose last need it was becomes ready. Of a node that very many need, those
	// that the transaction would take long for become ready, or are blocked if it fails,
	// soon after, whatever becomes of the caller. The first of two that finish one node
	// wins; ErrClaimLost for the other. The notice is apply_complete.
	Finish(ctx context.Context, c *Claim, r Result) error

	// Fail ends a claim without a result. A failure that may pass makes the node ready
	// again after its delay, until the attempts are used up; any other fails the node and
	// blocks what needs it. The notices are apply_retry, or apply_errored with the state
	// failed and then, for each blocked node, apply_blocked with the address of the one
	// that failed as its message. One of the store that fails a node begins nothing more
	// in its runs, as FailFast does.
	//
	// While another claim of the node stands (see [Claim.Again]), Fail, Lose and Return
	// end their own claim and change nothing else.
	Fail(ctx context.Context, c *Claim, f Failure) error

	// Lose ends a claim because results of needs are gone from the store: those nodes
	// are queued again, and the claimed one waits for them. One whose result was lost
	// more than LostLimit times in a run fails. The notices are warnings about the
	// claimed node with the texts of the losses.
	Lose(ctx context.Context, c *Claim, needs []Loss) error

	// Return ends a claim that this worker cannot serve just now, without counting an
	// attempt: the node is ready again after the delay.
	Return(ctx context.Context, c *Claim, why string, after time.Duration) error

	// Tell adds a notice about a claimed node: that it started, how far it is, a
	// warning. Progress may be dropped or thinned.
	Tell(ctx context.Context, c *Claim, n Notice) error

	// Follow returns the notices of a run after a cursor (the zero Cursor is the
	// beginning), in an order that all followers see, waiting until there is one, the run
	// has ended, or ctx ends. No notice is ever skipped.
	Follow(ctx context.Context, run RunID, after Cursor) (News, error)

	// Hold ends a run: nodes that no other run wants are begun no more. With stop set,
	// those that are claimed lose their claims too; the notices are apply_errored with the
	// state interrupted. Holding a run that has ended does nothing.
	Hold(ctx context.Context, run RunID, stop bool) error

	// Status tells how the runs that are at work, and those that ended since, stand.
	Status(ctx context.Context, since time.Time) (Status, error)
}

// ErrClaimLost says that a claim is no longer its worker's.
var ErrClaimLost = errors.New("the claim on the stage was lost")

// LostLimit bounds how often one run makes a result again that was lost.
const LostLimit = 3

// RunID names a run of one queue.
type RunID int64

// Cursor is a place in a run's notices; opaque.
type Cursor struct{ Tx, ID int64 }

// Class is a queue of its own, for what a stage needs most: workers serve classes.
type Class string

// The classes.
const (
	CPU         Class = "cpu"
	Network     Class = "network"
	Accelerator Class = "accelerator"
)

// Submission is a plan as a queue takes it.
type Submission struct {
	Experiment string
	// Graph names the plan's nodes and what they were made of, so that a second
	// submission of the same attaches.
	Graph cache.Digest
	// Bundle is the blob in the shared store from which a worker builds the graph.
	Bundle cache.Digest
	// By says whose it is, for people: user, host and command.
	By string
	// Planned is when the plan looked at the store.
	Planned time.Time
	// FailFast begins nothing more after the first failure.
	FailFast bool
	// Attempts bounds how often a node that fails in a way that may pass is run; at
	// least 1. A worker that dies counts in Deaths instead: the node is ready again, and
	// fails when that many workers have died of it.
	Attempts, Deaths int
	// Limits are how many nodes that name a limit may run at a time, over all workers.
	Limits map[string]int
	// Nodes, needs before what needs them.
	Nodes []Node
}

// Node is a stage as a queue knows it.
type Node struct {
	Key     cache.Key // plan key
	Address string
	// Kind and Version tell a worker whether it has the implementation.
	Kind, Version string
	// Needs are the plan keys of the stages whose results it reads, each once.
	Needs []cache.Key
	Class Class
	// Limits names those of the submission's limits that it counts in.
	Limits []string
	// Priority is 1 for what should begin first, to 4.
	Priority int
	// Reason is why it is to run.
	Reason engine.Reason
	// Made is set for a node whose result is in the shared store already; it is done.
	Made *engine.Made
	// Single nodes are never claimed by two workers at a time on purpose: those that
	// leave something in a residence, and those that somebody bills for.
	Single bool
}

// Offer is what a worker would take.
type Offer struct {
	// Worker is the worker's name: see [Queue.Claim]'s implementations for how one is
	// registered.
	Worker string
	// Classes that it serves now.
	Classes []Class
}

// Claim is a node in a worker's hands.
type Claim struct {
	Node
	Bundle cache.Digest
	// From are the results of the needs.
	From map[cache.Key]engine.Made
	// Attempt counts from 1.
	Attempt int
	// Again says that somebody else is at work on the node too, and slow.
	Again bool
	// Token tells this claim from other claims of the node.
	Token int64
}

// Result is what a claim came to.
type Result struct {
	engine.Made
	Completion engine.Completion
	Wall, CPU  time.Duration
	PaidUSD    float64
	// Unkept says that the result must not be found by a later run.
	Unkept bool
}

// FailureClass says whose a failure is.
type FailureClass string

// The classes of failure.
const (
	StageFailure FailureClass = "stage" // the stage's own
	InputFailure FailureClass = "input" // see [engine.InputError]
	StoreFailure FailureClass = "store" // see [engine.StoreError]
)

// Failure is why a claim has no result.
type Failure struct {
	Text  string
	Class FailureClass
	// MayPass asks for another attempt, After says when.
	MayPass bool
	After   time.Duration
	PaidUSD float64
}

// Loss is a need whose result is gone, with the reason in a plan's words.
type Loss struct {
	Key    cache.Key // plan key
	Reason engine.Reason
	// Text says of which input and how it was found.
	Text string
}

// Notice is something that happened to a node, as [engine.Event] is to a stage.
type Notice struct {
	Cursor  Cursor
	Type    engine.EventType
	Time    time.Time
	Node    cache.Key // plan key
	Key     cache.Key // content key, zero while unknown
	Worker  string
	Attempt int
	Reason  engine.Reason

	Completion engine.Completion
	Outputs    []cache.Blob
	Wall, CPU  time.Duration
	PaidUSD    float64
	Unkept     bool

	Done, Total int64
	Unit        string

	Message string
	State   engine.StageState
	Failure *Failure
}

// News is what Follow returns.
type News struct {
	Notices []Notice
	Cursor  Cursor
	// Ended says that nothing of the run is waiting, ready or claimed, and that all
	// notices have been returned.
	Ended bool
	// Held says that the run was held.
	Held bool
}

// RunState is how a run stands.
type RunState string

// The states of a run.
const (
	RunWorking RunState = "working"
	RunHeld    RunState = "held"
	RunDone    RunState = "done"
	RunFailed  RunState = "failed"
)

// Status is how a queue stands.
type Status struct {
	Runs    []RunStatus    `json:"runs"`
	Workers []WorkerStatus `json:"workers"`
}

// RunStatus is how a run stands.
type RunStatus struct {
	ID         RunID     `json:"id"`
	Experiment string    `json:"experiment"`
	By         string    `json:"by"`
	Begun      time.Time `json:"begun"`
	Ended      time.Time `json:"ended,omitzero"` // zero while at work
	State      RunState  `json:"state"`
	// Counts of nodes by where they stand.
	Waiting int `json:"waiting"`
	Ready   int `json:"ready"`
	Claimed int `json:"claimed"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Blocked int `json:"blocked"`
	// Running are those that are claimed now.
	Running []RunningNode `json:"running,omitempty"`
	// Classes are those of nodes that are still to be made, while the run is at work.
	Classes []Class `json:"classes,omitempty"`
}

// RunningNode is a node in a worker's hands.
type RunningNode struct {
	Address string    `json:"address"`
	Worker  string    `json:"worker"`
	Since   time.Time `json:"since"`
	Attempt int       `json:"attempt"`
	Done    int64     `json:"done"`
	Total   int64     `json:"total"`
	Unit    string    `json:"unit,omitempty"`
}

// WorkerStatus is a worker that the queue knows.
type WorkerStatus struct {
	Name    string    `json:"name"`
	Host    string    `json:"host"`
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Classes []Class   `json:"classes"`
	Claims  int       `json:"claims"`
}

// Unserved are the classes of what a run is still to make that no worker serves.
func (s Status) Unserved(r RunStatus) []Class {
	return slices.DeleteFunc(slices.Clone(r.Classes), func(c Class) bool {
		return slices.ContainsFunc(s.Workers, func(w WorkerStatus) bool { return slices.Contains(w.Classes, c) })
	})
}
