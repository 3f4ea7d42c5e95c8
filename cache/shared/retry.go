package shared

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"raglab/cache"
)

const (
	// attempts is how often a request is made before the store counts as unavailable. The pauses
	// between them come to some three seconds, and drivers try by themselves, too.
	attempts = 5
	// firstPause and longestPause bound the wait before an attempt; each is twice the one before.
	firstPause   = 200 * time.Millisecond
	longestPause = 10 * time.Second
	// stall is for how long a transfer may stand still before it counts as cut.
	stall = time.Minute
	// openStall is that for opening a store: nothing of size moves, and somebody waits.
	openStall = 10 * time.Second
)

// UnavailableError says that a store could not be asked, after all attempts. It is a
// [cache.ErrUnavailable].
type UnavailableError struct {
	// Store is the store's URL, fit to be shown, and Doing what was to be done.
	Store, Doing string
	Err          error
}

// Error says what was being done, with which store, and what went wrong.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("store %s is not available: %s: %v", e.Store, e.Doing, redactError(e.Err))
}

// Unwrap is the last attempt's error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is makes the error a cache.ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == cache.ErrUnavailable }

// sourceError is a failure to read what was to be uploaded: the store has no part in it.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// passes reports whether trying again may help.
func passes(err error) bool {
	var source *sourceError
	var damage *cache.CorruptError
	return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, ErrPermanent) &&
		!errors.As(err, &source) && !errors.As(err, &damage)
}

// try makes a request until it is answered. fs.ErrNotExist and fs.ErrExist are answers.
func (s *Store) try(ctx context.Context, doing string, once func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := s.attempt(ctx, once)
		if err == nil {
			return nil
		}
		if err := s.again(ctx, doing, attempt, err); err != nil {
			return err
		}
	}
}

// attempt is one request, which ends when it stands still.
func (s *Store) attempt(ctx context.Context, once func(ctx context.Context) error) error {
	ctx, watch := s.watched(ctx)
	defer watch.stop()
	return stalled(ctx, once(ctx))
}

// again waits for the next attempt after one that failed, or says why there is none.
func (s *Store) again(ctx context.Context, doing string, attempt int, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case !passes(err):
		return s.explain(doing, err)
	case attempt >= s.opts.Attempts:
		return &UnavailableError{Store: s.name, Doing: doing, Err: err}
	}
	t := time.NewTimer(s.opts.Pause(attempt))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
}

// explain says which store refused.
func (s *Store) explain(doing string, err error) error {
	if errors.Is(err, ErrPermanent) {
		return fmt.Errorf("store %s: %s: %w", s.name, doing, redactError(err))
	}
	return fmt.Errorf("%s: %w", doing, redactError(err))
}

// pause is the default wait after an attempt, spread so that many machines do not ask in step.
func pause(attempt int) time.Duration {
	base := min(firstPause<<min(attempt-1, 10), longestPause)
	return base/2 + rand.N(base)
}

var errStalled = errors.New("the connection stood still")

// stalled says that a request was ended by its watch, which its error calls a cancel.
func stalled(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errStalled) || errors.Is(err, errStalled) {
		return err
	}
	return fmt.Errorf("%w: %w", errStalled, err)
}

// watch ends a context when nothing has moved for a while.
type watch struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

func (s *Store) watched(ctx context.Context) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{after: s.opts.Stall, cancel: cancel}
	if ctx.Value(openingKey{}) != nil {
		w.after = min(w.after, openStall)
	}
	w.timer = time.AfterFunc(w.after, func() { cancel(errStalled) })
	return context.WithValue(ctx, watchKey{}, w), w
}

type watchKey struct{}

// openingKey marks the context of a store's opening.
type openingKey struct{}

// moved tells the watch of a context that something did.
func moved(ctx context.Context) {
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		w.timer.Reset(w.after)
	}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
