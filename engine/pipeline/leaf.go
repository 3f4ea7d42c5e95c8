package pipeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/internal/param"
	"raglab/spec"
)

// leafBuilder builds the index and the search of one leaf in one configuration.
type leafBuilder struct {
	*builder
	kind    axes.Kind[retriever.Leaf]
	options []*choice // the leaf's and, when it reads text, the text kind's
	uses    retriever.Uses
	// names are the options that the index depends on, before the leaf's own.
	names []string
	// leafNeeds and textNeeds are what the two kinds read besides their input.
	leafNeeds, textNeeds []engine.Field
	blocked              string
	// distance is what the ranking of a leaf approximates that may miss some of the
	// nearest vectors, or keeps them rounded, else empty.
	distance string
	rounded  bool
	pure     bool
	resident bool
	// workers are what the server takes besides, where the machine decided it.
	workers int
	out     asked
	index   index
	vectors []engine.Input // the chunks' embeddings
	search  []engine.Input
}

func (b *builder) leaf(cfg *spec.Configuration, fit fitting, chunks chunked, opt *spec.Option) (asked, error) {
	l := b.newLeaf(opt.Kind, chunks)
	if err := l.choose(cfg, fit, opt); err != nil {
		return asked{}, err
	}
	if err := l.add(cfg, fit); err != nil {
		return asked{}, err
	}
	if l.distance == "" || fit.given != nil {
		return l.out, nil // the candidates of a tuning are not held against anything
	}
	err := l.addCheck(cfg, fit)
	return l.out, err
}

func (b *builder) newLeaf(kind string, chunks chunked) *leafBuilder {
	l := &leafBuilder{builder: b, names: []string{chunks.name}, out: asked{chunks: chunks, ingest: chunks.stages}}
	l.kind, _ = axes.Find(retriever.Leaves, kind)
	l.search = []engine.Input{{Name: "queries", From: b.p.Questions, Output: "queries"}}
	return l
}

// add adds the stages of a leaf whose options are chosen.
func (l *leafBuilder) add(cfg *spec.Configuration, fit fitting) error {
	if l.uses.Vectors {
		if err := l.addVectors(cfg, fit); err != nil {
			return err
		}
	}
	if err := l.addIndex(); err != nil {
		return err
	}
	return l.addSearch()
}

// choose evaluates the leaf's option and, when the leaf reads text, the text
// kind's.
func (l *leafBuilder) choose(cfg *spec.Configuration, fit fitting, opt *spec.Option) error {
	c, err := l.builder.choose(opt, cfg, fit)
	if err != nil {
		return err
	}
	leaf, err := instance(l.instances, l.kind, c.params)
	if err != nil {
		return l.blame([]*choice{c}, err)
	}
	l.options = []*choice{c}
	l.look(leaf)
	if l.leafNeeds, l.blocked, err = l.builder.needs(l.kind.Needs(c.params)); err != nil {
		return l.blame([]*choice{c}, err)
	}
	if !l.uses.Text {
		return nil
	}
	t, err := l.builder.choose(cfg.Option(slotText), cfg, fit)
	if err != nil {
		return err
	}
	l.options = append(l.options, t)
	l.names = append(l.names, t.name)
	kind, _ := axes.Find(text.Kinds, t.opt.Kind)
	t.keep(kind.Version)
	var blocked string
	if l.textNeeds, blocked, err = l.builder.needs(kind.Needs(t.params)); err != nil {
		return l.blame([]*choice{t}, err)
	}
	l.blocked = cmp.Or(l.blocked, blocked)
	return nil
}

// look finds out what sort of leaf it is.
func (l *leafBuilder) look(leaf retriever.Leaf) {
	l.uses, l.pure = leaf.Uses(), !l.kind.Volatile
	if r, ok := leaf.(retriever.Resident); ok {
		l.resident = true
		l.workers, _ = strconv.Atoi(r.Settings()["workers"])
	}
	if a, ok := leaf.(retriever.Approximate); ok {
		distance, approximate := a.Approximate()
		l.pure = !approximate
		if approximate {
			l.distance = distance
		}
	}
	if r, ok := leaf.(retriever.Rounded); ok {
		if distance, rounded := r.Rounded(); rounded {
			l.distance, l.rounded = distance, true
		}
	}
}

