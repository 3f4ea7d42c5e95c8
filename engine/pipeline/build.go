package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/metric"
	"raglab/engine"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/spec"
)

// Pipeline is an experiment as a graph of stages.
type Pipeline struct {
	Experiment *spec.Experiment
	Graph      *engine.Graph
	// Rows run parallel to the configurations they were built for.
	Rows  []Row
	Tunes []Tuning
	// Questions is the stage that reads the judged questions.
	Questions *engine.Stage
	// Fetch is the stage that reads the corpus.
	Fetch *engine.Stage
	// Assets are the names of the assets that some stage needs, sorted.
	Assets []string
	// Lost keeps where rows lost questions from one report to the next; it may be nil.
	Lost *report.LossMemory
	// Pins are the sources whose content a lock file may fix.
	Pins []Pin

	instances *instances
}

// Row is what one configuration of the cross consists of.
type Row struct {
	Configuration *spec.Configuration
	// Score is the stage that scores the test questions, Dev the one that
	// scores the dev questions, nil without a split.
	Score, Dev *engine.Stage
	// Ingest are the stages that make its indexes: chunk, embed, index and, of a corpus
	// in parts, join.
	Ingest []*engine.Stage
	// Indexes are those among them that stand for an index: the index stage or, of a
	// corpus in parts, the join stage over those of the parts.
	Indexes []*engine.Stage
	// Ask are the stages that a question passes through.
	Ask []*engine.Stage
	// Checks hold approximate indexes among them against exact search.
	Checks []*engine.Stage
	// Run is the stage that makes the ranking that is scored. Found is the one that
	// makes the ranking before reranking: the same without a reranker. Legs search:
	// one stage, or those whose rankings are fused into Found.
	Run, Found *engine.Stage
	Legs       []*engine.Stage
	// Chunks names the chunker with what else tells its chunks apart.
	Chunks string
	// Abstains are the stages of the row's abstention curves.
	Abstains []RowAbstain
}

// RowAbstain is an abstain block with the stage that makes its curve for a row.
type RowAbstain struct {
	Block *spec.Abstain
	Stage *engine.Stage
}

// Tuning is a tune stage with the rows that read its choice.
type Tuning struct {
	Stage *engine.Stage
	Rows  []int
}

// Build makes the graph for some configurations of an experiment. It reads the
// local files that the corpus and the questions consist of, to name their
// content, and nothing else. Diagnostics are [hcl.Diagnostics] in the error.
func Build(ctx context.Context, exp *spec.Experiment, rows []*spec.Configuration, env Env) (*Pipeline, error) {
	b := newBuilder(ctx, exp, env)
	if err := b.common(); err != nil {
		return nil, err
	}
	if err := b.tunings(rows); err != nil {
		return nil, err
	}
	b.p.Rows = make([]Row, 0, len(rows))
	for _, cfg := range rows {
		row, err := b.row(cfg)
		if err != nil {
			return nil, err
		}
		b.p.Rows = append(b.p.Rows, row)
	}
	return b.p, nil
}

// Close releases what instances hold: sessions of models, memories.
func (p *Pipeline) Close() error { return p.instances.close() }

type builder struct {
	ctx       context.Context
	exp       *spec.Experiment
	env       Env
	p         *Pipeline
	firsts    map[string]cty.Value
	instances *instances
	sharding
	size    corpusSize
	metrics []metric.Metric
	// wholes is the input that says which documents are parts of others, if that
	// counts.
	wholes []engine.Input
	// tuned finds the tune stage of a configuration's variable.
	tuned map[string]*engine.Stage
	// chunked, embedded and indexes remember the stages of options that rows share.
	chunked  map[sharded]chunked
	embedded map[sharded]embedded
	indexes  map[namedIndex]index
	searches map[searched][]engine.Input
	// exact is the option of all exact twins, once there is one.
	exact *choice
	// chosen are the choices of options that are the same in all configurations.
	chosen   map[*spec.Option]*choice
	chunkers []axes.Kind[chunker.Chunker]
	// scores is what the score stages of a part of the questions have in common,
	// lists what rows have: see [builder.sharedList].
	scores map[string]partScore
	lists  map[string][]*engine.Stage
	buf    []byte
}

// partScore is the definition of score stages.
type partScore struct {
	fields []engine.Field
	work   any
}

// sharded names the stages, one for each shard, of an option: by what it is
// applied to, its name and its parameters, which package spec shares.
type sharded struct {
	of, name string
	params   any
}

