package main

import (
	"context"
	"errors"
	"fmt"

	"raglab/axes/metric"
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
