package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/cache"
)

var benchSizes = []int{1_000, 10_000, 100_000}

// emptyStore is a cache without a record.
type emptyStore struct {
	cache.Store
	gets, stats atomic.Int64
}

func (s *emptyStore) Get(context.Context, cache.Key) (*cache.Record, error) {
	s.gets.Add(1)
	return nil, cache.ErrNotFound
}

func (s *emptyStore) Stat(context.Context, cache.Digest) (int64, error) {
	s.stats.Add(1)
	return 0, cache.ErrNotFound
}

// BenchmarkGraph builds graphs.
func BenchmarkGraph(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				crossGraph(NewGraph(), n)
			}
		})
	}
}

// BenchmarkPlan plans graphs whose stages are all cached.
func BenchmarkPlan(b *testing.B) {
	benchmarkCached(b, func(b *testing.B, l *lab) {
		for b.Loop() {
			p, err := l.planner().Plan(b.Context(), l.graph, nil)
			if err != nil || p.Changes() {
				b.Fatalf("changes, %v", err)
			}
		}
	})
}

// BenchmarkNoop plans and applies graphs of which nothing is to be done.
func BenchmarkNoop(b *testing.B) {
	benchmarkCached(b, func(b *testing.B, l *lab) {
		for b.Loop() {
			out := l.apply()
			if out.Cached != len(l.graph.Stages) {
				b.Fatalf("%d of %d stages were cached", out.Cached, len(l.graph.Stages))
			}
		}
	})
}

// BenchmarkPlanChanged plans graphs in which one parameter of every stage
// changed.
func BenchmarkPlanChanged(b *testing.B) {
	benchmarkPlanOf(b, "", "another value")
}

// BenchmarkPlanRenamed plans graphs in which moreover all addresses changed.
func BenchmarkPlanRenamed(b *testing.B) {
	benchmarkPlanOf(b, "new ", "another value")
}

func benchmarkPlanOf(b *testing.B, name, value string) {
	benchmarkCached(b, func(b *testing.B, l *lab) {
		g := NewGraph()
		crossGraphOf(g, len(l.graph.Stages), name, value)
		for b.Loop() {
			p, err := l.planner().Plan(b.Context(), g, nil)
			if err != nil || p.Count(WillRun) != len(p.Stages) {
				b.Fatalf("%v", err)
			}
		}
	})
}

// benchmarkCached runs a benchmark over graphs whose results are all in a cache.
func benchmarkCached(b *testing.B, run func(*testing.B, *lab)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 10_000 && testing.Short() {
				b.Skip("100,000 results take a while to write")
			}
			l := newLab(b)
			l.ex.Events = func(Event) {}
			crossGraph(l.graph, n)
			fillCache(b, l)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, l)
		})
	}
}

// fillCache puts the records of all stages into the cache. Their results are
// few: what is measured does not depend on them.
func fillCache(b *testing.B, l *lab) {
	w, err := l.store.Create(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	blob, err := w.Commit()
	if err != nil {
		b.Fatal(err)
	}
	blob.Name = "out"
	r := newRunner(b.Context(), l.ex, &Plan{Graph: l.graph, Stages: make([]PlannedStage, len(l.graph.Stages))})
	for i, s := range l.graph.Stages {
		j, err := r.prepare(s)
		if err != nil {
			b.Fatal(err)
		}
		r.plan.Stages[i].Stage, r.out.Outputs[i] = s, []cache.Blob{blob}
		r.out.State[i], r.out.Keys[i] = StateDone, j.key
		j.blobs = []cache.Blob{blob}
		t := newTask(b.Context(), s, nil, j.in, l.store, l.ex.Log)
		if err := r.record(b.Context(), j, t, l.ex.Now()); err != nil {
			b.Fatal(err)
		}
	}
	l.ledger = l.ledger.Update(r.plan, r.out)
}

// BenchmarkPlanNew plans graphs that never ran.
func BenchmarkPlanNew(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := NewGraph()
			crossGraph(g, n)
			p := &Planner{Store: &emptyStore{}, Log: hclog.NewNullLogger()}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Plan(b.Context(), g, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A plan looks each stage up once, and at each output once.
func TestPlan_operations(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var from []*Stage
	for i := range 300 {
		s := l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint(i), constant, from...)
		from = append([]*Stage{s}, from[:min(len(from), 3)]...)
	}
	l.done()
	counted := &countingStore{Store: l.store}
	look := func(what string, gets, stats int64) {
		t.Helper()
		p := l.planner()
		p.Store = counted
		if _, err := p.Plan(t.Context(), l.graph, nil); err != nil {
			t.Fatal(err)
		}
		if g, s := counted.gets.Swap(0), counted.stats.Swap(0); g > gets || s > stats {
			t.Errorf("%s: 300 stages took %d looks at records and %d at outputs, want at most %d and %d", what, g, s, gets, stats)
		}
	}
	look("cached", 300, 300)
	l.ledger = Ledger{}
	look("without a ledger", 300, 300)
	// Renamed, and with another parameter: the former stages are read once.
	l.next()
	l.ledger = Ledger{}
	for i := range 200 {
		l.addStep(pureKind, fmt.Sprintf("make[%d]", i), fmt.Sprint("old", i), constant)
	}
	l.done()
	l.next()
	for i := range 300 {
		l.addStep(pureKind, fmt.Sprintf("make[new %d]", i), fmt.Sprint("new", i), constant)
	}
	look("renamed", 300+nearestLimit, 0)
}

type countingStore struct {
	cache.Store
	gets, stats atomic.Int64
}

func (s *countingStore) Get(ctx context.Context, k cache.Key) (*cache.Record, error) {
	s.gets.Add(1)
	return s.Store.Get(ctx, k)
}

func (s *countingStore) Stat(ctx context.Context, d cache.Digest) (int64, error) {
	s.stats.Add(1)
	return s.Store.Stat(ctx, d)
}