// addVectors makes the embeddings of chunks and questions inputs.
func (l *leafBuilder) addVectors(cfg *spec.Configuration, fit fitting) error {
	e, err := l.embed(cfg, fit, l.out.chunks)
	if err != nil {
		return err
	}
	for i, s := range e.shards {
		l.vectors = append(l.vectors, engine.Input{Name: shardName("vectors", i), From: s, Output: "vectors"})
	}
	l.search = append(l.search, engine.Input{Name: "query_vectors", From: e.queries, Output: "vectors"})
	l.out.ingest = include(slices.Clone(l.out.ingest), e.shards...)
	l.out.ask = include(l.out.ask, e.queries)
	l.names = append(l.names, e.name)
	return nil
}

// buildTime tells the parameters that an index is built with from those that it
// is only searched with.
func buildTime(f param.Field) bool { return f.At != "search" }

// namedIndex tells index stages apart: the leaf's option, and the names of all that
// the index depends on.
type namedIndex struct {
	option *spec.Option
	names  string
}

// settingFields are what the machine decides for a build of a resident index.
func settingFields(leaf retriever.Leaf) []engine.Field {
	r, ok := leaf.(retriever.Resident)
	if !ok {
		return nil
	}
	var fields []engine.Field
	for name, value := range r.Settings() {
		fields = append(fields, engine.Field{Class: engine.Params, Path: "build." + name, Value: value})
	}
	return fields
}

func (l *leafBuilder) addSearch() (err error) {
	names := append(slices.Clone(l.names), l.options[0].name)
	l.out.name = joined(names)
	kind := searchKindPure
	if !l.pure {
		kind = searchKindVolatile
	}
	l.out.run, err = l.stage(&engine.Stage{
		Address: address("search", names...), Kind: kind,
		Needs: engine.Resources{CPU: l.env.Threads}, Blocked: l.blocked,
		Inputs: l.searchInputs(),
	}, l.options, func(o []*choice) ([]engine.Field, any, error) {
		leaf, analyzer, err := l.instancesOf(o)
		if d, ok := leaf.(retriever.DepthLimiter); ok && err == nil {
			err = d.CheckDepth(l.exp.Score.Depth)
		}
		return append(l.fields(o, nil), l.depthField()), searchWork{leaf, analyzer, l.exp.Score.Depth}, err
	})
	l.out.ask, l.out.legs = include(l.out.ask, l.out.run), []*engine.Stage{l.out.run}
	return err
}

// searched tells apart what searches read: an index, and the questions or their vectors.
type searched struct{ table, questions *engine.Stage }

// searchInputs are what the search reads, once for all searches of an index.
func (l *leafBuilder) searchInputs() []engine.Input {
	key := searched{l.index.table(), l.search[len(l.search)-1].From}
	in, ok := l.searches[key]
	if !ok {
		in = slices.Clip(append(append(l.search, l.index.inputs()...), l.index.names()))
		l.searches[key] = in
	}
	return in
}

// instancesOf makes the instances of the leaf and, when it reads text, of the
// text kind.
func (l *leafBuilder) instancesOf(o []*choice) (retriever.Leaf, text.Analyzer, error) {
	leaf, err := instance(l.instances, l.kind, o[0].params)
	if err != nil || len(o) == 1 {
		return leaf, nil, err
	}
	kind, _ := axes.Find(text.Kinds, o[1].opt.Kind)
	analyzer, err := instance(l.instances, kind, o[1].params)
	return leaf, analyzer, err
}

func (l *leafBuilder) fields(o []*choice, admit func(param.Field) bool) []engine.Field {
	fields := append(o[0].fields(l.kind.Version, admit), l.leafNeeds...)
	if len(o) > 1 {
		kind, _ := axes.Find(text.Kinds, o[1].opt.Kind)
		fields = append(fields, o[1].fields(kind.Version, nil)...)
		fields = append(fields, l.languageField())
		fields = append(fields, l.textNeeds...)
	}
	return fields
}

func joined(names []string) string { return strings.Join(names, " ") }

func (b *builder) depthField() engine.Field {
	return engine.Field{Class: engine.Params, Path: "score.depth", Value: int64(b.exp.Score.Depth)}
}
