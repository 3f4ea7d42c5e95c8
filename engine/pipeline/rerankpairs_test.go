package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/reranker"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
)

// countingScorer scores a pair by a hash of it, and notes what it was asked.
type countingScorer struct {
	depth int
	*asks
}

// countingService is one that bills.
type countingService struct {
	countingScorer
	price float64
}

type asks struct {
	mu     sync.Mutex
	pairs  []string
	calls  int
	warmed int
	failAt int // the call that fails, from 1; 0 is none
	bad    func(pairs []reranker.Pair) []reranker.Pair
	salt   string // another model
}

var errScorer = errors.New("the scorer broke")

func (countingScorer) UsesText() bool { return true }

func (c countingScorer) Depth() int { return c.depth }

func (c countingScorer) Score(raw float32) float64 { return float64(raw) }

func (c countingService) USD(searches float64, _ int) (float64, bool) {
	return c.price * searches, c.price > 0
}

func (c countingService) Expect(_ string, passages []string) (float64, int) {
	return float64(len(passages)) / 2, 0
}

func (c countingScorer) Warm(context.Context, string, string) error {
	c.warmed++
	return nil
}

func (c countingScorer) Rerank(context.Context, axes.Query, []axes.Hit, func(uint32) (string, error)) ([]axes.Hit, error) {
	return nil, errors.New("the pipeline makes rankings of pairs itself")
}

func (c countingScorer) ScorePairs(_ context.Context, question string, passages []string) ([]reranker.Pair, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls == c.failAt {
		return nil, errScorer
	}
	pairs := make([]reranker.Pair, len(passages))
	for i, p := range passages {
		c.pairs = append(c.pairs, question+" | "+p)
		pairs[i] = reranker.Pair{
			Raw: hashed(c.salt + question + p), Tokens: len(p), Truncated: strings.HasSuffix(p, "7"), Searches: 0.5, Took: time.Duration(i+1) * time.Millisecond,
		}
	}
	if c.bad != nil {
		pairs = c.bad(pairs)
	}
	return pairs, nil
}

// hashed is one of few numbers, so that there are ties.
func hashed(s string) float32 {
	d := cache.DigestOf([]byte(s))
	return float32(int(d[0])%40-20) / 4
}

const passagesInCorpus = 80

// rerankInputs are questions, each with a ranking of all passages.
func rerankInputs(t *testing.T, questions int) map[string][]byte {
	t.Helper()
	var queries []queryLine
	var texts []string
	for i := range passagesInCorpus {
		texts = append(texts, fmt.Sprint("passage ", i))
	}
	run := artifact.Run{}
	for q := range questions {
		id := fmt.Sprint("q", q)
		queries = append(queries, queryLine{id, fmt.Sprint("question ", q)})
		var hits []axes.Hit
		var names []string
		for i := range passagesInCorpus {
			o := uint32((i*31 + q*7) % passagesInCorpus)
			hits = append(hits, axes.Hit{Ordinal: o, Score: float64(passagesInCorpus - i)})
			names = append(names, artifact.ChunkName("d", int(o)))
		}
		run.Questions, run.Hits, run.Chunks = append(run.Questions, id), append(run.Hits, hits), append(run.Chunks, names)
	}
	var b strings.Builder
	if err := artifact.WriteRun(&b, run); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"queries": plainLines(t, queries...), "run": []byte(b.String()), "chunks-000": chunksOf(t, texts...), "order": []byte("\"d\"\n"),
	}
}

// pairMemory is the memory of scores in the lab's cache.
func (l *lab) pairMemory(machine string) *pairMemory {
	return &pairMemory{
		space: cache.DigestOf([]byte("a space")), machine: machineMark(machine, 2),
		open: func(space cache.Digest) (*cache.Memo, error) { return l.store.Memo(space) },
	}
}

