package river

import (
	"context"

	"raglab/cache"
	"raglab/engine/fleet"
)

// SpreadMost sets how many nodes that need another one transaction looks at, and what
// says whether the process may go on with the next; nil is that it may.
func (o *Options) SpreadMost(n int, may func() bool) { o.spreadMost, o.spreadMay = n, may }

// Spread has the process go on spreading.
func (q *Queue) Spread() { q.spreads.signal() }

// InsertByRiver inserts the job of a node as River does.
func (q *Queue) InsertByRiver(ctx context.Context, key cache.Key, class fleet.Class, priority int) error {
	return q.once(ctx, q.pool, false, func(t *tx) error {
		return t.insert(ctx, []opening{{key: key, class: class, priority: priority}})
	})
}
