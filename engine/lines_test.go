package engine

import (
	"testing"

	"pgregory.net/rapid"
)

func jobOf(r Resources) *job { return &job{cost: r} }

func TestLines_firstInFirstOut(t *testing.T) {
	t.Parallel()
	var l lines
	jobs := []*job{jobOf(Resources{CPU: 1}), jobOf(Resources{CPU: 2}), jobOf(Resources{CPU: 1})}
	for _, j := range jobs {
		l.add(j)
	}
	for i, want := range jobs {
		if got := l.take(Resources{CPU: 2}); got != want {
			t.Fatalf("job %d is another", i)
		}
	}
	if !l.empty() || l.take(Resources{CPU: 2}) != nil {
		t.Error("something is left")
	}
}

// A job that wants all threads is not overtaken by small ones, of its line or
// of another that wants threads too, but downloads pass it.
func TestLines_noStarvation(t *testing.T) {
	t.Parallel()
	var l lines
	whole, small := jobOf(Resources{CPU: 4}), jobOf(Resources{CPU: 1})
	device, download := jobOf(Resources{CPU: 1, Accelerator: 1}), jobOf(Resources{Network: 1})
	for _, j := range []*job{whole, small, device, download} {
		l.add(j)
	}
	free := Resources{CPU: 3, Network: 1, Accelerator: 1}
	if got := l.take(free); got != download {
		t.Fatalf("taken %+v, want the download", got)
	}
	if got := l.take(free); got != nil {
		t.Fatalf("taken %+v before the one that wants all threads", got.cost)
	}
	free.CPU = 4
	if got := l.take(free); got != whole {
		t.Fatalf("taken %+v, want the one that wants all threads", got)
	}
}

// What came before in another line goes first.
func TestLines_order(t *testing.T) {
	t.Parallel()
	var l lines
	device, small := jobOf(Resources{CPU: 1, Accelerator: 1}), jobOf(Resources{CPU: 1})
	l.add(device)
	l.add(small)
	if got := l.take(Resources{CPU: 1, Accelerator: 1}); got != device {
		t.Errorf("taken %+v first", got.cost)
	}
}

// Whatever jobs come and end in whatever order, all are taken, none beyond what
// is free.
func TestLines_drain(t *testing.T) {
	t.Parallel()
	capacity := Resources{CPU: 4, Memory: 100, Network: 2, Accelerator: 1}
	cost := rapid.Custom(func(t *rapid.T) Resources {
		return Resources{
			CPU: rapid.IntRange(0, 6).Draw(t, "cpu"), Memory: rapid.Int64Range(0, 150).Draw(t, "memory"),
			Network: rapid.IntRange(0, 3).Draw(t, "network"), Accelerator: rapid.IntRange(0, 2).Draw(t, "accelerator"),
		}.atLeastOne().atMost(capacity)
	})
	rapid.Check(t, func(t *rapid.T) {
		var l lines
		costs := rapid.SliceOfN(cost, 1, 30).Draw(t, "costs")
		free := capacity
		var running []*job
		taken, added := 0, 0
		for taken < len(costs) {
			if added < len(costs) && rapid.Bool().Draw(t, "add") {
				l.add(jobOf(costs[added]))
				added++
			}
			j := l.take(free)
			switch {
			case j != nil:
				taken++
				running = append(running, j)
				if free = free.minus(j.cost); !(Resources{}).fits(free) {
					t.Fatalf("%+v is free", free)
				}
			case len(running) > 0:
				at := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
				free = free.plus(running[at].cost)
				running = append(running[:at], running[at+1:]...)
			case !l.empty():
				t.Fatal("nothing runs, something waits, and nothing is taken")
			case added < len(costs):
				l.add(jobOf(costs[added]))
				added++
			}
		}
	})
}

func TestResources_atLeastOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want Resources }{
		{Resources{}, Resources{CPU: 1}},
		{Resources{Memory: 7}, Resources{CPU: 1, Memory: 7}},
		{Resources{Network: 1}, Resources{Network: 1}},
		{Resources{Accelerator: 1}, Resources{Accelerator: 1}},
		{Resources{CPU: 3}, Resources{CPU: 3}},
	} {
		if got := tt.in.atLeastOne(); got != tt.want {
			t.Errorf("%+v counts as %+v, want %+v", tt.in, got, tt.want)
		}
	}
}