func (l *lab) rerank(t *testing.T, c reranker.PairScorer, m *pairMemory, inputs map[string][]byte) artifact.Run {
	t.Helper()
	out, err := l.run(t, rerankKindVolatile, rerankWork{reranker: c, scorer: c, shards: 1, pairs: m}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	run, err := artifact.ReadRun(out["run"])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Depths 20, 30, 50 and 60 score what 60 does, in whatever order they run, no pair
// twice; and each ranking is the one that its depth alone would give.
func TestRerankPairs_depthsShareTheirScores(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 9)
	alone := map[int]artifact.Run{}
	counts := map[int][]string{}
	for _, d := range []int{20, 30, 50, 60} {
		l, a := newLab(t), &asks{}
		alone[d] = l.rerank(t, countingScorer{depth: d, asks: a}, l.pairMemory("here"), inputs)
		slices.Sort(a.pairs)
		counts[d] = a.pairs
		if len(a.pairs) != 9*d {
			t.Fatalf("depth %d alone scores %d pairs, want %d", d, len(a.pairs), 9*d)
		}
	}
	for _, depths := range [][]int{{20, 30, 50, 60}, {60, 50, 30, 20}, {30, 60, 20, 50}} {
		t.Run(fmt.Sprint(depths), func(t *testing.T) {
			t.Parallel()
			l, a := newLab(t), &asks{}
			memory, fresh := l.pairMemory("here"), 0.0
			for _, d := range depths {
				run := l.rerank(t, countingScorer{depth: d, asks: a}, memory, inputs)
				for q := range run.Questions {
					if !slices.Equal(run.Hits[q], alone[d].Hits[q]) {
						t.Errorf("depth %d: question %s is ranked %v, alone %v", d, run.Questions[q], run.Hits[q], alone[d].Hits[q])
					}
				}
				fresh += l.number(t, "new_pairs")
				if got := l.number(t, "pairs"); got != float64(9*d) {
					t.Errorf("depth %d: %v pairs", d, got)
				}
			}
			slices.Sort(a.pairs)
			if !slices.Equal(a.pairs, counts[60]) || fresh != 9*60 {
				t.Errorf("%d pairs were scored, measured are %v; depth 60 alone scores %d", len(a.pairs), fresh, len(counts[60]))
			}
		})
	}
}

// What is beyond the depth keeps its rank; the first d are in the order of a stable
// sort by score.
func TestRerankPairs_ranking(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 3)
	before, err := artifact.ReadRun(inputs["run"])
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	run := l.rerank(t, countingScorer{depth: 25, asks: &asks{}}, l.pairMemory("here"), inputs)
	for q, id := range run.Questions {
		want := slices.Clone(before.Chunks[q])
		score := func(chunk string) float32 {
			return hashed(fmt.Sprintf("question %d", q) + "passage " + strings.TrimPrefix(chunk, "d#"))
		}
		slices.SortStableFunc(want[:25], func(a, b string) int {
			switch x, y := score(a), score(b); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		if !slices.Equal(run.Chunks[q], want) {
			t.Errorf("question %s: got %v\nwant %v", id, run.Chunks[q], want)
		}
	}
}

// The time of a question is what its pairs took; what was remembered counts, and is
// called composed; what another machine took does not.
func TestRerankPairs_latency(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 2)
	l := newLab(t)
	a := &asks{}
	read := func() (latency map[string]float64, composed, unmeasured float64) {
		t.Helper()
		if err := json.Unmarshal(l.measured["latency_ms"], &latency); err != nil {
			t.Fatal(err)
		}
		return latency, l.number(t, "composed_questions"), l.number(t, "unmeasured_questions")
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-3 }
	l.rerank(t, countingScorer{depth: 4, asks: a}, l.pairMemory("here"), inputs)
	if ms, composed, unmeasured := read(); len(ms) != 2 || !near(ms["q0"], 1+2+3+4) || composed != 0 || unmeasured != 0 {
		t.Errorf("scored now: %v, composed %v, unmeasured %v; want 10 ms each", ms, composed, unmeasured)
	}
	if a.warmed != 1 {
		t.Errorf("the model was warmed %d times", a.warmed)
	}
	l.rerank(t, countingScorer{depth: 2, asks: a}, l.pairMemory("here"), inputs)
	if ms, composed, _ := read(); !near(ms["q1"], 1+2) || composed != 2 {
		t.Errorf("shallower: %v, composed %v; want 3 ms each, both composed", ms, composed)
	}
	if a.warmed != 1 {
		t.Error("a model was warmed that scored nothing")
	}
	l.rerank(t, countingScorer{depth: 6, asks: a}, l.pairMemory("here"), inputs)
	if ms, composed, _ := read(); !near(ms["q1"], 10+1+2) || composed != 2 {
		t.Errorf("deeper: %v, composed %v; want 13 ms each, both composed", ms, composed)
	}
	l.rerank(t, countingScorer{depth: 6, asks: a}, l.pairMemory("elsewhere"), inputs)
	if ms, composed, unmeasured := read(); len(ms) != 0 || composed != 0 || unmeasured != 2 {
		t.Errorf("on another machine: %v, composed %v, unmeasured %v; want no time", ms, composed, unmeasured)
	}
	// Two questions that share a text, and passages that do: one score for each.
	l, a = newLab(t), &asks{}
	inputs["queries"] = plainLines(t, queryLine{"q0", "same"}, queryLine{"q1", "same"})
	texts := make([]string, passagesInCorpus)
	for i := range texts {
		texts[i] = fmt.Sprint("passage ", i%3)
	}
	inputs["chunks-000"] = chunksOf(t, texts...)
	l.rerank(t, countingScorer{depth: 10, asks: a}, l.pairMemory("here"), inputs)
	if _, composed, _ := read(); len(a.pairs) != 3 || l.number(t, "pairs") != 6 || composed != 1 {
		t.Errorf("scored %q, %v composed; want each of three pairs once, and the second question composed", a.pairs, composed)
	}
}

func TestRerankPairs_costs(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 2)
	l, a := newLab(t), &asks{}
	for _, depth := range []int{10, 20} {
		l.rerank(t, countingService{countingScorer{depth: depth, asks: a}, 3}, l.pairMemory("here"), inputs)
	}
	for name, want := range map[string]float64{"searches": 2 * 20 * 0.5, "new_usd": 2 * 10 * 3 * 0.5} {
		if got := l.number(t, name); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if _, told := l.measured["truncated_share"]; told {
		t.Error("a service does not say what it cuts, yet there is a share")
	}
}

// What was cut counts, remembered pairs included.
func TestRerankPairs_truncation(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 2)
	l, a := newLab(t), &asks{}
	for _, depth := range []int{10, 20} {
		l.rerank(t, countingScorer{depth: depth, asks: a}, l.pairMemory("here"), inputs)
	}
	cut := 0
	for _, p := range a.pairs {
		if strings.HasSuffix(p, "7") {
			cut++
		}
	}
	if got := l.number(t, "truncated_share"); cut == 0 || got != float64(cut)/40 || l.number(t, "truncated_pairs") != float64(cut) {
		t.Errorf("a share of %v is cut, want %d of 40", got, cut)
	}
}