func newBuilder(ctx context.Context, exp *spec.Experiment, env Env) *builder {
	b := &builder{
		ctx: ctx, exp: exp, env: env, firsts: exp.FirstOfGrids(), instances: newInstances(env, exp.Language),
		p:       &Pipeline{Experiment: exp, Graph: engine.NewGraph()},
		chunked: map[sharded]chunked{}, embedded: map[sharded]embedded{}, indexes: map[namedIndex]index{}, searches: map[searched][]engine.Input{},
		chosen: map[*spec.Option]*choice{}, chunkers: chunker.Kinds(),
		scores: map[string]partScore{}, lists: map[string][]*engine.Stage{},
	}
	b.p.instances = b.instances
	return b
}

func (b *builder) common() error {
	var err error
	if b.metrics, err = metric.ParseAll(b.exp.Score.Metrics); err != nil {
		return err
	}
	return b.corpus()
}

// row builds one configuration with its tuned parameters as chosen.
func (b *builder) row(cfg *spec.Configuration) (Row, error) {
	fit := fitting{chosen: map[string]*engine.Stage{}, group: map[string]string{}}
	for _, t := range b.exp.TunesOf(cfg) {
		name := variableName(t, cfg)
		fit.chosen[t.Name] = b.tuned[name]
		fit.group[t.Name] = name
	}
	asked, err := b.ask(cfg, fit)
	if err != nil {
		return Row{}, err
	}
	row := Row{
		Configuration: cfg, Run: asked.run, Found: asked.found, Legs: asked.legs, Ask: asked.ask, Chunks: asked.chunks.name,
		Ingest: b.sharedList(asked.ingest), Indexes: b.sharedList(asked.indexes), Checks: b.sharedList(asked.checks),
	}
	row.Score = b.score(asked, "test")
	if b.exp.Golden.Split != nil {
		row.Dev = b.score(asked, "dev")
	}
	row.Abstains, err = b.abstain(cfg, fit, asked)
	return row, err
}

// sharedList is an equal list that an earlier row has, or the list itself.
func (b *builder) sharedList(list []*engine.Stage) []*engine.Stage {
	if len(list) == 0 {
		return nil
	}
	b.buf = b.buf[:0]
	for _, s := range list {
		b.buf = binary.AppendUvarint(b.buf, uint64(s.Index()))
	}
	same, ok := b.lists[string(b.buf)]
	if !ok {
		same = list
		b.lists[string(b.buf)] = list
	}
	return same
}

// asked is the part of a pipeline that ends in a run.
type asked struct {
	run    *engine.Stage
	found  *engine.Stage // the run before reranking
	name   string
	chunks chunked
	ingest, indexes,
	legs, ask, checks []*engine.Stage
}

// include adds stages that are not in the list yet.
func include(list []*engine.Stage, more ...*engine.Stage) []*engine.Stage {
next:
	for _, s := range more {
		for _, have := range list {
			if have == s {
				continue next
			}
		}
		list = append(list, s)
	}
	return list
}

// ask builds the run of a configuration: retriever, then reranker.
func (b *builder) ask(cfg *spec.Configuration, fit fitting) (asked, error) {
	chunks, err := b.chunk(cfg, fit)
	if err != nil {
		return asked{}, err
	}
	found, err := b.retrieve(cfg, fit, chunks, cfg.Option(slotRetriever))
	if err != nil {
		return asked{}, err
	}
	found.found = found.run
	return b.rerank(cfg, fit, found)
}

// address names a stage by the options it depends on.
func address(kind string, options ...string) string {
	return kind + "[" + strings.Join(options, " ") + "]"
}

// shardAddress is the address of a stage that there is one of for each shard.
func shardAddress(kind string, shard int, options ...string) string {
	return address(kind, options...) + fmt.Sprintf("#%03d", shard)
}

// stage adds a stage whose definition depends on options. The function make
// turns the options, resolved, into fields and work.
func (b *builder) stage(s *engine.Stage, options []*choice, make func(options []*choice) ([]engine.Field, any, error)) (*engine.Stage, error) {
	var err error
	if s.Fields, s.Work, err = make(options); err != nil {
		return nil, b.blame(options, err)
	}
	for _, c := range options {
		for _, in := range c.lateInputs() {
			if !hasInput(s.Inputs, in.Name) {
				s.Inputs = append(s.Inputs, in)
			}
		}
	}
	if len(s.Inputs) > 0 && s.Inputs[len(s.Inputs)-1].Late {
		s.Late = func(read func(string) ([]byte, error)) ([]engine.Field, any, error) {
			resolved, err := b.resolveAll(options, read)
			if err != nil {
				return nil, nil, err
			}
			return make(resolved)
		}
	}
	return b.p.Graph.Add(s), nil
}

