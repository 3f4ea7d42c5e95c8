package pipeline

import (
	"slices"
	"strings"

	"raglab/engine"
)

// index are the stages that make the index of one leaf over one choice of chunks: one,
// or for a large corpus one for each of its parts, which may run on different machines,
// and one that puts the parts' chunks into the order of the corpus.
type index struct {
	parts []*engine.Stage
	join  *engine.Stage // nil where there is one part
}

// table is the stage that names the chunks by ordinal. It stands for the index.
func (x index) table() *engine.Stage {
	if x.join != nil {
		return x.join
	}
	return x.parts[0]
}

// stages are all of them.
func (x index) stages() []*engine.Stage {
	if x.join == nil {
		return x.parts
	}
	return append(slices.Clone(x.parts), x.join)
}

// inputs are what a search reads of the index: see [openIndex].
func (x index) inputs() []engine.Input {
	if x.join == nil {
		return []engine.Input{{Name: "index", From: x.parts[0], Output: "index"}}
	}
	in := make([]engine.Input, len(x.parts), len(x.parts)+1)
	for i, s := range x.parts {
		in[i] = engine.Input{Name: shardName("index", i), From: s, Output: "index"}
	}
	return append(in, engine.Input{Name: "ordinals", From: x.join, Output: "ordinals"})
}

// names is the input that names the chunks.
func (x index) names() engine.Input {
	return engine.Input{Name: "chunks", From: x.table(), Output: "chunks"}
}

// partsOf are the index stages that a stage stands for: see [index.table].
func partsOf(s *engine.Stage) []*engine.Stage {
	if s.Kind != joinKind {
		return []*engine.Stage{s}
	}
	var parts []*engine.Stage
	for _, in := range s.Inputs {
		if in.From.Kind.Name == "index" {
			parts = append(parts, in.From)
		}
	}
	return parts
}

// allParts are the index stages that some stages stand for.
func allParts(indexes []*engine.Stage) []*engine.Stage {
	var all []*engine.Stage
	for _, s := range indexes {
		all = append(all, partsOf(s)...)
	}
	return all
}

// indexName is what an index depends on, out of the address of the stage that stands
// for it.
func indexName(s *engine.Stage) string {
	_, name, _ := strings.Cut(s.Address, "[")
	return strings.TrimSuffix(name, "]")
}

// addIndex adds the stages of the index, once for all configurations that share it.
func (l *leafBuilder) addIndex() (err error) {
	building := l.options[0].atBuild()
	shared := namedIndex{building.opt, strings.Join(append(slices.Clone(l.names), building.name), "\x00")}
	found, ok := l.indexes[shared]
	if !ok {
		if found, err = l.newIndex(building); err != nil {
			return err
		}
		l.indexes[shared] = found
	}
	l.index = found
	l.out.ingest = include(slices.Clone(l.out.ingest), found.stages()...)
	l.out.indexes = []*engine.Stage{found.table()}
	return nil
}

func (l *leafBuilder) newIndex(building *choice) (index, error) {
	x, names := index{}, append(slices.Clone(l.names), building.name)
	if l.parts == 1 {
		s, err := l.newPart(building, address("index", names...), "order", l.whole())
		x.parts = append(x.parts, s)
		return x, err
	}
	for i := range l.parts {
		s, err := l.newPart(building, shardAddress("index", i, names...), shardName("order", i), l.part(i))
		if err != nil {
			return x, err
		}
		x.parts = append(x.parts, s)
	}
	x.join = l.p.Graph.Add(l.joinStage(names, x.parts))
	return x, nil
}

// newPart adds a stage that builds an index over some shards.
func (l *leafBuilder) newPart(building *choice, address, order string, shards shardRange) (*engine.Stage, error) {
	s := &engine.Stage{
		Address: address, Kind: indexKindVolatile,
		Needs: engine.Resources{CPU: 1 + l.workers, Memory: l.buildMemory(shards)}, Inputs: l.buildInputs(order, shards), Blocked: l.blocked,
	}
	if l.resident {
		s.Residence = l.env.Tables
	}
	if l.resident || l.pure { // a manifest does not change with what it describes
		s.Kind = indexKindPure
	}
	return l.stage(s, append([]*choice{building}, l.options[1:]...), func(o []*choice) ([]engine.Field, any, error) {
		leaf, analyzer, err := l.instancesOf(o)
		fields := append(l.fields(o, buildTime), engine.Field{Class: engine.Params, Path: "shards", Value: int64(l.shards)})
		if shards.n < shards.of {
			fields = append(fields, engine.Field{Class: engine.Params, Path: "shards.first", Value: int64(shards.first)})
		}
		return append(fields, settingFields(leaf)...), indexWork{leaf, analyzer, shards}, err
	})
}

// What building an index takes of memory, as measured with made texts of a million
// different words: so much, and so many times the texts; of vectors, whose length a plan
// does not know, what 1,024 numbers to a kilobyte of text take, or 384 to 400 bytes.
const (
	buildBytes  = 160 << 20
	textTimes   = 3
	vectorTimes = 8
)

// buildMemory is what building an index over some shards takes of the machine's memory,
// by the most that the plan knows them to have.
func (l *leafBuilder) buildMemory(shards shardRange) int64 {
	times := int64(textTimes)
	if l.uses.Vectors {
		times = vectorTimes
	}
	return buildBytes + times*l.size.most(l.sharding)*int64(shards.n)
}

// buildInputs are what an index over some shards is built from: their chunks and
// vectors, and the order of their documents.
func (l *leafBuilder) buildInputs(order string, shards shardRange) []engine.Input {
	in := shards.inputs(l.out.chunks.inputs(), "chunks")
	in = append(in, engine.Input{Name: "order", From: l.p.Fetch, Output: order})
	if l.vectors == nil {
		return in
	}
	return append(in, shards.inputs(l.vectors, "vectors")...)
}

// inputs are those of the shards, out of those of all.
func (r shardRange) inputs(all []engine.Input, name string) []engine.Input {
	in := slices.Clone(all[r.first : r.first+r.n])
	for i := range in {
		in[i].Name = shardName(name, i)
	}
	return in
}
