package main

import (
	"context"
	"errors"

	"raglab/internal/stats"
)

// pairedDriver: REPS CORES CUT qrels runs…. Times the statistics over all pairs of
// runs: one by one with 1,000 resamples on one core; and all that reports have of pairs
// with 10,000 on all cores, of the runs and of pieces of CUT questions.
func pairedDriver(_ context.Context, args []string) error {
	if len(args) < 6 {
		return errors.New("paired takes six arguments and more")
	}
	reps, cores, err := numbers(args[0], args[1])
	if err != nil {
		return err
	}
	questions, _, err := numbers(args[2], "1")
	if err != nil {
		return err
	}
	systems, err := systemsOf(args[3], args[4:])
	if err != nil {
		return err
	}
	c := &clock{reps: reps}
	c.use(1)
	if err := eachTest(c, systems); err != nil {
		return err
	}
	c.use(cores)
	for _, s := range []struct {
		name    string
		systems [][]float64
	}{{"full", systems}, {"cut", pieces(systems, questions)}} {
		if len(s.systems) < 2 {
			continue
		}
		n := len(s.systems)
		if _, err := c.time("all pairs, "+s.name, n*(n-1)/2, func() error {
			o := stats.DefaultOptions()
			means := stats.NewBootstrap(s.systems, o.Resamples, o.Seed)
			for i := range s.systems {
				means.Mean(i, o.Level)
			}
			stats.Compare(s.systems, o)
			return nil
		}); err != nil {
			return err
		}
	}
	return c.print()
}

// systemsOf reads runs and scores them by nDCG@10.
func systemsOf(qrels string, runs []string) ([][]float64, error) {
	var systems [][]float64
	for _, run := range runs {
		pair, err := readPair(qrels, run)
		if err != nil {
			return nil, err
		}
		values, _, err := pair.score([]string{"ndcg@10"})
		if err != nil {
			return nil, err
		}
		systems = append(systems, values[0])
	}
	return systems, nil
}

// pieces cuts systems into pieces of so many questions, of which there are at most
// 180, each a system of its own.
func pieces(systems [][]float64, questions int) [][]float64 {
	const most = 180
	var out [][]float64
	for _, s := range systems {
		for i := 0; i+questions <= len(s) && len(out) < most; i += questions {
			out = append(out, s[i:i+questions])
		}
	}
	return out
}

// eachTest times the two resampling tests by themselves.
func eachTest(c *clock, systems [][]float64) error {
	const resamples, seed = 1000, 7
	pairs := len(systems) * (len(systems) - 1) / 2
	if _, err := c.time("bootstrap", pairs, func() error {
		drawn := stats.NewBootstrap(systems, resamples, seed)
		eachPair(len(systems), func(a, b int) { drawn.Difference(a, b, 0.95) })
		return nil
	}); err != nil {
		return err
	}
	_, err := c.time("randomisation", pairs, func() error {
		drawn := stats.NewRandomisation(systems, resamples, seed)
		eachPair(len(systems), func(a, b int) { drawn.P(a, b) })
		return nil
	})
	return err
}

// eachPair calls fn for each pair of n things.
func eachPair(n int, fn func(a, b int)) {
	for a := range n {
		for b := range a {
			fn(a, b)
		}
	}
}
