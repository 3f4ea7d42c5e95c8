package engine

import (
	"time"

	"raglab/cache"
)

// EventType is what happened.
type EventType string

// The closed list of events of an apply, besides those that commands add.
const (
	EventStart    EventType = "apply_start"    // a stage began to run
	EventWaiting  EventType = "apply_waiting"  // another process makes its result
	EventProgress EventType = "apply_progress" // how far it is
	EventRetry    EventType = "apply_retry"    // it failed in a way that may pass
	EventComplete EventType = "apply_complete" // it has a result
	EventErrored  EventType = "apply_errored"  // it failed, or was interrupted
	EventBlocked  EventType = "apply_blocked"  // something that it needs failed
	EventVerified EventType = "apply_verified" // a cached result was made again and compared
	EventWarning  EventType = "warning"        // a stage has something to say
)

// Completion is how a stage came to its result.
type Completion string

// The ways to a result.
const (
	Executed  Completion = "executed"  // it ran
	Hit       Completion = "hit"       // found in the cache after an input was made again
	Shared    Completion = "shared"    // a stage with the same key ran in this apply
	Elsewhere Completion = "elsewhere" // another process made it meanwhile
)

// Event is one thing that happened to one stage. Events of an apply arrive one
// after the other.
type Event struct {
	Type  EventType
	Time  time.Time
	Stage *Stage
	// Key is zero while the stage's inputs are unknown.
	Key    cache.Key
	Reason Reason

	Completion Completion
	Wall       time.Duration
	CPU        time.Duration // 0 when other stages ran at the same time
	Bytes      int64         // of the outputs
	Attempt    int

	Done, Total int64
	Unit        string

	Holder cache.Holder
	// Where is the worker that runs the stage, of an apply on many machines; empty in
	// this process.
	Where   string
	Message string
	// State tells, of a stage that ended without a result, whether it failed
	// or was interrupted.
	State StageState
	Err   error
}
