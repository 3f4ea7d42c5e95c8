package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/axes"
	"raglab/axes/reranker"
	"raglab/cache"
	"raglab/engine"
)

// groupPairs is how many new pairs are scored before they are remembered: a crash
// costs at most so many, and those of one question.
const groupPairs = 128

// rerankPairs makes the new rankings of scores that are remembered and, of pairs
// that nobody scored yet, new ones. What it gives is what the reranker alone would.
func (w rerankWork) rerankPairs(ctx context.Context, t *engine.Task, scorer reranker.PairScorer, in *rerankInput) (*runBuilder, error) {
	r := &pairRun{
		t: t, reranker: scorer, scorer: w.scorer, memory: w.pairs, in: in,
		run: newRun(len(in.queries)), latency: make(map[string]float64, len(in.queries)),
	}
	for done := 0; done < len(in.queries); {
		n, err := r.group(ctx, in.queries[done:])
		if err != nil {
			return nil, err
		}
		done += n
		t.Progress(done, len(in.queries), "questions")
	}
	r.measure()
	return r.run, nil
}

// pairRun is the work of one stage.
type pairRun struct {
	t        *engine.Task
	reranker reranker.PairScorer // whose depth, prices and scores count
	scorer   reranker.PairScorer // of new pairs
	memory   *pairMemory
	in       *rerankInput
	run      *runBuilder

	latency              map[string]float64
	warm                 bool
	pairs, tokens        int
	searches             float64
	truncated            int
	fresh                reranker.Pair // the sum of new pairs
	newPairs             int
	composed, unmeasured int // questions
}

// askedPairs are the pairs of one question.
type askedPairs struct {
	query axes.Query
	hits  []axes.Hit
	name  func(uint32) (string, error)
	keys  []cache.Digest // of the first hits
	// known are the pairs as they stand; of those that the memory had before it also
	// says how long they took.
	known map[cache.Digest]remembered
	// took is the time of the pairs that were scored now, fresh how many they are.
	took  time.Duration
	fresh int
}

// group ranks some of the questions, as many as have groupPairs new pairs, and
// returns how many those are. What was scored is remembered even when a later
// question fails.
func (r *pairRun) group(ctx context.Context, queries []axes.Query) (n int, err error) {
	r.memory.Lock()
	defer r.memory.Unlock()
	g := &freshPairs{scored: map[cache.Digest]remembered{}}
	var questions []*askedPairs
	for n < len(queries) && len(g.keys) < groupPairs {
		a, failure := r.ask(ctx, queries[n], g)
		if failure != nil {
			err = fmt.Errorf("rerank question %s: %w", queries[n].ID, failure)
			break
		}
		questions = append(questions, a)
		n++
	}
	// A user who stops the work, too, has paid for what is done.
	standing, failure := r.remember(context.WithoutCancel(ctx), g)
	if err = errors.Join(err, failure); err != nil {
		return n, err
	}
	for _, a := range questions {
		for k := range a.known {
			if p, ok := standing[k]; ok {
				a.known[k] = p
			}
		}
		if err := r.place(a); err != nil {
			return n, err
		}
	}
	return n, nil
}

// freshPairs are pairs that were scored and not remembered yet.
type freshPairs struct {
	keys   []cache.Digest
	pairs  []reranker.Pair
	scored map[cache.Digest]remembered
}

func (r *pairRun) remember(ctx context.Context, g *freshPairs) (map[cache.Digest]remembered, error) {
	if r.t.Fresh || len(g.keys) == 0 {
		return g.scored, nil
	}
	return r.memory.put(ctx, g.keys, g.pairs)
}

// ask finds out what a question's first hits score.
func (r *pairRun) ask(ctx context.Context, q axes.Query, g *freshPairs) (*askedPairs, error) {
	a := &askedPairs{query: q}
	a.hits, a.name = r.in.hits(q)
	passages, err := r.in.passages(a.hits, r.reranker.Depth())
	if err != nil || len(passages) == 0 {
		return a, err
	}
	a.keys = make([]cache.Digest, len(passages))
	for i, p := range passages {
		a.keys[i] = pairKey(q.Text, p)
	}
	a.known = map[cache.Digest]remembered{}
	if !r.t.Fresh {
		if a.known, err = r.memory.get(ctx, a.keys); err != nil {
			return nil, err
		}
	}
	var missing []int
	for i, k := range a.keys {
		if p, ok := g.scored[k]; ok {
			a.known[k] = p
		} else if _, ok := a.known[k]; !ok {
			a.known[k] = remembered{} // scored below, once
			missing = append(missing, i)
		}
	}
	return a, r.score(ctx, a, passages, missing, g)
}

