package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"raglab/cache"
)

// shelf is a residence: what stages put on it by key, and what is wrong with it.
type shelf struct {
	mu    sync.Mutex
	holds map[cache.Key]string
	asked []int // how many keys each question named; -1 is all
	// err is what it answers, when set.
	err func(keys []cache.Key) error
	// leaky forgets at once.
	leaky bool
	puts  int
	// removed counts removals; stuck, when set, is what the nth fails with.
	removed int
	stuck   func(nth int) error
}

func newShelf() *shelf { return &shelf{holds: map[cache.Key]string{}} }

func (s *shelf) Whole(_ context.Context, keys []cache.Key) (map[cache.Key]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(keys)
	if keys == nil {
		n = -1
	}
	s.asked = append(s.asked, n)
	if s.err != nil {
		if err := s.err(keys); err != nil {
			return nil, err
		}
	}
	return maps.Clone(s.holds), nil
}

func (s *shelf) Remove(_ context.Context, k cache.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed++
	if s.stuck != nil {
		if err := s.stuck(s.removed); err != nil {
			return err
		}
	}
	delete(s.holds, k)
	return nil
}

// put puts something on the shelf as the nth.
func (s *shelf) put(k cache.Key) (n int, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong, there := s.holds[k]
	s.puts++
	if !s.leaky {
		s.holds[k] = ""
	}
	return s.puts, there && wrong == ""
}

func (s *shelf) has(k cache.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong, there := s.holds[k]
	return there && wrong == ""
}

// spoil says of all that is held what is wrong with it; empty takes it away.
func (s *shelf) spoil(wrong string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.holds {
		s.holds[k] = wrong
	}
	if wrong == "" {
		clear(s.holds)
	}
}

// questions removes and returns what was asked.
func (s *shelf) questions() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// answer sets what it answers.
func (s *shelf) answer(err func(keys []cache.Key) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func always(err error) func([]cache.Key) error { return func([]cache.Key) error { return err } }

var tableKind = &Kind{Name: "index", Version: "1", Outputs: []string{"out"}, Pure: true, Run: runStep}

var errGone = errors.New("no such table")

// onShelf puts a resident stage into the graph. It measures which of all that were
// put on the shelf it was.
func (l *lab) onShelf(s *shelf, address, text string, from ...*Stage) *Stage {
	stage := newStage(tableKind, address, text, nil, from...)
	stage.Work.(*step).do = func(ctx context.Context, t *Task) error {
		n, found := s.put(t.Key)
		if found {
			t.Found()
		}
		t.Measure("put", n)
		return join(text)(ctx, t)
	}
	stage.Residence = s
	return l.graph.Add(stage)
}

// searching puts a stage into the graph that needs what an index of the source
// "s" left on the shelf.
func (l *lab) searching(s *shelf, address, text string, index *Stage) *Stage {
	key, _ := contentKey(nil, index, index.Fields, []cache.Blob{{Digest: cache.DigestOf([]byte("s"))}})
	return l.addStep(pureKind, address, text, func(ctx context.Context, t *Task) error {
		if !s.has(key) {
			return fmt.Errorf("search: %w", t.Lost("in0", errGone))
		}
		return join(text)(ctx, t)
	}, index)
}

// library is a source, two indexes of it on one shelf, and what reads them.
func library(l *lab, s *shelf, search string) (indexes, readers []*Stage) {
	source := l.add(pureKind, "make[source]", "s")
	for _, name := range []string{"a", "b"} {
		index := l.onShelf(s, "index["+name+"]", name, source)
		found := l.searching(s, "search["+name+"]", search, index)
		indexes = append(indexes, index)
		readers = append(readers, found, l.add(pureKind, "score["+name+"]", "score", found))
	}
	return indexes, readers
}

func (l *lab) measured(out *Outcomes, s *Stage) string {
	l.Helper()
	r, err := l.store.Get(l.Context(), out.Keys[s.Index()])
	if err != nil {
		l.Fatal(err)
	}
	return string(r.Measurements)
}

func TestPlan_tables(t *testing.T) {
	t.Parallel()
	whole := "cached  make[source]\ncached  index[a]\ncached  search[a]\ncached  score[a]\ncached  index[b]\ncached  search[b]\ncached  score[b]\n"
	run := func(why string) string {
		var b strings.Builder
		b.WriteString("cached  make[source]\n")
		for _, n := range []string{"a", "b"} {
			fmt.Fprintf(&b, "run     index[%s]  [output_missing] result missing: %s\nmaybe   search[%s]  [derived] follows index[%s]\nmaybe   score[%s]  [derived] follows search[%s]\n", n, why, n, n, n, n)
		}
		return b.String()
	}
	for _, tc := range []struct {
		name  string
		after func(s *shelf)
		want  string
		notes []string
	}{
		{"there", func(*shelf) {}, whole, nil},
		{"emptied", func(s *shelf) { s.spoil("") }, run("the table is gone"), nil},
		{"truncated", func(s *shelf) { s.spoil("the table holds 0 of 96 rows") }, run("the table holds 0 of 96 rows"), nil},
		{
			"server stopped", func(s *shelf) { s.err = always(fmt.Errorf("%w: the server is stopped", ErrNotAsked)) }, whole,
			[]string{"Tables were not looked at, and are believed to be there: not asked: the server is stopped."},
		},
		{
			"no network", func(s *shelf) { s.err = always(errors.New("dial: refused")) }, whole,
			[]string{"Tables could not be looked at, and are believed to be there: dial: refused."},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, s := newLab(t), newShelf()
			library(l, s, "q")
			l.done()
			s.questions()
			tc.after(s)
			p := l.plan()
			if got := say(p); got != tc.want {
				t.Errorf("planned\n%swant\n%s", got, tc.want)
			}
			if !slices.Equal(p.Notes, tc.notes) {
				t.Errorf("notes %q, want %q", p.Notes, tc.notes)
			}
			if got := s.questions(); !slices.Equal(got, []int{-1}) {
				t.Errorf("asked for %v, want once, for all", got)
			}
		})
	}
}

