package pipeline

import (
	"cmp"
	"slices"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/embedder"
	"raglab/axes/reranker"
	"raglab/axes/retriever"
	"raglab/engine"
	"raglab/internal/param"
	"raglab/spec"
)

// chunked are the chunk stages of one configuration, by shard.
type chunked struct {
	name   string
	stages []*engine.Stage
	// grouped tells that several chunks may share a passage.
	grouped bool
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
	kind, _ := axes.Find(b.chunkers, c.opt.Kind)
	slot := chunkSlot{builder: b, kind: kind, options: []*choice{c}}
	key := sharded{name: c.name, params: c.params}
	if kind.Needs(c.params).Embedder {
		e, err := b.choose(cfg.Option(slotEmbedder), cfg, fit)
		if err != nil {
			return chunked{}, err
		}
		slot.options = append(slot.options, e)
		key = sharded{of: e.name, name: c.name, params: [2]any{c.params, e.params}}
	}
	done, ok := b.chunked[key]
	late := slices.ContainsFunc(slot.options, func(c *choice) bool { return len(c.late) > 0 })
	if ok && !late {
		return done, nil
	}
	out, err := slot.add()
	if err == nil && !late {
		b.chunked[key] = out
	}
	return out, err
}

// chunkSlot builds the chunk stages of one chunker: the options are its own and,
// when it cuts by embeddings, the embedder's.
type chunkSlot struct {
	*builder
	kind    axes.Kind[chunker.Chunker]
	options []*choice
}

func (s chunkSlot) add() (chunked, error) {
	c := s.options[0]
	made, err := instance(s.instances, s.kind, c.params)
	if err != nil {
		return chunked{}, s.blame(s.options, err)
	}
	needs, blocked, err := s.needs(s.kind.Needs(c.params))
	if err != nil {
		return chunked{}, s.blame(s.options, err)
	}
	grouper, grouped := made.(chunker.Grouper)
	out := chunked{name: c.name, stages: make([]*engine.Stage, s.shards), grouped: grouped && grouper.Groups()}
	stage := engine.Stage{Kind: chunkKindCheap, Needs: engine.Resources{CPU: 1}, Blocked: blocked}
	var e embedding
	switch {
	case len(s.options) > 1:
		if e, err = s.embedding(s.options[1]); err != nil {
			return chunked{}, err
		}
		out.name += " by " + s.options[1].name
		stage.Kind, stage.Needs, stage.Billed = chunkKindEmbedder, e.needs, e.billed
		stage.Blocked = cmp.Or(blocked, e.blocked)
	case len(needs) > 0:
		stage.Kind = chunkKindModel
	}
	for i := range out.stages {
		shard := stage
		shard.Address = shardAddress("chunk", i, out.name)
		shard.Inputs = []engine.Input{{Name: "documents", From: s.p.Fetch, Output: shardName("documents", i)}}
		if out.stages[i], err = s.stage(&shard, s.options, func(o []*choice) ([]engine.Field, any, error) {
			return s.define(o, needs, e)
		}); err != nil {
			return chunked{}, err
		}
	}
	return out, nil
}

// define are the fields and the work of a chunk stage.
func (s chunkSlot) define(o []*choice, needs []engine.Field, e embedding) ([]engine.Field, any, error) {
	fields := append(o[0].fields(s.kind.Version, nil), s.languageField())
	fields = append(fields, needs...)
	params := o[0].params
	work := chunkWork{make: func() (chunker.Chunker, error) { return instance(s.instances, s.kind, params) }}
	if len(o) > 1 {
		more, embed := e.define(o[1])
		fields, work.embed = append(fields, more...), &embed
	}
	return fields, work, nil
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

// embedding is what stages that embed with one choice of embedder have in common.
type embedding struct {
	needs   engine.Resources
	blocked string
	billed  bool
	// define are the fields and the work of the choice as it was resolved. The fields
	// name the space of the vectors, and so the memory that the stages share.
	define func(*choice) ([]engine.Field, embedWork)
}

func (b *builder) embedding(c *choice) (embedding, error) {
	kind, _ := axes.Find(embedder.Kinds, c.opt.Kind)
	needs, blocked, err := b.needs(kind.Needs(c.params))
	if err != nil {
		return embedding{}, b.blame([]*choice{c}, err)
	}
	define := func(c *choice) ([]engine.Field, embedWork) {
		fields := append(c.fields(kind.Version, nil), needs...)
		return fields, embedWork{
			space: spaceOf(fields), memo: b.instances.memo,
			make: func() (embedder.Embedder, error) { return instance(b.instances, kind, c.params) },
		}
	}
	e := embedding{needs: engine.Resources{CPU: b.env.Threads, Memory: modelMemory}, blocked: blocked, define: define}
	if kind.Resource == axes.Network {
		e.needs = engine.Resources{Network: 1}
	}
	_, work := define(c)
	price, known := work.price()
	e.billed = known && price > 0
	return e, nil
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
	e, err := b.embedding(c)
	if err != nil {
		return embedded{}, err
	}
	out := embedded{name: c.name, shards: make([]*engine.Stage, len(chunks.stages))}
	define := func(o []*choice) ([]engine.Field, any, error) {
		fields, work := e.define(o[0])
		return fields, work, nil
	}
	for i, chunk := range chunks.stages {
		out.shards[i], err = b.stage(&engine.Stage{
			Address: shardAddress("embed", i, chunks.name, c.name),
			Kind:    embedKind, Needs: e.needs, Blocked: e.blocked, Billed: e.billed,
			Inputs: []engine.Input{{Name: "chunks", From: chunk, Output: "chunks"}},
		}, []*choice{c}, define)
		if err != nil {
			return embedded{}, err
		}
	}
	out.queries, err = b.stage(&engine.Stage{
		Address: address("embed_questions", c.name),
		Kind:    embedQuestionsKind, Needs: e.needs, Blocked: e.blocked, Billed: e.billed,
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
		out.legs = include(out.legs, a.legs...)
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
		Address: address("rerank", out.name), Kind: stageKind, Needs: b.rerankResources(kind, len(needs) > 0), Inputs: in, Blocked: blocked,
	}, []*choice{c}, func(o []*choice) ([]engine.Field, any, error) {
		r, err := instance(b.instances, kind, o[0].params)
		work := rerankWork{reranker: r, shards: b.shards}
		if scorer, ok := r.(reranker.PairScorer); ok {
			work.pairs = b.instances.pairMemory(spaceOf(append(o[0].fields(kind.Version, scoring), needs...)))
			work.scorer = scorer
			if kind.Resource == axes.CPU { // a model, which is loaded once for all depths
				work.scorer = work.pairs.shared(scorer)
			}
		}
		return append(o[0].fields(kind.Version, nil), needs...), work, err
	})
	out.ask = include(append([]*engine.Stage(nil), found.ask...), out.run)
	return out, err
}

// rerankResources is what a rerank stage takes of the machine.
func (b *builder) rerankResources(kind axes.Kind[reranker.Reranker], model bool) engine.Resources {
	switch {
	case kind.Resource == axes.Network:
		return engine.Resources{Network: 1}
	case model:
		return engine.Resources{CPU: b.env.Threads, Memory: modelMemory}
	}
	return engine.Resources{CPU: b.env.Threads}
}

// scoring tells the parameters that decide what a pair scores from those that only
// decide what becomes of the scores.
func scoring(f param.Field) bool { return f.At != "order" }
