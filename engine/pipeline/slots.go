package pipeline

import (
	"fmt"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/embedder"
	"raglab/axes/reranker"
	"raglab/axes/retriever"
	"raglab/engine"
	"raglab/spec"
)

// chunked are the chunk stages of one configuration, by shard.
type chunked struct {
	name   string
	stages []*engine.Stage
}

func (c chunked) inputs() []engine.Input {
	in := make([]engine.Input, len(c.stages))
	for i, s := range c.stages {
		in[i] = engine.Input{Name: shardName("chunks", i), From: s, Output: "chunks"}
	}
	return in
}

func (b *builder) chunk(cfg *spec.Configuration, fit fitting) (chunked, error) {
	c, err := b.choose(cfg.Option(slotChunker), cfg, fit)
	if err != nil {
		return chunked{}, err
	}
	key := sharded{name: c.name, params: c.params}
	if done, ok := b.chunked[key]; ok && len(c.late) == 0 {
		return done, nil
	}
	kind, _ := axes.Find(chunker.Kinds(), c.opt.Kind)
	needs, blocked, err := b.needs(kind.Needs(c.params))
	if err != nil {
		return chunked{}, b.blame([]*choice{c}, err)
	}
	stageKind := chunkKindCheap
	if len(needs) > 0 {
		stageKind = chunkKindModel
	}
	out := chunked{name: c.name, stages: make([]*engine.Stage, b.shards)}
	for i := range out.stages {
		out.stages[i], err = b.stage(&engine.Stage{
			Address: address("chunk", c.name) + fmt.Sprintf("#%03d", i),
			Kind:    stageKind, Needs: engine.Resources{CPU: 1}, Blocked: blocked,
			Inputs: []engine.Input{{Name: "documents", From: b.p.Fetch, Output: shardName("documents", i)}},
		}, []*choice{c}, func(o []*choice) ([]engine.Field, any, error) {
			fields := append(o[0].fields(kind.Version, nil), b.languageField())
			params := o[0].params
			return append(fields, needs...), chunkWork{func() (chunker.Chunker, error) {
				return instance(b.instances, kind, params)
			}}, nil
		})
		if err != nil {
			return chunked{}, err
		}
	}
	if len(c.late) == 0 {
		b.chunked[key] = out
	}
	return out, nil
}

func (b *builder) languageField() engine.Field {
	return engine.Field{Class: engine.Params, Path: "corpus.language", Value: b.exp.Language}
}

// What stages take of the machine's memory, roughly: enough that several of them
// do not bring it down together.
const (
	modelMemory = 1 << 30
	indexMemory = 256 << 20
)

// embedded are the stages that embed one configuration's chunks and questions.
type embedded struct {
	name    string
	shards  []*engine.Stage
	queries *engine.Stage
}

func (b *builder) embed(cfg *spec.Configuration, fit fitting, chunks chunked) (embedded, error) {
	c, err := b.choose(cfg.Option(slotEmbedder), cfg, fit)
	if err != nil {
		return embedded{}, err
	}
	key := sharded{of: chunks.name, name: c.name, params: c.params}
	if done, ok := b.embedded[key]; ok && len(c.late) == 0 {
		return done, nil
	}
	kind, _ := axes.Find(embedder.Kinds, c.opt.Kind)
	needs, blocked, err := b.needs(kind.Needs(c.params))
	if err != nil {
		return embedded{}, b.blame([]*choice{c}, err)
	}
	out := embedded{name: c.name, shards: make([]*engine.Stage, len(chunks.stages))}
	define := func(o []*choice) ([]engine.Field, any, error) {
		fields := append(o[0].fields(kind.Version, nil), needs...)
		params := o[0].params
		return fields, embedWork{
			space: spaceOf(fields), memo: b.instances.memo,
			make: func() (embedder.Embedder, error) { return instance(b.instances, kind, params) },
		}, nil
	}
	all := engine.Resources{CPU: b.env.Threads, Memory: modelMemory}
	for i, chunk := range chunks.stages {
		out.shards[i], err = b.stage(&engine.Stage{
			Address: address("embed", chunks.name, c.name) + fmt.Sprintf("#%03d", i),
			Kind:    embedKind, Needs: all, Blocked: blocked,
			Inputs: []engine.Input{{Name: "chunks", From: chunk, Output: "chunks"}},
		}, []*choice{c}, define)
		if err != nil {
			return embedded{}, err
		}
	}
	out.queries, err = b.stage(&engine.Stage{
		Address: address("embed_questions", c.name),
		Kind:    embedQuestionsKind, Needs: all, Blocked: blocked,
		Inputs: []engine.Input{{Name: "queries", From: b.p.Questions, Output: "queries"}},
	}, []*choice{c}, define)
	if err == nil && len(c.late) == 0 {
		b.embedded[key] = out
	}
	return out, err
}

