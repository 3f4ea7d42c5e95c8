package source

import (
	"context"
	"time"

	"raglab/internal/web"
)

// WikipediaWaits has a source of the kind wikipedia note its waits instead of
// waiting, and stall after the given time.
func WikipediaWaits(s Source, stall time.Duration) *[]time.Duration {
	waits := &[]time.Duration{}
	w := s.(*wikipedia)
	w.api.client = web.New(web.Config{
		Tries: 4, StallAfter: stall, UserAgent: web.Agent("1.2.3", w.Contact),
		Sleep: func(ctx context.Context, d time.Duration) error {
			*waits = append(*waits, d)
			return context.Cause(ctx)
		},
	})
	return waits
}
