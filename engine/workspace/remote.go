package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/engine"
	"raglab/engine/fleet"
)

// StoreOptions name the store that a workspace shares with other machines.
type StoreOptions struct {
	// URL of the store; empty takes RAGLAB_STORE, and without that there is none.
	URL string
	// Mode is "read" or "write"; empty takes RAGLAB_STORE_MODE, and without that is
	// "read". A workspace that is read only reads.
	Mode string
	// Strict makes a store that cannot be reached the failure of whoever needs it,
	// see [shared.TieredOptions].
	Strict bool
}

// openStore puts the store that is named behind the cache. The store is asked for
// nothing yet.
func (w *Workspace) openStore(o StoreOptions) error {
	url, mode := cmp.Or(o.URL, os.Getenv("RAGLAB_STORE")), cmp.Or(o.Mode, os.Getenv("RAGLAB_STORE_MODE"))
	m, err := shared.ParseMode(mode)
	if err != nil {
		return fmt.Errorf("open store: %w: see -store-mode or RAGLAB_STORE_MODE", err)
	}
	if w.ReadOnly {
		m = shared.Read
	}
	var store *shared.Store
	if url != "" {
		// The connections outlive what opens them.
		store, err = shared.Open(context.Background(), storeDrivers(), url, shared.Options{
			Mode: m, OnCorrupt: func(e *cache.CorruptError) { w.Warn(e.Error()) },
		})
		if err != nil {
			return err
		}
	}
	w.Store = shared.NewTiered(w.Cache, store, shared.TieredOptions{Strict: o.Strict, Warn: w.Warn})
	return nil
}

// closeStore ends what the workspace does with the store. That a store which is out of
// reach was not told so is no failure: it finds out by itself.
func (w *Workspace) closeStore() error {
	if w.Store.Shared() == nil {
		return nil
	}
	err := w.Store.Shared().Close()
	if errors.Is(err, cache.ErrUnavailable) {
		w.Log.Debug("close store", "error", err)
		return nil
	}
	return err
}

// pusher uploads to the store; nil when there is none.
func (w *Workspace) pusher() fleet.Pusher {
	if w.Store.Shared() == nil {
		return nil
	}
	return w.Store
}

// fetcher fetches from the store; nil when there is none.
func (w *Workspace) fetcher() fleet.Fetcher {
	if w.Store.Shared() == nil {
		return nil
	}
	return w.Store
}

// toFetch are the inputs, known by now, of stages that a plan will run here, which only
// the store has: what an apply fetches before anything else is known.
func (s *Session) toFetch(ctx context.Context, plan *engine.Plan) []cache.Blob {
	if s.Store.Shared() == nil {
		return nil
	}
	var far []cache.Blob
	seen := map[cache.Digest]bool{}
	for i := range plan.Stages {
		ps := &plan.Stages[i]
		if ps.Outcome != engine.WillRun && ps.Outcome != engine.Maybe {
			continue
		}
		for _, in := range ps.Stage.Inputs {
			from := &plan.Stages[in.From.Index()]
			if from.Outcome != engine.Cached {
				continue // made here, or in memory
			}
			for _, b := range from.Outputs {
				if b.Name != in.Output || seen[b.Digest] {
					continue
				}
				seen[b.Digest] = true
				if _, err := s.Cache.Stat(ctx, b.Digest); errors.Is(err, cache.ErrNotFound) {
					far = append(far, b)
				}
			}
		}
	}
	return far
}

// prefetch begins to bring what a plan's stages will read and only the store has, while
// others run. The function it returns ends that and waits. What could not be brought is
// brought, or missed, by who reads it.
func (s *Session) prefetch(ctx context.Context, plan *engine.Plan) (end func()) {
	far := s.toFetch(ctx, plan)
	if len(far) == 0 {
		return func() {}
	}
	digests := make([]cache.Digest, len(far))
	for i, b := range far {
		digests[i] = b.Digest
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := s.Store.Fetch(ctx, digests...); err != nil && ctx.Err() == nil {
			s.Log.Debug("prefetch", "error", err)
		}
	}()
	return func() {
		cancel(errApplied)
		<-over
	}
}

var errApplied = errors.New("the apply is over")

// share uploads the results of an apply that the store does not have: those that were in
// the cache before it. What was made just now is there already.
func (s *Session) share(ctx context.Context, out *engine.Outcomes) {
	store := s.Store.Shared()
	if store == nil || store.Mode() != shared.Write || ctx.Err() != nil {
		return
	}
	var keys []cache.Key
	seen := map[cache.Key]bool{}
	for i, state := range out.State {
		if k := out.Keys[i]; state == engine.StateDone && !k.IsZero() && !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	n, err := s.Store.PushCount(ctx, keys...)
	if n > 0 && s.Progress != nil {
		s.Progress(fmt.Sprintf("%d results uploaded to %s", n, store.Name()))
	}
	if err != nil && ctx.Err() == nil {
		s.Warn(fmt.Sprintf("not all results are in the store; the next apply uploads them: %v", err))
	}
}

// storeNote says what an apply of a plan would fetch first; empty when nothing.
func (s *Session) storeNote(ctx context.Context, plan *engine.Plan) string {
	far := s.toFetch(ctx, plan)
	if len(far) == 0 {
		return ""
	}
	var bytes int64
	for _, b := range far {
		bytes += b.Size
	}
	return fmt.Sprintf("An apply would fetch %d artifacts, %s, from %s.", len(far), byteText(bytes), s.Store.Shared().Name())
}

// byteText is a number of bytes for people.
func byteText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit && i < len("kMGT")-1; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGT"[i])
}