// retrieve builds the run of a retriever option: a leaf or a fuser of others.
func (b *builder) retrieve(cfg *spec.Configuration, fit fitting, chunks chunked, opt *spec.Option) (asked, error) {
	if _, ok := axes.Find(retriever.Fusers, opt.Kind); ok {
		return b.fuse(cfg, fit, chunks, opt)
	}
	return b.leaf(cfg, fit, chunks, opt)
}

func (b *builder) fuse(cfg *spec.Configuration, fit fitting, chunks chunked, opt *spec.Option) (asked, error) {
	c, err := b.choose(opt, cfg, fit)
	if err != nil {
		return asked{}, err
	}
	kind, _ := axes.Find(retriever.Fusers, opt.Kind)
	out := asked{chunks: chunks}
	in := []engine.Input{{Name: "queries", From: b.p.Questions, Output: "queries"}}
	legs := b.exp.Refs(opt, cfg)
	legNames := ""
	for i, leg := range legs {
		a, err := b.retrieve(cfg, fit, chunks, leg)
		if err != nil {
			return asked{}, err
		}
		in = append(in, engine.Input{Name: legName(i), From: a.run, Output: "run"})
		out.ingest = include(out.ingest, a.ingest...)
		out.indexes = include(out.indexes, a.indexes...)
		out.ask = include(out.ask, a.ask...)
		out.checks = include(out.checks, a.checks...)
		if i > 0 {
			legNames += " + "
		}
		legNames += a.name[len(chunks.name)+1:]
	}
	out.name = joined([]string{chunks.name, c.name, "of " + legNames})
	out.run, err = b.stage(&engine.Stage{
		Address: address("fuse", out.name), Kind: fuseKind, Needs: engine.Resources{CPU: 1}, Inputs: in,
	}, []*choice{c}, func(o []*choice) ([]engine.Field, any, error) {
		fuser, err := instance(b.instances, kind, o[0].params)
		return append(o[0].fields(kind.Version, nil), b.depthField()), fuseWork{fuser, len(legs), b.exp.Score.Depth}, err
	})
	out.ask = include(out.ask, out.run)
	return out, err
}

// rerank adds the reranker's stage, unless the kind leaves rankings as they are.
func (b *builder) rerank(cfg *spec.Configuration, fit fitting, found asked) (asked, error) {
	c, err := b.choose(cfg.Option(slotReranker), cfg, fit)
	if err != nil {
		return asked{}, err
	}
	if c.opt.Kind == "none" {
		return found, nil
	}
	kind, _ := axes.Find(reranker.Kinds, c.opt.Kind)
	needs, blocked, err := b.needs(kind.Needs(c.params))
	if err != nil {
		return asked{}, b.blame([]*choice{c}, err)
	}
	made, err := instance(b.instances, kind, c.params)
	if err != nil {
		return asked{}, b.blame([]*choice{c}, err)
	}
	in := []engine.Input{
		{Name: "queries", From: b.p.Questions, Output: "queries"},
		{Name: "run", From: found.run, Output: "run"},
	}
	if made.UsesText() {
		in = append(append(in, found.chunks.inputs()...), engine.Input{Name: "order", From: b.p.Fetch, Output: "order"})
	}
	stageKind := rerankKindPure
	if kind.Volatile {
		stageKind = rerankKindVolatile
	}
	out := found
	out.name = found.name + " " + c.name
	out.run, err = b.stage(&engine.Stage{
		Address: address("rerank", out.name), Kind: stageKind, Needs: engine.Resources{CPU: b.env.Threads}, Inputs: in, Blocked: blocked,
	}, []*choice{c}, func(o []*choice) ([]engine.Field, any, error) {
		r, err := instance(b.instances, kind, o[0].params)
		return append(o[0].fields(kind.Version, nil), needs...), rerankWork{r, b.shards}, err
	})
	out.ask = include(append([]*engine.Stage(nil), found.ask...), out.run)
	return out, err
}