func hasInput(inputs []engine.Input, name string) bool {
	for _, in := range inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

func (b *builder) resolveAll(options []*choice, read func(string) ([]byte, error)) ([]*choice, error) {
	out := make([]*choice, len(options))
	for i, c := range options {
		var err error
		if out[i], err = b.resolve(c, read); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// blame shows an option's error where the option stands in the spec.
func (b *builder) blame(options []*choice, err error) error {
	for _, c := range options {
		if d := b.exp.ParamError(c.opt, err); d != nil {
			return d
		}
	}
	return err
}

// score adds the stage that scores a run on one part of the questions.
func (b *builder) score(a asked, part string) *engine.Stage {
	common, ok := b.scores[part]
	if !ok {
		common = b.newPartScore(part)
		b.scores[part] = common
	}
	return b.p.Graph.Add(&engine.Stage{
		Address: address("score", a.name+" "+part),
		Kind:    scoreKind,
		Needs:   engine.Resources{CPU: 1},
		Fields:  common.fields,
		Inputs:  b.judgingInputs(a),
		Work:    common.work,
	})
}

func (b *builder) newPartScore(part string) partScore {
	split := b.exp.Golden.Split
	names := make([]engine.Value, len(b.metrics))
	for i, m := range b.metrics {
		names[i] = m.Name()
	}
	fields := append(b.judgingFields(), engine.Field{Class: engine.Params, Path: "score.metrics", Value: names})
	for _, m := range b.metrics {
		fields = append(fields, engine.Field{Class: engine.Code, Path: "metric " + m.Name(), Value: m.Kind().Version})
	}
	if split != nil {
		fields = append(fields, splitFields(split, part)...)
	}
	return partScore{slices.Clip(fields), scoreWork{judging: b.judging(), metrics: b.metrics, part: partOf(split, part)}}
}

func splitFields(s *spec.Split, part string) []engine.Field {
	f := []engine.Field{
		{Class: engine.Params, Path: "golden.split.by", Value: s.By},
		{Class: engine.Params, Path: "golden.split.part", Value: part},
	}
	if s.By == "hash" {
		return append(f,
			engine.Field{Class: engine.Params, Path: "golden.split.dev", Value: s.Dev},
			engine.Field{Class: engine.Params, Path: "golden.split.salt", Value: s.Salt})
	}
	return append(f,
		engine.Field{Class: engine.Params, Path: "golden.split.dev_tag", Value: s.DevTag},
		engine.Field{Class: engine.Params, Path: "golden.split.test_tag", Value: s.TestTag})
}

// partOf tells whether a question belongs to a part. Without a split every
// question is a test question.
func partOf(s *spec.Split, part string) func(golden.Question) bool {
	if s == nil {
		return nil
	}
	split := golden.Split{By: s.By, Dev: s.Dev, Salt: s.Salt, DevTag: s.DevTag, TestTag: s.TestTag}
	return func(q golden.Question) bool { return string(split.Part(q)) == part }
}

// needs returns the fields for what a kind reads besides its inputs, and why it
// cannot run on this machine as it is.
func (b *builder) needs(n axes.Needs) (fields []engine.Field, blocked string, err error) {
	if name := b.env.PostgresAsset; n.Postgres && name != "" {
		// Which programs run the server is no part of a key: one that the user
		// named would give the same.
		b.needAsset(name)
		blocked = b.env.Assets.Missing(name)
	}
	for _, name := range n.Assets {
		b.needAsset(name)
		digest, err := b.env.Assets.Digest(name)
		if err != nil {
			return nil, "", err
		}
		fields = append(fields, engine.Field{Class: engine.Model, Path: name, Value: digest})
		if missing := b.env.Assets.Missing(name); missing != "" && blocked == "" {
			blocked = missing
		}
	}
	for _, name := range n.Services {
		fields = append(fields, engine.Field{Class: engine.Model, Path: serverPath, Value: name})
	}
	for _, path := range n.Files {
		names, err := below(path)
		if err != nil {
			return nil, "", err
		}
		files, err := b.env.Fingerprints.Files(names)
		if err != nil {
			return nil, "", err
		}
		for _, f := range files {
			fields = append(fields, engine.Field{Class: engine.Model, Path: nameBelow(path, f.Path), Value: f.Digest.String()})
		}
	}
	return fields, blocked, nil
}

// needAsset puts an asset on the pipeline's list.
func (b *builder) needAsset(name string) {
	if at, have := slices.BinarySearch(b.p.Assets, name); !have {
		b.p.Assets = slices.Insert(b.p.Assets, at, name)
	}
}

func variableName(t *spec.Tune, cfg *spec.Configuration) string {
	if g := t.Group(cfg); g != "" {
		return fmt.Sprintf("%s[%s]", t.Name, g)
	}
	return t.Name
}
