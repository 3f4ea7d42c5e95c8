package fleet

import (
	"slices"
	"time"
)

// Backups is the policy of running a slow node a second time, near the end, when
// workers have nothing else to do. Whichever ends first wins, so a backup costs idle
// time only.
//
// It is that of MapReduce (Dean and Ghemawat, OSDI 2004, §3.6: backup executions of the
// remaining tasks near the end cut their sort by 44 %), with the choice of LATE (Zaharia
// et al., "Improving MapReduce Performance in Heterogeneous Environments", OSDI 2008,
// §4): of those that are slow, the one whose time to end is longest. As in Mantri
// (Ananthanarayanan et al., OSDI 2010, §5.1), a second run must be likely to end before
// the first.
//
// The zero value is the policy with its defaults.
type Backups struct {
	// Off runs nothing a second time.
	Off bool
	// Factor is how many times the usual wall time of its kind a node must have run;
	// 0 means 2.
	Factor float64
	// AtLeast is how long it must have run in any case; 0 means 10 s.
	AtLeast time.Duration
	// Samples is from how many runs of a kind on its usual wall time is known; 0 means
	// 5.
	Samples int
}

// Running is a claimed node as [Backups] sees it.
type Running struct {
	*Node
	// Since when its first claim stands.
	Since time.Time
	// Done of Total is how far it said it is; Total 0 when it said nothing.
	Done, Total int64
	// Backed says that two workers have it already.
	Backed bool
}

// Pick returns the place of the node to claim a second time, and false when there is
// none. The caller has made sure that nothing is ready for the worker. Usual gives the
// median wall time of the nodes of a kind that are done, and how many they are.
//
// It is a function of its arguments alone and takes time linear in running. A node that
// is Single, that has a backup or that counts in a limit is never picked: a second run
// would take a place that the limit keeps for others.
func (b Backups) Pick(now time.Time, running []Running, usual func(kind string) (time.Duration, int)) (int, bool) {
	best, longest := -1, time.Duration(0)
	for i, r := range running {
		if b.Off || r.Single || r.Backed || len(r.Limits) > 0 {
			continue
		}
		elapsed := now.Sub(r.Since)
		if elapsed < b.atLeast() {
			continue
		}
		median, n := usual(r.Kind)
		if n < b.samples() || float64(elapsed) < b.factor()*float64(median) {
			continue
		}
		if left := r.left(elapsed); left > max(median, longest) {
			best, longest = i, left
		}
	}
	return best, best >= 0
}

// left estimates the time to end. By progress it is LATE's: what is left at the rate so
// far. Without, and where all is said to be done that progress counts and the node runs
// all the same, it is as long again as the node has run: the mean residual life of a
// Pareto time with exponent 2, whose tail those of slow tasks are like.
func (r Running) left(elapsed time.Duration) time.Duration {
	if r.Total <= 0 || r.Done <= 0 || r.Done >= r.Total {
		return elapsed
	}
	return time.Duration(float64(elapsed) * float64(r.Total-r.Done) / float64(r.Done))
}

func (b Backups) factor() float64 {
	if b.Factor == 0 {
		return 2
	}
	return b.Factor
}

func (b Backups) atLeast() time.Duration {
	if b.AtLeast == 0 {
		return 10 * time.Second
	}
	return b.AtLeast
}

func (b Backups) samples() int {
	if b.Samples == 0 {
		return 5
	}
	return b.Samples
}

// Walls remembers the latest wall times of each kind, for [Backups.Pick]. The zero
// value is ready; not safe for concurrent use.
type Walls struct {
	kinds map[string]*walls
}

// wallsKept is of how many runs of a kind the median is taken.
const wallsKept = 127

// walls are the latest times of a kind, once as they came and once in order.
type walls struct {
	recent  []time.Duration // a ring
	ordered []time.Duration
	next    int
}

// Add notes the wall time of a node that is done.
func (w *Walls) Add(kind string, wall time.Duration) {
	if w.kinds == nil {
		w.kinds = map[string]*walls{}
	}
	k, ok := w.kinds[kind]
	if !ok {
		k = &walls{}
		w.kinds[kind] = k
	}
	if len(k.recent) < wallsKept {
		k.recent = append(k.recent, wall)
	} else {
		old, _ := slices.BinarySearch(k.ordered, k.recent[k.next])
		k.ordered = slices.Delete(k.ordered, old, old+1)
		k.recent[k.next] = wall
		k.next = (k.next + 1) % wallsKept
	}
	at, _ := slices.BinarySearch(k.ordered, wall)
	k.ordered = slices.Insert(k.ordered, at, wall)
}

// Usual is the median of a kind's latest wall times, by nearest rank, and how many they
// are.
func (w *Walls) Usual(kind string) (median time.Duration, n int) {
	k, ok := w.kinds[kind]
	if !ok {
		return 0, 0
	}
	n = len(k.ordered)
	return k.ordered[(n-1)/2], n
}
