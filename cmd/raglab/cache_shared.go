package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
	"raglab/cache/shared"
	"raglab/engine/workspace"
)

// sharedMaxAge is how long a shared store keeps what nobody uses, unless it is told. What
// readers use is not noted.
const sharedMaxAge = 180 * 24 * time.Hour

// runShared does with the shared store what cache does with this machine's.
func (a cacheArgs) runShared(ctx context.Context, t terminal, rest []string) int {
	readOnly := rest[0] == "du" || a.dryRun
	w, err := a.workspace(t, "raglab cache "+rest[0], readOnly)
	if err != nil {
		return t.fail("cache", err)
	}
	defer closing(t, w.Close)
	s := w.Store.Shared()
	if s == nil {
		return t.fail("cache", errors.New("-shared is for a store: name it with -store or RAGLAB_STORE"))
	}
	code, err := a.doShared(ctx, t, w, s, rest)
	if err != nil {
		return t.fail("cache", err)
	}
	return code
}

func (a cacheArgs) doShared(ctx context.Context, t terminal, w *workspace.Workspace, s *shared.Store, rest []string) (int, error) {
	switch word := rest[0]; word {
	case "du":
		u, err := s.Du(ctx)
		if err != nil {
			return 0, err
		}
		return exitOK, a.show(t, s.Name(), u, append(usageLines(u), noStoreLines(u)...))
	case "gc":
		return exitOK, a.gcShared(ctx, t, s, rest[1:])
	case "verify":
		r, err := s.Verify(ctx)
		if err != nil {
			return 0, err
		}
		code := exitOK
		if len(r.Bad) > 0 {
			code = exitFailed
		}
		return code, a.show(t, s.Name(), r, verifyLines(r))
	case "pin", "unpin":
		return exitOK, a.pinShared(ctx, t, w, word, rest[1:])
	}
	return 0, fmt.Errorf("there is no %q; raglab help cache lists what there is", rest[0])
}

// noStoreLines says that there is no store at an address, which may be a slip of the pen: what
// reads finds nothing there.
func noStoreLines(u cache.Usage) []string {
	if u.Total().Count > 0 {
		return nil
	}
	return []string{"There is no store yet: the first apply with -store-mode write begins it."}
}

func (a cacheArgs) gcShared(ctx context.Context, t terminal, s *shared.Store, rest []string) error {
	if a.maxSize > 0 || len(rest) > 0 {
		return errors.New("a shared store is collected by age alone: -max-size and SPEC are for this machine's cache")
	}
	if a.maxAge < 0 {
		a.maxAge = sharedMaxAge
	}
	r, err := s.GC(ctx, shared.GCOptions{DryRun: a.dryRun, MaxAge: a.maxAge})
	if err != nil {
		return err
	}
	lines := gcLines(cache.GCReport{Before: r.Before, Removed: r.Removed}, a.dryRun)
	if n := r.Condemned.Total(); n.Count > 0 {
		lines = append(lines, fmt.Sprintf("%d objects, %s, have no use: a gc in a week or later removes those that have none still.", n.Count, sizeText(n.Bytes)))
	}
	return a.show(t, s.Name(), r, lines)
}

// pinShared keeps in the store the results that an experiment's last apply on this machine
// left.
func (a cacheArgs) pinShared(ctx context.Context, t terminal, w *workspace.Workspace, word string, rest []string) error {
	if len(rest) != 1 {
		return errors.New("name the experiment")
	}
	s := w.Store.Shared()
	if word == "unpin" {
		return s.Unpin(ctx, rest[0])
	}
	keys, err := lastKeys(w.Cache, rest[0])
	if err != nil {
		return err
	}
	if err := s.Pin(ctx, rest[0], keys); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%d results of %s are pinned in %s.\n", len(keys), rest[0], s.Name())
	away, err := notIn(ctx, s, keys)
	if away > 0 {
		fmt.Fprintf(t.out, "%d of them are not there: an apply with -store-mode write uploads those that this machine has.\n", away)
	}
	return err
}

// notIn counts the keys that a store has no result of.
func notIn(ctx context.Context, s *shared.Store, keys []cache.Key) (int, error) {
	var away atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16) // requests at a time
	for _, k := range keys {
		g.Go(func() error {
			_, err := s.Get(ctx, k)
			if errors.Is(err, cache.ErrNotFound) {
				away.Add(1)
				return nil
			}
			return err
		})
	}
	err := g.Wait()
	return int(away.Load()), err
}
