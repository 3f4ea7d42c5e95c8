package pipeline

import (
	"slices"
	"strings"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/engine"
	"raglab/golden"
	"raglab/spec"
)

// ownSource is the source that the questions have beside the corpus's.
type ownSource struct {
	source source.Source
	kind   axes.Kind[source.Source]
	params any
	files  []File
}

// goldenSource makes the source that the golden block names, nil when it names none.
func (b *builder) goldenSource() (*ownSource, error) {
	opt := b.exp.Golden.Source
	if opt == nil {
		return nil, nil
	}
	params, diags := b.exp.Params(opt, nil, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	own := &ownSource{params: params}
	own.kind, _ = axes.Find(source.Kinds(), opt.Kind)
	var err error
	if own.source, err = instance(b.instances, own.kind, params); err != nil {
		if d := b.exp.ParamError(opt, err); d != nil {
			return nil, d
		}
		return nil, err
	}
	paths, err := own.source.Inputs(b.ctx)
	if err != nil {
		return nil, sourceError(err)
	}
	own.files, err = b.env.Fingerprints.Files(paths)
	return own, err
}

// ownQuestions makes the stage one that reads the questions from a source of their
// own.
func (b *builder) ownQuestions(s *engine.Stage, own *ownSource) {
	const prefix = "golden.source"
	s.Fields = append(s.Fields,
		engine.Field{Class: engine.Params, Path: prefix + ".kind", Value: own.kind.Name},
		engine.Field{Class: engine.Code, Path: "source " + own.kind.Name, Value: own.kind.Version})
	s.Fields = append(s.Fields, paramFields(prefix, own.params, b.veil, nil)...)
	s.Fields = append(s.Fields, fileFields(prefix, own.params, own.files)...)
	s.Fields = append(s.Fields, placeFields(prefix, own.source)...)
	for _, f := range own.files {
		s.Outside += f.Size
	}
	if source.Remote(own.kind, own.source) {
		s.Kind, s.Needs = fetchedQuestionsKind, engine.Resources{Network: 1}
	}
	b.pins("golden", own.source)
}

// arrangeFields are the parameters that say how questions are arranged, where they are
// not as usual.
func arrangeFields(g spec.Golden) []engine.Field {
	var fields []engine.Field
	for _, f := range []struct{ name, value, usual string }{
		{"missing", g.Missing, "error"}, {"order", g.Order, "source"}, {"strip_prefix", g.StripPrefix, ""},
	} {
		if f.value != f.usual {
			fields = append(fields, engine.Field{Class: engine.Params, Path: "golden." + f.name, Value: f.value})
		}
	}
	return fields
}

// arrange strips and orders questions as the spec says.
func arrange(g spec.Golden, set *golden.Set) error {
	if g.StripPrefix != "" {
		for i := range set.Questions {
			q := &set.Questions[i]
			if rest, ok := strings.CutPrefix(q.Text, g.StripPrefix); ok {
				q.Text = strings.TrimSpace(rest)
			}
			if q.Text == "" {
				return &engine.InputError{Err: golden.Problems{{
					File: q.Pos.File, Line: q.Pos.Line, Summary: "question " + q.ID + " has no text but the prefix", Detail: "see strip_prefix of golden",
				}}}
			}
		}
	}
	if g.Order == "id" {
		slices.SortStableFunc(set.Questions, func(a, b golden.Question) int { return strings.Compare(a.ID, b.ID) })
	}
	return nil
}

// dropMissing drops the judgements of documents that the corpus lacks, and questions
// of which none is left. Questions that had none to begin with stay.
func dropMissing(set *golden.Set, has func(id string) bool, warn func(format string, args ...any)) {
	judgements, questions := 0, 0
	kept := set.Questions[:0]
	for _, q := range set.Questions {
		before := len(q.Relevant)
		q.Relevant = slices.DeleteFunc(slices.Clone(q.Relevant), func(r golden.Relevant) bool { return !has(r.Doc) })
		judgements += before - len(q.Relevant)
		if before > 0 && len(q.Relevant) == 0 {
			questions++
			continue
		}
		kept = append(kept, q)
	}
	set.Questions = kept
	if judgements > 0 {
		warn("%d judgements of documents that the corpus lacks were dropped, and %d questions with them", judgements, questions)
	}
}
