package pipeline

import (
	"fmt"
	"path/filepath"
	"strings"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/cache"
	"raglab/engine"
	"raglab/internal/param"
)

// manyFiles is how many local files a key names one by one. Beyond, they enter
// it as one digest, and a changed file is no longer named.
const manyFiles = 2_000

// corpus adds the stages that read the corpus and the questions.
func (b *builder) corpus() error {
	src, params, files, err := b.fetch()
	if err != nil {
		return err
	}
	b.within()
	return b.questions(src, params, files)
}

// fetch adds the stage that reads the corpus. It returns the source with its
// parameters and the local files that it reads.
func (b *builder) fetch() (source.Source, any, []File, error) {
	opt := b.exp.Corpus
	params, diags := b.exp.Params(opt, nil, nil)
	if diags.HasErrors() {
		return nil, nil, nil, diags
	}
	kind, _ := axes.Find(source.Kinds(), opt.Kind)
	src, err := instance(b.instances, kind, params)
	if err != nil {
		if d := b.exp.ParamError(opt, err); d != nil {
			return nil, nil, nil, d
		}
		return nil, nil, nil, err
	}
	paths, err := src.Inputs(b.ctx)
	if err != nil {
		return nil, nil, nil, sourceError(err)
	}
	files, err := b.env.Fingerprints.Files(paths)
	if err != nil {
		return nil, nil, nil, err
	}
	local := !source.Remote(kind, src)
	size, err := b.corpusSize(src, local, files)
	if err != nil {
		return nil, nil, nil, err
	}
	b.size, b.sharding = size, shardsFor(size.bytes)
	if b.env.cut != nil {
		b.sharding = b.env.cut(size.bytes)
	}
	s := &engine.Stage{
		Address: address("fetch", opt.Label),
		Kind:    fetchKind(b.sharding, local),
		Needs:   engine.Resources{CPU: 1}, Outside: bytesOf(files),
		Work:   fetchWork{src, b.sharding, size},
		Fields: append(paramFields("corpus", params, b.veil, nil), fileFields("corpus", params, files)...),
		Check:  func() error { return Unchanged(files) },
	}
	if !local {
		s.Needs = engine.Resources{Network: 1}
	}
	s.Fields = append(s.Fields, placeFields("corpus", src)...)
	b.pins("corpus", src)
	s.Fields = append(s.Fields,
		engine.Field{Class: engine.Params, Path: "corpus.kind", Value: opt.Kind},
		engine.Field{Class: engine.Code, Path: "source " + opt.Kind, Value: kind.Version},
		engine.Field{Class: engine.Params, Path: "shards", Value: int64(b.shards)})
	b.p.Fetch = b.p.Graph.Add(s)
	return src, params, files, nil
}

func bytesOf(files []File) (total int64) {
	for _, f := range files {
		total += f.Size
	}
	return total
}

// fileFields name the content of local files by their place below the path that
// a parameter gave.
func fileFields(prefix string, params any, files []File) []engine.Field {
	bases := pathParams(params)
	if len(files) > manyFiles {
		var buf []byte
		for _, f := range files {
			buf = engine.AppendValue(buf, placeOf(bases, f.Path))
			buf = append(buf, f.Digest[:]...)
		}
		return []engine.Field{{Class: engine.Source, Path: fmt.Sprintf("%s (%d files)", prefix, len(files)), Value: cache.DigestOf(buf).String()}}
	}
	fields := make([]engine.Field, len(files))
	for i, f := range files {
		fields[i] = engine.Field{Class: engine.Source, Path: prefix + "/" + placeOf(bases, f.Path), Value: f.Digest.String()}
	}
	return fields
}

// pathParams are the values of parameters that are local paths.
func pathParams(params any) []string {
	var paths []string
	for _, f := range param.MustFields(params) {
		if s, ok := f.Get(params).(string); ok && f.Path && s != "" {
			paths = append(paths, s)
		}
	}
	return paths
}

// placeOf is the file's place below the path that a parameter gave.
func placeOf(bases []string, file string) string {
	for _, base := range bases {
		if rel, err := filepath.Rel(base, file); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nameBelow(base, file)
		}
	}
	return filepath.Base(file)
}