// A plan of stages that leave nothing outside the cache asks nobody, and one that
// has no record asks nobody either.
func TestPlan_asksOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	library(l, s, "q")
	if p := l.plan(); p.Count(WillRun) != 7 || len(s.questions()) != 0 {
		t.Errorf("a first plan asked:\n%s", say(p))
	}
}

// Behind an input that is made again, too, a table that is gone is the reason.
func TestPlan_tableGoneBehindARerun(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	build := func(text string) {
		l.onShelf(s, "index[a]", "a", l.add(pureKind, "make[source]", text))
	}
	build("s")
	l.done()
	s.spoil("")
	l.next()
	build("t")
	want := "run     make[source]  [params] parameter text: s → t\nrun     index[a]  [output_missing] result missing: the table is gone\n"
	if got := say(l.plan()); got != want {
		t.Errorf("planned\n%swant\n%s", got, want)
	}
}

// An emptied store has its indexes made again, and nothing else: what reads them
// finds its results.
func TestApply_emptiedStore(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	indexes, readers := library(l, s, "q")
	l.done()
	s.spoil("")
	out := l.done()
	for _, index := range indexes {
		if runs(index) != 2 || !s.has(out.Keys[index.Index()]) {
			t.Errorf("%s ran %d times, want 2", index.Address, runs(index))
		}
		if got := l.measured(out, index); got != `{"put":3}` && got != `{"put":4}` {
			t.Errorf("%s has the measurements %s of a table that is gone", index.Address, got)
		}
	}
	for _, r := range readers {
		if runs(r) != 1 {
			t.Errorf("%s ran %d times, want 1", r.Address, runs(r))
		}
	}
	if out.Executed != 2 || out.Hits != 4 || out.Cached != 1 {
		t.Errorf("executed %d, hits %d, cached %d; want 2, 4 and 1", out.Executed, out.Hits, out.Cached)
	}
	if p := l.plan(); p.Changes() {
		t.Errorf("something is left:\n%s", say(p))
	}
}

// An apply with nothing to do needs no store.
func TestApply_nothingToDoAsksNobody(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	library(l, s, "q")
	l.done()
	s.answer(always(ErrNotAsked))
	p := l.plan()
	s.questions()
	if out := l.applyPlan(t.Context(), p); out.Cached != 7 || len(s.questions()) != 0 {
		t.Errorf("%d cached; asked although nothing was to do", out.Cached)
	}
}

// A table that is lost between the plan and the search is made again.
func TestApply_tableLostBeforeItIsSearched(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func([]cache.Key) error{
		"told by the store":   nil,
		"not told by anybody": always(ErrNotAsked),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := newLab(t), newShelf()
			library(l, s, "q")
			l.done()
			l.next()
			indexes, readers := library(l, s, "another question")
			p := l.plan()
			if got := p.Count(Cached); got != 3 {
				t.Fatalf("%d cached, want the source and both indexes", got)
			}
			s.spoil("")
			s.answer(answer)
			l.took()
			out := l.applyPlan(t.Context(), p)
			l.wantDone(out)
			for _, index := range indexes {
				if runs(index) != 1 {
					t.Errorf("%s ran %d times, want 1", index.Address, runs(index))
				}
			}
			if out.Executed != 6 || runs(readers[0]) != 2 || runs(readers[1]) != 1 {
				t.Errorf("executed %d; search ran %d times, score %d", out.Executed, runs(readers[0]), runs(readers[1]))
			}
			events := l.took()
			for _, e := range events {
				if e.Stage == indexes[0] && e.Type == EventComplete && (e.Reason.Kind != ReasonOutputMissing || e.Reason.Field != "table") {
					t.Errorf("the index ran again for the reason %+v", e.Reason)
				}
			}
			if said := tell(events); !strings.Contains(said, "warning search[a] input in0 (index[a]) is lost and will be made again: ") {
				t.Errorf("the loss was not told:\n%s", said)
			}
			s.answer(nil)
			if p := l.plan(); p.Changes() {
				t.Errorf("something is left:\n%s", say(p))
			}
		})
	}
}

