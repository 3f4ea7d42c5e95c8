package workspace

import (
	"context"
	"testing"
	"time"

	"raglab/engine/fleet"
)

// renewals is a queue of which only Renew answers.
type renewals struct{ fleet.Queue }

func (renewals) Renew(context.Context, *fleet.Claim) error { return nil }

// What is renewed keeps a worker from being idle; then it ends, once.
func TestIdleQueue(t *testing.T) {
	t.Parallel()
	drain := make(chan struct{})
	q := newIdleQueue(renewals{}, time.Hour, drain)
	if err := q.Renew(t.Context(), &fleet.Claim{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-q.idle:
		t.Fatal("idle at once")
	default:
	}
	close(drain)
	<-q.idle
	q.stop()

	q = newIdleQueue(renewals{}, time.Millisecond, nil)
	<-q.idle
	q.stop()
}