// What was scored before a failure is not scored, and not paid, again.
func TestRerankPairs_failureKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 5)
	l, a := newLab(t), &asks{failAt: 4}
	c := countingScorer{depth: 10, asks: a}
	_, err := l.run(t, rerankKindVolatile, rerankWork{reranker: c, scorer: c, shards: 1, pairs: l.pairMemory("here")}, inputs)
	if !errors.Is(err, errScorer) || !strings.Contains(err.Error(), "rerank question q3") {
		t.Fatalf("error %v", err)
	}
	l.rerank(t, c, l.pairMemory("here"), inputs)
	if got := l.number(t, "new_pairs"); got != 20 || len(a.pairs) != 50 {
		t.Errorf("%v new pairs after the failure, %d scored in all; want 20 and 50", got, len(a.pairs))
	}
}

func TestRerankPairs_refusesBadScores(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func([]reranker.Pair) []reranker.Pair{
		"not a number": func(p []reranker.Pair) []reranker.Pair { p[1].Raw = float32(math.NaN()); return p },
		"infinite":     func(p []reranker.Pair) []reranker.Pair { p[0].Raw = float32(math.Inf(1)); return p },
		"too few":      func(p []reranker.Pair) []reranker.Pair { return p[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := rerankInputs(t, 1)
			l := newLab(t)
			c := countingScorer{depth: 5, asks: &asks{bad: bad}}
			_, err := l.run(t, rerankKindVolatile, rerankWork{reranker: c, scorer: c, shards: 1, pairs: l.pairMemory("here")}, inputs)
			if err == nil || !strings.Contains(err.Error(), "the reranker gave") {
				t.Errorf("error %v, want one that blames the reranker", err)
			}
			sound := &asks{}
			l.rerank(t, countingScorer{depth: 5, asks: sound}, l.pairMemory("here"), inputs)
			if len(sound.pairs) != 5 {
				t.Errorf("afterwards %d pairs were scored, want 5: nothing wrong may be remembered", len(sound.pairs))
			}
		})
	}
}