// A store that loses all that is written is given up.
func TestApply_storeThatKeepsNothing(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	s.leaky = true
	index := l.onShelf(s, "index[a]", "a", l.add(pureKind, "make[source]", "s"))
	l.searching(s, "search[a]", "q", index)
	out := l.apply()
	if err := out.Err(); err == nil || !strings.Contains(err.Error(), "lost 4 times in one apply") {
		t.Errorf("error %v", err)
	}
	if n := runs(index); n != 1+remakeLimit {
		t.Errorf("made %d times, want %d", n, 1+remakeLimit)
	}
}

// cachedBehindARerun is a plan in which an index whose record is there may be
// cached: its input is made again.
func cachedBehindARerun(l *lab, s *shelf) (*Plan, *Stage) {
	build := func(text string) *Stage {
		source := l.addStep(pureKind, "make[source]", text, join("s"))
		return l.onShelf(s, "index[a]", "a", source)
	}
	build("1")
	l.done()
	l.next()
	index := build("2")
	p := l.plan()
	s.questions()
	return p, index
}

// A record is believed only when the store was asked for it.
func TestApply_looksBeforeItBelieves(t *testing.T) {
	t.Parallel()
	broken := errors.New("the server went away")
	once := func(err error) func([]cache.Key) error {
		first := true
		return func([]cache.Key) error {
			if !first {
				return nil
			}
			first = false
			return err
		}
	}
	for _, tc := range []struct {
		name   string
		answer func([]cache.Key) error
		gone   bool
		state  StageState
		runs   int
		put    string // the one that was measured
	}{
		{"there", nil, false, StateDone, 0, `{"put":1}`},
		{"gone", nil, true, StateDone, 1, `{"put":2}`},
		{"nobody can tell", always(ErrNotAsked), false, StateDone, 1, `{"put":1}`},
		{"it cannot be reached", always(broken), false, StateFailed, 0, `{"put":1}`},
		{"it cannot be reached just now", once(Transient(broken)), false, StateDone, 0, `{"put":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, s := newLab(t), newShelf()
			p, index := cachedBehindARerun(l, s)
			if p.Stages[index.Index()].Outcome != Maybe {
				t.Fatalf("planned\n%s", say(p))
			}
			if tc.gone {
				s.spoil("")
			}
			s.answer(tc.answer)
			out := l.applyPlan(t.Context(), p)
			if got := out.State[index.Index()]; got != tc.state || runs(index) != tc.runs {
				t.Fatalf("%s after %d runs, want %s after %d; %v", got, runs(index), tc.state, tc.runs, out.Err())
			}
			if tc.state == StateFailed {
				if err := out.Err(); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "look for the table: ") {
					t.Errorf("error %v", err)
				}
				return
			}
			if got := l.measured(out, index); got != tc.put {
				t.Errorf("measurements %s", got)
			}
			if tc.runs == 0 && out.Hits != 1 {
				t.Errorf("%d hits, want the index", out.Hits)
			}
		})
	}
}

// One that cannot run here is found all the same.
func TestApply_blockedTableIsFound(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		l, s := newLab(t), newShelf()
		p, index := cachedBehindARerun(l, s)
		index.Blocked = "no model"
		if gone {
			s.spoil("")
		}
		out := l.applyPlan(t.Context(), p)
		err := out.Err()
		if !gone && (err != nil || out.Hits != 1) || gone && (err == nil || err.Error() != "no model") {
			t.Errorf("gone %v: %v, %d hits", gone, err, out.Hits)
		}
	}
}

// Making a table again would touch what others search.
func TestApply_verifyLeavesTablesAlone(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	indexes, _ := library(l, s, "q")
	l.done()
	l.ex.Verify = 1
	l.took()
	out := l.done()
	if got := verified(l); len(got) != 5 || got["index[a]"] != "" || got["search[a]"] != "same" {
		t.Errorf("verified %v", got)
	}
	if out.Verified != 5 || runs(indexes[0]) != 1 {
		t.Errorf("%d verified; the index ran %d times", out.Verified, runs(indexes[0]))
	}
}

// Lost is for what has a residence: of anything else it says nothing.
func TestTask_Lost(t *testing.T) {
	t.Parallel()
	l, s := newLab(t), newShelf()
	source := l.add(pureKind, "make[source]", "s")
	index := l.onShelf(s, "index[a]", "a", source)
	l.addStep(pureKind, "make[b]", "b", func(_ context.Context, t *Task) error {
		for _, name := range []string{"in0", "in2"} {
			if err := t.Lost(name, errGone); err != errGone {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		var lost *LostInputError
		if err := t.Lost("in1", errGone); !errors.As(err, &lost) || lost.From != index || lost.Output != "out" || !errors.Is(err, errGone) {
			return fmt.Errorf("in1 is lost as %#v", err)
		}
		return t.Write("out", nil)
	}, source, index)
	l.done()
}
