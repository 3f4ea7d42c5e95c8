package embedder

import (
	"time"

	"raglab/internal/onnx"
)

// idleAfter is how long a session that nobody uses is kept. A model takes hundreds
// of megabytes, which what follows the embedding has better uses for, and is
// opened in less than a second.
const idleAfter = 3 * time.Second

// openSession is a session and who uses it. The encoder's lock guards it.
type openSession struct {
	*onnx.Session
	users int
	idle  *time.Timer // closes the session; nil until it was first given back
}

// giveBack ends a use of a session.
func (e *encoder) giveBack(s *openSession) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users--; s.users > 0 || s.Session == nil {
		return
	}
	if s.idle == nil {
		s.idle = time.AfterFunc(idleAfter, func() { e.rest(s) })
		return
	}
	s.idle.Reset(idleAfter)
}

// rest closes a session that nobody uses.
func (e *encoder) rest(s *openSession) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users == 0 {
		// It only gives memory back: what it computed is not its own.
		_ = s.close()
	}
}

// close closes the session if it is open.
func (s *openSession) close() error {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.Session == nil {
		return nil
	}
	session := s.Session
	s.Session = nil
	return session.Close()
}