// A vector of the memory holds a pair whole.
func TestPairMemory_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &pairMemory{machine: machineMark(rapid.String().Draw(t, "machine"), rapid.IntRange(1, 64).Draw(t, "threads"))}
		want := reranker.Pair{
			Raw: rapid.Float32Range(-1e30, 1e30).Draw(t, "raw"), Tokens: rapid.IntRange(0, 1<<20).Draw(t, "tokens"),
			Truncated: rapid.Bool().Draw(t, "truncated"), Searches: 0.25,
			Took: time.Duration(rapid.IntRange(0, 1e9).Draw(t, "took")),
		}
		got, err := m.pair(m.vector(want))
		if err != nil || !got.here {
			t.Fatal(got, err)
		}
		if d := got.Took - want.Took; d.Abs() > want.Took/1e6+time.Microsecond {
			t.Fatalf("took %s, remembered %s", want.Took, got.Took)
		}
		got.Took = want.Took
		if got.Pair != want {
			t.Fatalf("got %+v, want %+v", got.Pair, want)
		}
	})
	if _, err := (&pairMemory{}).pair([]float32{1}); err == nil {
		t.Error("no error for a vector of something else")
	}
}

// A verification scores everything anew and holds it against the cache: scores may
// differ by rounding.
func TestSameRankings(t *testing.T) {
	t.Parallel()
	write := func(hits ...axes.Hit) string {
		run := artifact.Run{Questions: []string{"q"}, Hits: [][]axes.Hit{hits}, Chunks: [][]string{nil}}
		for _, h := range hits {
			run.Chunks[0] = append(run.Chunks[0], artifact.ChunkName("d", int(h.Ordinal)))
		}
		var b strings.Builder
		if err := artifact.WriteRun(&b, run); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	old := write(axes.Hit{Ordinal: 3, Score: 2.0001}, axes.Hit{Ordinal: 1, Score: 2}, axes.Hit{Ordinal: 2, Score: -1000})
	for _, tc := range []struct {
		again string
		same  bool
	}{
		{old, true},
		{write(axes.Hit{Ordinal: 1, Score: 2.0002}, axes.Hit{Ordinal: 3, Score: 2}, axes.Hit{Ordinal: 2, Score: -1000.5}), true},
		{write(axes.Hit{Ordinal: 3, Score: 2.1}, axes.Hit{Ordinal: 1, Score: 2}, axes.Hit{Ordinal: 2, Score: -1000}), false},
		{write(axes.Hit{Ordinal: 3, Score: 2}, axes.Hit{Ordinal: 1, Score: 2}), false},
		{write(axes.Hit{Ordinal: 3, Score: 2}, axes.Hit{Ordinal: 5, Score: 2}, axes.Hit{Ordinal: 2, Score: -1000}), false},
		{"", false},
	} {
		err := sameRankings("run", strings.NewReader(old), strings.NewReader(tc.again))
		if (err == nil) != tc.same {
			t.Errorf("same %v, error %v:\n%s", tc.same, err, tc.again)
		}
	}
}

// The plan counts the pairs that nobody scored yet.
func TestForecastRerank(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 2)
	l := newLab(t)
	l.rerank(t, countingScorer{depth: 5, asks: &asks{}}, l.pairMemory("here"), inputs)
	var got engine.Forecast
	kind := &engine.Kind{Name: "look", Version: "1", Outputs: []string{"out"}, Pure: true, Run: func(ctx context.Context, t *engine.Task) error {
		var err error
		if got, err = forecastRerank(ctx, t); err != nil {
			return err
		}
		return t.Write("out", nil)
	}}
	c := countingService{countingScorer{depth: 8, asks: &asks{}}, 3}
	if _, err := l.run(t, kind, rerankWork{reranker: c, scorer: c, shards: 1, pairs: l.pairMemory("here")}, inputs); err != nil {
		t.Fatal(err)
	}
	if want := (engine.Forecast{New: 6, Total: 16, Unit: "pairs", USD: 6 * 3 * 0.5}); got != want {
		t.Errorf("forecast %+v, want %+v", got, want)
	}
}

// Stages that run at once score no pair twice.
func TestRerankPairs_atOnce(t *testing.T) {
	t.Parallel()
	inputs := rerankInputs(t, 4)
	l, a := newLab(t), &asks{}
	memory := l.pairMemory("here")
	var group sync.WaitGroup
	for _, d := range []int{20, 30, 50, 60} {
		group.Go(func() {
			(&lab{store: l.store}).rerank(t, countingScorer{depth: d, asks: a}, memory, inputs)
		})
	}
	group.Wait()
	if len(a.pairs) != 4*60 {
		t.Errorf("%d pairs were scored, want %d", len(a.pairs), 4*60)
	}
}
