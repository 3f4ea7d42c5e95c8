package main

import (
	"context"
	"errors"
	"fmt"

	"raglab/axes/metric"
	"raglab/internal/stats"
	"raglab/internal/trec"
)

// scoredNames are the measures of the peers' script.
func scoredNames() []string { return []string{"ndcg@10", "recall@5", "recall@100", "mrr@10", "map"} }

// trecPair is a run with the judgements it is scored by.
type trecPair struct {
	qrels *trec.Qrels
	run   *trec.Run
}

func readPair(qrels, run string) (p trecPair, err error) {
	if p.qrels, err = trec.ReadQrels(qrels); err != nil {
		return p, err
	}
	if p.run, err = trec.ReadRun(run); err != nil {
		return p, err
	}
	p.run.SortByScore() // as trec_eval does
	return p, nil
}

// score returns the values by metric and question, and the means.
func (p trecPair) score(names []string) ([][]float64, means, error) {
	metrics, err := metric.ParseAll(names)
	if err != nil {
		return nil, means{}, err
	}
	judged, err := metric.JudgeRun(p.qrels, p.run)
	if err != nil {
		return nil, means{}, err
	}
	values, summaries := metric.Evaluate(metrics, judged.Judged)
	var m means
	for i, into := range []*string{&m.NDCG10, &m.Recall5, &m.Recall100, &m.MRR10, &m.MAP} {
		if i < len(summaries) {
			*into = fmt.Sprintf("%.6f", summaries[i].Mean)
		}
	}
	return values, m, nil
}

// scoreDriver: qrels run. Reads, scores and prints the means: a whole process.
func scoreDriver(_ context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("score takes two arguments")
	}
	pair, err := readPair(args[0], args[1])
	if err != nil {
		return err
	}
	_, m, err := pair.score(scoredNames())
	if err != nil {
		return err
	}
	c := &clock{samples: []sample{{Tool: raglabTool, Step: "score", means: m}}}
	return c.print()
}

// metricsDriver: qrels run REPS. Times reading and scoring by themselves.
func metricsDriver(_ context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("metrics takes three arguments")
	}
	reps, _, err := numbers(args[2], "1")
	if err != nil {
		return err
	}
	c := &clock{reps: reps}
	c.use(1)
	var pair trecPair
	if _, err := c.time("read", 0, func() (err error) {
		pair, err = readPair(args[0], args[1])
		return err
	}); err != nil {
		return err
	}
	if _, err := c.time("evaluate", len(pair.qrels.Questions), func() error {
		_, _, err := pair.score(scoredNames())
		return err
	}); err != nil {
		return err
	}
	return c.print()
}

// pairedDriver: REPS qrels runs…. Times the statistics over all pairs of runs.
func pairedDriver(_ context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("paired takes four arguments and more")
	}
	reps, _, err := numbers(args[0], "1")
	if err != nil {
		return err
	}
	var systems [][]float64
	for _, run := range args[2:] {
		pair, err := readPair(args[1], run)
		if err != nil {
			return err
		}
		values, _, err := pair.score([]string{"ndcg@10"})
		if err != nil {
			return err
		}
		systems = append(systems, values[0])
	}
	c := &clock{reps: reps}
	c.use(1)
	const resamples, seed = 1000, 7
	pairs := len(systems) * (len(systems) - 1) / 2
	if _, err := c.time("bootstrap", pairs, func() error {
		drawn := stats.NewBootstrap(systems, resamples, seed)
		eachPair(len(systems), func(a, b int) { drawn.Difference(a, b, 0.95) })
		return nil
	}); err != nil {
		return err
	}
	if _, err := c.time("randomisation", pairs, func() error {
		drawn := stats.NewRandomisation(systems, resamples, seed)
		eachPair(len(systems), func(a, b int) { drawn.P(a, b) })
		return nil
	}); err != nil {
		return err
	}
	return c.print()
}

// eachPair calls fn for each pair of n things.
func eachPair(n int, fn func(a, b int)) {
	for a := range n {
		for b := range a {
			fn(a, b)
		}
	}
}
