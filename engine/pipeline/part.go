package pipeline

import (
	"context"
	"fmt"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/spec"
)

// Part is what of an experiment reads the corpus and cuts it: the same stages, by
// the same keys, that the whole pipeline has.
type Part struct {
	Graph *engine.Graph
	Fetch *engine.Stage
	// Cuts are the chunkers that were asked for.
	Cuts []Cut
	// Assets are the names of the assets that some stage needs, sorted.
	Assets []string

	source    source.Source
	golden    spec.Golden
	shards    int
	instances *instances
}

// Cut are the stages of one chunker.
type Cut struct {
	Name   string
	stages []*engine.Stage
}

// BuildPart makes the graph that reads the corpus and, with cuts, cuts it by every
// chunker of the experiment. A chunker whose parameters are tuned has the first
// values of their grids. Unlike [Build] it asks for no questions to be there.
// Diagnostics are [hcl.Diagnostics] in the error.
func BuildPart(ctx context.Context, exp *spec.Experiment, env Env, cuts bool) (*Part, error) {
	b := newBuilder(ctx, exp, env)
	src, _, _, err := b.fetch()
	if err != nil {
		return nil, err
	}
	if own, err := b.goldenSource(); err != nil {
		return nil, err
	} else if own != nil {
		src = own.source
	}
	part := &Part{Graph: b.p.Graph, Fetch: b.p.Fetch, source: src, golden: exp.Golden, shards: b.shards, instances: b.instances}
	if cuts {
		if part.Cuts, err = b.cuts(); err != nil {
			return nil, err
		}
	}
	part.Assets = b.p.Assets
	return part, nil
}

// cuts are the chunkers of all configurations, each once.
func (b *builder) cuts() ([]Cut, error) {
	var out []Cut
	seen := map[*engine.Stage]bool{}
	for _, cfg := range b.exp.Cross().Configurations {
		chunks, err := b.chunk(cfg, fitting{given: b.firsts})
		if err != nil {
			return nil, err
		}
		if len(chunks.stages) == 0 || seen[chunks.stages[0]] {
			continue
		}
		seen[chunks.stages[0]] = true
		out = append(out, Cut{chunks.name, chunks.stages})
	}
	return out, nil
}

// Close releases what instances hold.
func (p *Part) Close() error { return p.instances.close() }

// Questions reads the judged questions of the experiment, unchecked, and tells
// warn of what is odd about them. The positions of the questions are those of
// their files.
func (p *Part) Questions(ctx context.Context, warn func(format string, args ...any)) (*golden.Set, error) {
	return questionsWork{golden: p.golden, source: p.source, shards: p.shards}.read(ctx, warn)
}

// Documents reads the documents that an apply fetched, in corpus order.
func (p *Part) Documents(ctx context.Context, store cache.Store, out *engine.Outcomes) ([]axes.Document, error) {
	raw, err := readOutput(ctx, store, out, p.Fetch, "order")
	if err != nil {
		return nil, err
	}
	ids, err := parseOrder(raw)
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	docs := make([]axes.Document, len(ids))
	for i := range p.shards {
		err := readLines(ctx, store, out, p.Fetch, shardName("documents", i), func(d axes.Document) {
			if at, ok := place[d.ID]; ok {
				docs[at] = d
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
	}
	return docs, nil
}

// Chunks reads a chunker's chunks of the documents that are wanted, by document
// and in order.
func (p *Part) Chunks(ctx context.Context, store cache.Store, out *engine.Outcomes, cut Cut, wanted func(doc string) bool) (map[string][]axes.Chunk, error) {
	chunks := map[string][]axes.Chunk{}
	for _, s := range cut.stages {
		err := readLines(ctx, store, out, s, "chunks", func(c axes.Chunk) {
			if wanted(c.Doc) {
				chunks[c.Doc] = append(chunks[c.Doc], c)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read chunks: %w", err)
		}
	}
	return chunks, nil
}

func readLines[T any](ctx context.Context, store cache.Store, out *engine.Outcomes, s *engine.Stage, output string, take func(T)) error {
	blob, ok := out.Output(s, output)
	if !ok {
		return fmt.Errorf("%s has no result", s.Address)
	}
	in, err := store.Open(ctx, blob.Digest)
	if err != nil {
		return &engine.LostInputError{Input: output, From: s, Err: err}
	}
	for v, err := range artifact.ReadLines[T](in) {
		if err != nil {
			return err
		}
		take(v)
	}
	return nil
}

func readOutput(ctx context.Context, store cache.Store, out *engine.Outcomes, s *engine.Stage, output string) ([]byte, error) {
	blob, ok := out.Output(s, output)
	if !ok {
		return nil, fmt.Errorf("%s has no result", s.Address)
	}
	raw, err := store.ReadAll(ctx, blob.Digest)
	if err != nil {
		return nil, &engine.LostInputError{Input: output, From: s, Err: err}
	}
	return raw, nil
}
