package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/pipeline"
	"raglab/golden"
	"raglab/spec"
)

// Corpus is the documents of an experiment and, where they were asked for, its
// chunks, read through the cache by the stages that an apply has.
type Corpus struct {
	*pipeline.Part
	w   *Workspace
	out *engine.Outcomes
}

// Corpus fetches and cuts the documents of an experiment, where the cache does
// not hold them. What stages warn of goes to [Options.Warn]. Close it when done.
func (w *Workspace) Corpus(ctx context.Context, exp *spec.Experiment, cuts bool) (*Corpus, error) {
	part, err := w.part(ctx, exp, cuts)
	if err != nil {
		return nil, err
	}
	out, err := w.bring(ctx, part.Graph)
	if err != nil {
		return nil, errors.Join(err, part.Close())
	}
	return &Corpus{part, w, out}, nil
}

// part builds the graph, again when it needed assets that were not there.
func (w *Workspace) part(ctx context.Context, exp *spec.Experiment, cuts bool) (*pipeline.Part, error) {
	found, err := w.assetsFor(exp)
	if err != nil {
		return nil, err
	}
	env := pipeline.Env{
		Threads: w.Threads, Machine: machine(), Version: w.Version, Downloads: w.downloads(), Assets: found, Memo: w.Cache.Memo,
		Fingerprints: w.fingerprints, Log: w.Log,
	}
	part, err := pipeline.BuildPart(ctx, exp, env, cuts)
	if err != nil {
		return nil, err
	}
	fetched := false
	for _, name := range part.Assets {
		if found.Missing(name) == "" {
			continue
		}
		if _, err := found.Dir(ctx, name); err != nil {
			return nil, errors.Join(err, part.Close())
		}
		fetched = true
	}
	if !fetched {
		return part, nil
	}
	if err := part.Close(); err != nil {
		return nil, err
	}
	return pipeline.BuildPart(ctx, exp, env, cuts)
}

// bring brings about all that a graph says. The experiment's ledger is not
// touched: it is about whole applies.
func (w *Workspace) bring(ctx context.Context, g *engine.Graph) (*engine.Outcomes, error) {
	planner := &engine.Planner{Store: w.Store, Ledger: engine.Ledger{}, Log: w.Log, SimulateBytes: simulateBytes}
	plan, err := planner.Plan(ctx, g, nil)
	if err != nil {
		return nil, err
	}
	ex := &engine.Local{
		Store:    w.Store,
		Capacity: engine.Resources{CPU: w.Threads, Memory: memory(), Network: 4, Accelerator: 1},
		Now:      time.Now, Log: w.Log, Provenance: provenance(w.Options),
		Events: func(e engine.Event) {
			if e.Type == engine.EventWarning {
				w.Warn(e.Stage.Address + ": " + e.Message)
			}
		},
	}
	out, err := ex.Apply(ctx, plan)
	switch {
	case err != nil:
		return nil, err
	case out.Interrupted:
		return nil, context.Cause(ctx)
	case len(out.Failures) > 0:
		return nil, fmt.Errorf("%s: %w", out.Failures[0].Stage.Address, out.Failures[0].Err)
	}
	return out, nil
}

// Documents are those of the corpus, in its order.
func (c *Corpus) Documents(ctx context.Context) ([]axes.Document, error) {
	return c.Part.Documents(ctx, c.w.Store, c.out)
}

// Chunks are those of a chunker, of the documents that are wanted, by document.
func (c *Corpus) Chunks(ctx context.Context, cut pipeline.Cut, wanted func(doc string) bool) (map[string][]axes.Chunk, error) {
	return c.Part.Chunks(ctx, c.w.Store, c.out, cut, wanted)
}

// Questions reads the judged questions of an experiment, unchecked.
func (w *Workspace) Questions(ctx context.Context, exp *spec.Experiment) (*golden.Set, error) {
	part, err := w.part(ctx, exp, false)
	if err != nil {
		return nil, err
	}
	set, err := part.Questions(ctx, w.warnf)
	return set, errors.Join(err, part.Close())
}

// Questions reads the judged questions of the corpus's experiment, unchecked.
func (c *Corpus) Questions(ctx context.Context) (*golden.Set, error) {
	return c.Part.Questions(ctx, c.w.warnf)
}

func (w *Workspace) warnf(format string, args ...any) { w.Warn(fmt.Sprintf(format, args...)) }
