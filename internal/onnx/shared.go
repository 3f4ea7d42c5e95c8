package onnx

import (
	"context"
	"sync"
	"time"
)

// IdleAfter is how long a session that nobody uses is kept. A model takes hundreds
// of megabytes, which what follows has better uses for, and is opened in less than
// a second.
const IdleAfter = 3 * time.Second

// Shared is a session that is opened when somebody needs it and closed when nobody
// has used it for [IdleAfter]. Make one with [NewShared]. Safe for concurrent use.
type Shared struct {
	open func(ctx context.Context) (*Session, error)

	mu      sync.Mutex
	session *Session
	users   int
	idle    *time.Timer // closes the session; nil until it was first given back
}

// NewShared returns a session that the function opens. It is not opened yet.
func NewShared(open func(ctx context.Context) (*Session, error)) *Shared {
	return &Shared{open: open}
}

// Use returns the session, to be given back by release, which may be called
// twice.
func (s *Shared) Use(ctx context.Context) (session *Session, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		if s.session, err = s.open(ctx); err != nil {
			return nil, nil, err
		}
	}
	s.users++
	return s.session, sync.OnceFunc(s.giveBack), nil
}

func (s *Shared) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 || s.session == nil {
		return
	}
	if s.idle == nil {
		s.idle = time.AfterFunc(IdleAfter, s.rest)
		return
	}
	s.idle.Reset(IdleAfter)
}

// rest closes a session that nobody uses.
func (s *Shared) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		// It only gives memory back: what it computed is not its own.
		_ = s.close()
	}
}

// IsOpen reports whether the session is loaded at this moment.
func (s *Shared) IsOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != nil
}

// Close closes the session if it is open. No user may be left.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *Shared) close() error {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.session == nil {
		return nil
	}
	session := s.session
	s.session = nil
	return session.Close()
}
