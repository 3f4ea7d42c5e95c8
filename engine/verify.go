package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"raglab/cache"
)

// sampled reports whether a cached result is to be made again: its key falls
// into the share that is to be verified, the same keys for the same share.
func (r *runner) sampled(ps *PlannedStage) bool {
	at := float64(binary.BigEndian.Uint32(ps.Key[:])) / (math.MaxUint32 + 1)
	return at < r.Verify && ps.Stage.Blocked == "" && ps.Stage.Residence == nil
}

// verify makes a cached result again.
func (r *runner) verify(s *Stage) {
	j, err := r.prepare(s)
	if err != nil {
		r.Log.Warn("verify", "stage", s.Address, "error", err)
		return
	}
	j.verify, j.old = true, r.plan.Stages[s.index].Outputs
	r.start(j, j.cost, r.execute)
}

// verified reports what verification found.
func (r *runner) verified(j *job) {
	err := j.different
	switch {
	case j.err == nil:
	case r.ctx.Err() != nil && errors.Is(j.err, context.Cause(r.ctx)):
		r.cut = true
		return
	case len(j.lost) > 0:
		if !r.stopped {
			r.rewind(j.stage, j.lost)
		}
		return
	case IsTransient(j.err) && j.attempt < r.attempts() && !r.stopped:
		r.later(j)
		return
	default:
		err = fmt.Errorf("make again: %w", j.err)
	}
	r.out.Verified++
	r.Events(Event{Type: EventVerified, Time: r.Now(), Stage: j.stage, Key: j.key, Wall: j.wall, Err: err})
	if err != nil {
		r.out.Different = append(r.out.Different, Failure{j.stage, err})
	}
}

// compare holds a result made again against the one in the cache.
func (r *execution) compare(ctx context.Context, j *job) error {
	for _, again := range j.blobs {
		old, ok := findOutput(j.old, again.Name)
		if !ok {
			return fmt.Errorf("the cached result has no output %q", again.Name)
		}
		if old.Digest == again.Digest {
			continue
		}
		if j.stage.Kind.Same == nil {
			return fmt.Errorf("output %s is %s in the cache and %s made again", again.Name, old.Digest.Short(), again.Digest.Short())
		}
		if err := r.compareTolerant(ctx, j.stage.Kind, old, again); err != nil {
			return err
		}
	}
	return nil
}

func (r *execution) compareTolerant(ctx context.Context, kind *Kind, old, again cache.Blob) error {
	a, err := r.Store.Open(ctx, old.Digest)
	if err != nil {
		return err
	}
	defer func(c io.Closer) { _ = c.Close() }(a)
	b, err := r.Store.Open(ctx, again.Digest)
	if err != nil {
		return err
	}
	defer func(c io.Closer) { _ = c.Close() }(b)
	if err := kind.Same(old.Name, a, b); err != nil {
		return fmt.Errorf("output %s: %w", old.Name, err)
	}
	return nil
}
