package fleet

import (
	"context"
	"sync"
	"time"

	"raglab/engine"
)

// teller tells the queue, in order and without keeping the stage waiting, what happens
// to a claimed stage. Of progress it tells the latest, at most once a second.
type teller struct {
	shift *shift
	claim *Claim
	over  sync.WaitGroup

	mu       sync.Mutex
	notices  []Notice // to be told
	progress *Notice  // the latest that was not told
	due      bool     // it is to be told now
	waits    bool     // it will be due
	closed   bool
	wake     chan struct{}
}

// progressEvery is how often progress is told.
const progressEvery = time.Second

func newTeller(s *shift, c *Claim) *teller {
	t := &teller{shift: s, claim: c, wake: make(chan struct{}, 1)}
	t.over.Go(t.send)
	return t
}

// event takes an event of the stage, from any goroutine.
func (t *teller) event(e engine.Event) {
	n := Notice{Type: e.Type, Time: e.Time, Key: e.Key, Reason: e.Reason, Done: e.Done, Total: e.Total, Unit: e.Unit, Message: e.Message}
	if e.Type != engine.EventProgress {
		t.tell(n)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress = &n
	if !t.waits {
		t.fall()
	}
}

// fall makes progress due, and the next one in a while: what a stage said last stands
// for as long as it says nothing more.
func (t *teller) fall() {
	t.due, t.waits = true, true
	t.signal()
	time.AfterFunc(progressEvery, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waits = false; t.progress != nil && !t.closed {
			t.fall()
		}
	})
}

// tell adds a notice.
func (t *teller) tell(n Notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, n)
	t.signal()
}

// end waits until all is told.
func (t *teller) end() {
	t.mu.Lock()
	t.closed = true
	t.signal()
	t.mu.Unlock()
	t.over.Wait()
}

func (t *teller) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// next takes what is to be told.
func (t *teller) next() (all []Notice, closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, t.notices = t.notices, nil
	if t.due && !t.closed {
		all = append(all, *t.progress)
		t.progress, t.due = nil, false
	}
	return all, t.closed
}

func (t *teller) send() {
	ctx := context.WithoutCancel(t.shift.work)
	for range t.wake {
		all, closed := t.next()
		for _, n := range all {
			t.say(ctx, n)
		}
		if closed {
			return
		}
	}
}

// say tells one notice. One that does not arrive is missed by those who watch, and by
// nothing else.
func (t *teller) say(ctx context.Context, n Notice) {
	ctx, cancel := timeout(ctx, 10*time.Second, errLeft)
	defer cancel()
	if err := t.shift.Queue.Tell(ctx, t.claim, n); err != nil {
		t.shift.Log.Debug("tell of a stage", "stage", t.claim.Address, "error", err)
	}
}
