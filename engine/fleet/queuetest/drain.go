package queuetest

import (
	"context"
	"errors"
	"sync"

	"raglab/engine/fleet"
)

// errOver is the cause with which claimers are told that a run has ended.
var errOver = errors.New("the run is over")

// drain lets claimers, spread over the workers, work until a run has ended.
func (l *lab) drain(claimers int, run fleet.RunID, work func(w int, c *fleet.Claim) error) {
	l.Helper()
	ctx, stop := context.WithCancelCause(l.soon())
	defer stop(nil)
	var all sync.WaitGroup
	for i := range claimers {
		w := i % len(l.Workers)
		all.Go(func() {
			for {
				c, err := l.Workers[w].Claim(ctx, fleet.Offer{Worker: l.Workers[w].Name, Classes: everyClass})
				if err == nil {
					err = work(w, c)
				}
				switch {
				case errors.Is(err, errOver):
					return
				case err != nil:
					l.Errorf("claimer %d: %v", i, err)
					return
				}
			}
		})
	}
	l.news(run)
	stop(errOver)
	all.Wait()
}