// passages are the texts of a ranking's first hits.
func (in *rerankInput) passages(hits []axes.Hit, depth int) ([]string, error) {
	texts := make([]string, min(depth, len(hits)))
	for i := range texts {
		var err error
		if texts[i], err = in.texts.text(hits[i].Ordinal); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// score scores a question's missing pairs.
func (r *pairRun) score(ctx context.Context, a *askedPairs, passages []string, missing []int, g *freshPairs) error {
	if len(missing) == 0 {
		return nil
	}
	texts := make([]string, len(missing))
	for i, at := range missing {
		texts[i] = passages[at]
	}
	if w, ok := r.scorer.(reranker.Warmer); ok && !r.warm {
		if err := w.Warm(ctx, a.query.Text, texts[0]); err != nil {
			return err
		}
	}
	r.warm = true
	pairs, err := r.scorer.ScorePairs(ctx, a.query.Text, texts)
	if err != nil {
		return err
	}
	if err := reranker.CheckPairs(pairs, len(texts)); err != nil {
		return err
	}
	for i, at := range missing {
		k := a.keys[at]
		a.known[k] = remembered{pairs[i], true}
		a.took += pairs[i].Took
		g.keys, g.pairs, g.scored[k] = append(g.keys, k), append(g.pairs, pairs[i]), a.known[k]
		r.fresh.Searches += pairs[i].Searches
		r.fresh.Tokens += pairs[i].Tokens
	}
	a.fresh, r.newPairs = len(missing), r.newPairs+len(missing)
	return nil
}

// place makes a question's new ranking, and says how long it takes.
func (r *pairRun) place(a *askedPairs) error {
	raw := make([]float32, len(a.keys))
	for i, k := range a.keys {
		raw[i] = a.known[k].Raw
	}
	r.clock(a)
	for _, p := range a.known {
		r.pairs++
		r.tokens += p.Tokens
		r.searches += p.Searches
		if p.Truncated {
			r.truncated++
		}
	}
	return r.run.add(a.query.ID, reranker.Reorder(a.hits, raw, r.reranker.Score), a.name)
}

// clock notes the time of a question: what its pairs took when all were scored just
// now, else composed of what each took when it was. That of a pair from another
// machine says nothing about this one.
func (r *pairRun) clock(a *askedPairs) {
	if a.fresh == len(a.known) {
		r.latency[a.query.ID] = milliseconds(a.took)
		return
	}
	var whole time.Duration
	for _, p := range a.known {
		if !p.here {
			r.unmeasured++
			return
		}
		whole += p.Took
	}
	r.latency[a.query.ID] = milliseconds(whole)
	r.composed++
}

// measure notes what the stage took and was given.
func (r *pairRun) measure() {
	r.t.Measure("latency_ms", r.latency)
	r.t.Measure("composed_questions", r.composed)
	r.t.Measure("unmeasured_questions", r.unmeasured)
	r.t.Measure("pairs", r.pairs)
	r.t.Measure("new_pairs", r.newPairs)
	if r.tokens > 0 {
		r.t.Measure("tokens", r.tokens)
	}
	s, service := r.reranker.(reranker.Priced)
	if !service { // a service does not say what it cuts
		r.t.Measure("truncated_pairs", r.truncated)
		r.t.Measure("truncated_share", float64(r.truncated)/float64(max(1, r.pairs)))
		return
	}
	r.t.Measure("searches", r.searches)
	if usd, known := s.USD(r.fresh.Searches, r.fresh.Tokens); known {
		r.t.Measure(engine.PaidUSD, usd)
	}
}

// forecastRerank counts the pairs that are not remembered.
func forecastRerank(ctx context.Context, t *engine.Task) (engine.Forecast, error) {
	w := t.Work.(rerankWork)
	in, err := w.read(t)
	if err != nil {
		return engine.Forecast{}, err
	}
	scorer, ok := w.reranker.(reranker.PairScorer)
	if !ok || w.pairs == nil {
		return engine.Forecast{New: len(in.queries), Total: len(in.queries), Unit: "questions"}, nil
	}
	memo, err := w.pairs.open(w.pairs.space)
	if err != nil {
		return engine.Forecast{}, err
	}
	f := engine.Forecast{Unit: "pairs"}
	seen := map[cache.Digest]bool{}
	for _, q := range in.queries {
		hits, _ := in.hits(q)
		passages, err := in.passages(hits, scorer.Depth())
		if err != nil {
			return engine.Forecast{}, err
		}
		fresh, err := newPassages(ctx, memo, q.Text, passages, seen)
		if err != nil {
			return engine.Forecast{}, err
		}
		f.New += len(fresh)
		if p, ok := scorer.(reranker.Priced); ok {
			usd, _ := p.USD(p.Expect(q.Text, fresh))
			f.USD += usd
		}
	}
	f.Total = len(seen)
	return f, nil
}

// newPassages are the passages that nobody scored yet as answers to a question. It
// notes the pairs that it saw, and leaves out those that it saw before.
func newPassages(ctx context.Context, memo *cache.Memo, question string, passages []string, seen map[cache.Digest]bool) ([]string, error) {
	var keys []cache.Digest
	var texts []string
	for _, p := range passages {
		if k := pairKey(question, p); !seen[k] {
			seen[k] = true
			keys, texts = append(keys, k), append(texts, p)
		}
	}
	known, err := memo.Has(ctx, keys)
	if err != nil {
		return nil, err
	}
	fresh := texts[:0]
	for i, p := range texts {
		if !known[i] {
			fresh = append(fresh, p)
		}
	}
	return fresh, nil
}
