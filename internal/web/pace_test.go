package web

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Requests keep their distance, by the clock of the test.
func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var slept []time.Duration
	p := NewPace(30)
	p.Now = func() time.Time { return now }
	p.Sleep = func(_ context.Context, d time.Duration) error {
		slept = append(slept, d)
		now = now.Add(d)
		return nil
	}
	for _, pause := range []time.Duration{0, 0, 500 * time.Millisecond, time.Minute, 0} {
		now = now.Add(pause)
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.Hold(time.Hour)
	p.Hold(time.Second)
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{2e9, 15e8, 2e9, 36e11}; !slices.Equal(slept, want) {
		t.Errorf("slept %v, want %v", slept, want)
	}
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := sleep(ctx, time.Hour); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}
