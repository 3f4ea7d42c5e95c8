package river

import (
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"raglab/engine/fleet"
	"raglab/internal/pg"
)

// Options say how a process takes part in a queue.
type Options struct {
	// DB is the server with raglab's schema. The queue does not close it. A worker
	// takes two connections of its own beside the pool, who submits or follows one.
	DB *pg.DB
	// Slots are how many stages of each class the process claims at a time. Without
	// any it only submits, follows, holds and looks; [Queue.Claim] is then an error.
	Slots map[fleet.Class]int
	// Name is the worker's for people; empty is HOST:PID.
	Name string
	// Version is raglab's own.
	Version string
	// Backups is the policy of running slow nodes twice.
	Backups fleet.Backups
	// Look is how often somebody who claims in vain looks for a slow node; 0 means 1 s.
	Look time.Duration
	// Patience is how long a worker's lock must be missing before what it had is
	// queued again; 0 means 2 s. Workers that lose their session find it again within
	// that time or give up what they have.
	Patience time.Duration
	// Silence is after how long without [Queue.Renew] a claim of a living worker is
	// lost; 0 means 5 minutes.
	Silence time.Duration
	// JobTimeout is River's bound on a single claim, RescueStuckJobsAfter River's own
	// rescue of jobs, the net under all the rest; 0 means 24 h and an hour more.
	JobTimeout, RescueStuckJobsAfter time.Duration
	// Keep is how long runs that have ended can still be looked at; 0 means 7 days.
	Keep time.Duration
	// Log is where River's and the queue's own words go; nil is nowhere.
	Log hclog.Logger

	// spreadMost is another than the constant of that name, and spreadMay says whether
	// the process may spread some more; in tests.
	spreadMost int
	spreadMay  func() bool
}

// leastConns is how many connections of the pool something of the queue has at a time.
const leastConns = 2

func (o Options) withDefaults() (Options, error) {
	if o.DB == nil {
		return o, fmt.Errorf("open the queue: no server is named")
	}
	if most := o.DB.Pool().Config().MaxConns; most < leastConns {
		return o, fmt.Errorf("open the queue: it takes at least %d connections to Postgres, and max_connections in the store block allows %d",
			leastConns, most)
	}
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Look, time.Second)
	set(&o.Patience, 2*time.Second)
	set(&o.Silence, 5*time.Minute)
	set(&o.JobTimeout, 24*time.Hour)
	set(&o.RescueStuckJobsAfter, o.JobTimeout+time.Hour)
	set(&o.Keep, 7*24*time.Hour)
	if o.spreadMost == 0 {
		o.spreadMost = spreadMost
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s:%d", o.host(), os.Getpid())
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	for class, n := range o.Slots {
		if n < 1 {
			return o, fmt.Errorf("open the queue: %d slots for class %s: expected at least 1", n, class)
		}
	}
	return o, nil
}

func (o Options) host() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}
