package river

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"raglab/engine/fleet"
)

// abandon remembers a claim that was given up while it may have stood, as when the
// server could not be reached. Nobody else ends it: this process is alive.
func (q *Queue) abandon(c *fleet.Claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned[c.Token] = c
}

// giveUp returns what was abandoned, once the session stands.
func (q *Queue) giveUp(ctx context.Context) {
	ctx, cancel := answered(ctx)
	defer cancel()
	for _, c := range q.given() {
		if !q.session.standing() {
			return
		}
		if err := q.Return(ctx, c, "", 0); err != nil && !errors.Is(err, fleet.ErrClaimLost) {
			return // the next time
		}
		q.mu.Lock()
		delete(q.abandoned, c.Token)
		q.mu.Unlock()
	}
}

func (q *Queue) given() []*fleet.Claim {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Collect(maps.Values(q.abandoned))
}

// noteRenewed notes that a claim stood just now.
func (q *Queue) noteRenewed(token int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.held[token]; h != nil {
		h.renewed = time.Now()
	}
}

// loseSilent loses the claims that could not be renewed for so long that others have
// them by now, whether or not the server can be asked.
func (q *Queue) loseSilent() {
	for _, token := range q.silent() {
		q.lose(token)
	}
}

func (q *Queue) silent() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []int64
	for token, h := range q.held {
		if time.Since(h.renewed) > q.o.Silence {
			list = append(list, token)
		}
	}
	return list
}
