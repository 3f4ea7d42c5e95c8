package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"raglab/cache"
)

// lookahead asks the cache for the last results of stages before they are
// planned, several at a time: most of them are still what the plan will ask for.
type lookahead struct {
	ctx    context.Context // of the plan
	store  cache.Store
	ledger Ledger
	stages []*Stage
	wanted []bool

	// early are answers that were asked for before there was a graph.
	early *Recollection

	wg    sync.WaitGroup
	begun int // parts
	now   *answers
	next  *answers
}

// answers are those for the stages of one part of the graph.
type answers struct {
	first int
	done  chan struct{}
	found []answer
}

type answer struct {
	key    cache.Key
	asked  bool
	record *cache.Record
	miss   cache.Miss
	err    error
}

const (
	// lookaheadPart is how many stages are asked for together.
	lookaheadPart = 256
	// lookaheadWorkers bounds how many are asked for at a time.
	lookaheadWorkers = 8
)

func (l *lookahead) begin() *answers {
	first := l.begun * lookaheadPart
	l.begun++
	a := &answers{first: first, done: make(chan struct{}), found: make([]answer, max(0, min(lookaheadPart, len(l.stages)-first)))}
	var at atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), lookaheadWorkers) {
		workers.Go(func() {
			for i := int(at.Add(1)) - 1; i < len(a.found); i = int(at.Add(1)) - 1 {
				l.ask(first+i, &a.found[i])
			}
		})
	}
	l.wg.Go(func() {
		workers.Wait()
		close(a.done)
	})
	return a
}

func (l *lookahead) ask(i int, a *answer) {
	if l.wanted != nil && !l.wanted[i] {
		return
	}
	entry, ok := l.ledger[l.stages[i].Address]
	if !ok || l.ctx.Err() != nil {
		return
	}
	a.key, a.asked = entry.Key, true
	a.record, a.miss, a.err = cache.Lookup(l.ctx, l.store, a.key)
}

// lookup is [cache.Lookup] for a stage, which must not be asked for after a
// later one.
func (l *lookahead) lookup(s *Stage, k cache.Key) (*cache.Record, cache.Miss, error) {
	if a, ok := l.early.answer(k); ok {
		return a.record, a.miss, a.err
	}
	if l.early != nil {
		return cache.Lookup(l.ctx, l.store, k)
	}
	if l.begun == 0 {
		l.next = l.begin()
	}
	for l.now == nil || s.index >= l.now.first+lookaheadPart {
		l.now, l.next = l.next, l.begin()
	}
	<-l.now.done
	if a := l.now.found[s.index-l.now.first]; a.asked && a.key == k {
		return a.record, a.miss, a.err
	}
	return cache.Lookup(l.ctx, l.store, k)
}

// end waits for what is still being asked.
func (l *lookahead) end() {
	l.wg.Wait()
	l.early.Wait()
}

// Recollection is what a ledger's results are found to be, asked for before the
// graph is there that will want them: most of them are still what its plan will
// ask for.
type Recollection struct {
	place map[cache.Key]int
	found []answer
	wg    sync.WaitGroup
}

// maxRecollection bounds how many results are asked for early: they are all
// held until they are planned.
const maxRecollection = 4096

// Recall begins to ask for the results that a ledger names, and returns at once.
// It is nil for a ledger so long that its results are better asked for in parts,
// as a plan does by itself.
func Recall(ctx context.Context, store cache.Store, l Ledger) *Recollection {
	if len(l) == 0 || len(l) > maxRecollection {
		return nil
	}
	r := &Recollection{place: make(map[cache.Key]int, len(l)), found: make([]answer, 0, len(l))}
	for _, e := range l {
		if _, again := r.place[e.Key]; !again {
			r.place[e.Key] = len(r.found)
			r.found = append(r.found, answer{key: e.Key})
		}
	}
	var at atomic.Int64
	for range min(runtime.GOMAXPROCS(0), lookaheadWorkers) {
		r.wg.Go(func() {
			for i := int(at.Add(1)) - 1; i < len(r.found) && ctx.Err() == nil; i = int(at.Add(1)) - 1 {
				a := &r.found[i]
				a.record, a.miss, a.err = cache.Lookup(ctx, store, a.key)
				a.asked = true
			}
		})
	}
	return r
}

// Wait returns when nothing is asked for any more. Nil waits for nothing.
func (r *Recollection) Wait() {
	if r != nil {
		r.wg.Wait()
	}
}

// answer waits until everything is asked for, and returns what is known of a key.
func (r *Recollection) answer(k cache.Key) (answer, bool) {
	if r == nil {
		return answer{}, false
	}
	r.Wait()
	i, ok := r.place[k]
	if !ok || !r.found[i].asked {
		return answer{}, false
	}
	return r.found[i], true
}
