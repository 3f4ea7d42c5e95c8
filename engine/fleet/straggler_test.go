package fleet

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackups_Pick(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	usual := func(kind string) (time.Duration, int) {
		return map[string]time.Duration{"embed": 20 * time.Second, "chunk": time.Second}[kind], map[string]int{"embed": 5, "chunk": 50, "rare": 4}[kind]
	}
	running := func(kind string, seconds int, change func(*Running)) Running {
		r := Running{Node: &Node{Kind: kind}, Since: now.Add(-time.Duration(seconds) * time.Second)}
		if change != nil {
			change(&r)
		}
		return r
	}
	for _, c := range []struct {
		name    string
		policy  Backups
		running []Running
		want    int // -1: none
	}{
		{"nothing runs", Backups{}, nil, -1},
		{"within twice the usual", Backups{}, []Running{running("embed", 39, nil)}, -1},
		{"twice the usual", Backups{}, []Running{running("embed", 41, nil)}, 0},
		{"off", Backups{Off: true}, []Running{running("embed", 400, nil)}, -1},
		{"too short to matter", Backups{}, []Running{running("chunk", 9, nil)}, -1},
		{"a kind that little is known of", Backups{}, []Running{running("rare", 4000, nil)}, -1},
		{"a kind that nothing is known of", Backups{}, []Running{running("new", 4000, nil)}, -1},
		{"the longest to go", Backups{}, []Running{running("embed", 50, nil), running("embed", 90, nil), running("embed", 60, nil)}, 1},
		{"one that stands still", Backups{}, []Running{
			running("embed", 90, func(r *Running) { r.Done, r.Total = 80, 100 }),
			running("embed", 50, func(r *Running) { r.Done, r.Total = 1, 100 }),
		}, 1},
		{"nearly done", Backups{}, []Running{running("embed", 90, func(r *Running) { r.Done, r.Total = 90, 100 })}, -1},
		{"all that progress counts", Backups{}, []Running{running("embed", 90, func(r *Running) { r.Done, r.Total = 100, 100 })}, 0},
		{"single", Backups{}, []Running{running("embed", 90, func(r *Running) { r.Single = true })}, -1},
		{"backed", Backups{}, []Running{running("embed", 90, func(r *Running) { r.Backed = true })}, -1},
		{"limited", Backups{}, []Running{running("embed", 90, func(r *Running) { r.Limits = []string{"api"} })}, -1},
		{"own thresholds", Backups{Factor: 4, AtLeast: time.Second, Samples: 50}, []Running{running("embed", 500, nil), running("chunk", 3, nil), running("chunk", 5, nil)}, 2},
	} {
		got, ok := c.policy.Pick(now, c.running, usual)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, ok, c.want)
		}
	}
}

// The median is that of the latest times, in whatever order they came.
func TestWalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w Walls
		times := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 400).Draw(t, "times")
		for i, x := range times {
			w.Add("embed", time.Duration(x))
			latest := slices.Clone(times[max(0, i+1-wallsKept) : i+1])
			slices.Sort(latest)
			median, n := w.Usual("embed")
			if want := time.Duration(latest[(len(latest)-1)/2]); n != len(latest) || median != want {
				t.Fatalf("after %d times: median %v of %d, want %v of %d", i+1, median, n, want, len(latest))
			}
		}
	})
	var w Walls
	if median, n := w.Usual("embed"); median != 0 || n != 0 {
		t.Errorf("of nothing: median %v of %d", median, n)
	}
}
