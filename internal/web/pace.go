package web

import (
	"context"
	"sync"
	"time"
)

// Pace keeps requests apart: so many in a minute, and none while a server wants
// to be left alone. Make one with [NewPace]; safe for concurrent use.
type Pace struct {
	// Now and Sleep are the clock, for tests to replace before the first request.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error

	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

// NewPace returns a pace of so many requests a minute; 0 is as fast as they come.
func NewPace(perMinute int) *Pace {
	p := &Pace{Now: time.Now, Sleep: sleep}
	if perMinute > 0 {
		p.every = time.Minute / time.Duration(perMinute)
	}
	return p
}

// Wait returns when the next request may be made, or with the context's cause.
func (p *Pace) Wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.every)
	p.mu.Unlock()
	if d := at.Sub(now); d > 0 {
		return p.Sleep(ctx, d)
	}
	return nil
}

// Hold lets no request through for that long.
func (p *Pace) Hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.Now().Add(d); until.After(p.next) {
		p.next = until
	}
}
