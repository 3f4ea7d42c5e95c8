package pipeline

import (
	"fmt"
	"slices"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/embedder"
	"raglab/axes/reranker"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/internal/param"
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

// buildTime tells the parameters that an index is built with from those that it
// is only searched with.
func buildTime(f param.Field) bool { return f.At != "search" }

func (b *builder) leaf(cfg *spec.Configuration, fit fitting, chunks chunked, opt *spec.Option) (asked, error) {
	c, err := b.choose(opt, cfg, fit)
	if err != nil {
		return asked{}, err
	}
	kind, _ := axes.Find(retriever.Leaves, opt.Kind)
	uses, err := b.uses(kind, c)
	if err != nil {
		return asked{}, err
	}
	options := []*choice{c}
	name := []string{chunks.name}
	if uses.Text {
		t, err := b.choose(cfg.Option(slotText), cfg, fit)
		if err != nil {
			return asked{}, err
		}
		options = append(options, t)
		name = append(name, t.name)
	}
	out := asked{chunks: chunks, ingest: chunks.stages}
	build := append(chunks.inputs(), engine.Input{Name: "order", From: b.p.Fetch, Output: "order"})
	search := []engine.Input{{Name: "queries", From: b.p.Questions, Output: "queries"}}
	if uses.Vectors {
		e, err := b.embed(cfg, fit, chunks)
		if err != nil {
			return asked{}, err
		}
		for i, s := range e.shards {
			build = append(build, engine.Input{Name: shardName("vectors", i), From: s, Output: "vectors"})
		}
		search = append(search, engine.Input{Name: "query_vectors", From: e.queries, Output: "vectors"})
		out.ingest = include(append([]*engine.Stage(nil), out.ingest...), e.shards...)
		out.ask = include(out.ask, e.queries)
		name = append(name, e.name)
	}
	name = append(name, c.name)
	stageKind := indexKindPure
	if kind.Volatile {
		stageKind = indexKindVolatile
	}
	building := c.atBuild()
	index, err := b.stage(&engine.Stage{
		Address: address("index", append(slices.Clone(name[:len(name)-1]), building.name)...), Kind: stageKind, Needs: engine.Resources{CPU: 1, Memory: indexMemory}, Inputs: build,
	}, append([]*choice{building}, options[1:]...), func(o []*choice) ([]engine.Field, any, error) {
		leaf, analyzer, err := b.leafOf(kind, o)
		return append(b.leafFields(kind, o, buildTime), engine.Field{Class: engine.Params, Path: "shards", Value: int64(b.shards)}),
			indexWork{leaf, analyzer, b.shards}, err
	})
	if err != nil {
		return asked{}, err
	}
	search = append(search,
		engine.Input{Name: "index", From: index, Output: "index"},
		engine.Input{Name: "chunks", From: index, Output: "chunks"})
	out.name = joined(name)
	out.run, err = b.stage(&engine.Stage{
		Address: address("search", name...), Kind: searchKind, Needs: engine.Resources{CPU: b.env.Threads}, Inputs: search,
	}, options, func(o []*choice) ([]engine.Field, any, error) {
		leaf, analyzer, err := b.leafOf(kind, o)
		return append(b.leafFields(kind, o, nil), b.depthField()), searchWork{leaf, analyzer, b.exp.Score.Depth}, err
	})
	if err != nil {
		return asked{}, err
	}
	out.ingest = include(append([]*engine.Stage(nil), out.ingest...), index)
	out.indexes = []*engine.Stage{index}
	out.ask = include(out.ask, out.run)
	return out, nil
}

func joined(names []string) string {
	s := names[0]
	for _, n := range names[1:] {
		s += " " + n
	}
	return s
}

func (b *builder) depthField() engine.Field {
	return engine.Field{Class: engine.Params, Path: "score.depth", Value: int64(b.exp.Score.Depth)}
}

// uses asks an instance which inputs it reads.
func (b *builder) uses(kind axes.Kind[retriever.Leaf], c *choice) (retriever.Uses, error) {
	leaf, err := instance(b.instances, kind, c.params)
	if err != nil {
		return retriever.Uses{}, b.blame([]*choice{c}, err)
	}
	return leaf.Uses(), nil
}

// leafOf makes the instances of a leaf and, when the leaf uses text, of the
// text option that follows it.
func (b *builder) leafOf(kind axes.Kind[retriever.Leaf], o []*choice) (retriever.Leaf, text.Analyzer, error) {
	leaf, err := instance(b.instances, kind, o[0].params)
	if err != nil || len(o) == 1 {
		return leaf, nil, err
	}
	textKind, _ := axes.Find(text.Kinds, o[1].opt.Kind)
	analyzer, err := instance(b.instances, textKind, o[1].params)
	return leaf, analyzer, err
}

func (b *builder) leafFields(kind axes.Kind[retriever.Leaf], o []*choice, admit func(param.Field) bool) []engine.Field {
	fields := o[0].fields(kind.Version, admit)
	if len(o) > 1 {
		textKind, _ := axes.Find(text.Kinds, o[1].opt.Kind)
		fields = append(fields, o[1].fields(textKind.Version, nil)...)
		fields = append(fields, b.languageField())
	}
	return fields
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
