package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/spec"
)

// questionsWork is the work of the stage that reads the judged questions.
type questionsWork struct {
	golden spec.Golden
	source source.Source
	shards int
}

// questionsKind reads the judged questions, checks them against the corpus, and
// parts what is asked from how it is judged, so that a changed judgement asks
// nothing again.
var questionsKind = &engine.Kind{Name: "questions", Version: "2", Outputs: []string{"queries", "judgements", "golden"}, Pure: true, Cheap: true, Run: runQuestions}

// fetchedQuestionsKind is questionsKind for questions that come over the network.
var fetchedQuestionsKind = &engine.Kind{Name: "questions", Version: "2", Outputs: []string{"queries", "judgements", "golden"}, Run: runQuestions}

// queryLine is one line of the output queries.
type queryLine struct {
	ID   string `json:"_id"`
	Text string `json:"text"`
}

// questions adds the stage that reads the questions.
func (b *builder) questions(src source.Source, params any, corpusFiles []File) error {
	g := b.exp.Golden
	s := &engine.Stage{
		Address: address("questions", "golden"), Kind: questionsKind, Needs: engine.Resources{CPU: 1},
		Work:   questionsWork{g, src, b.shards},
		Inputs: []engine.Input{{Name: "order", From: b.p.Fetch, Output: "order"}},
		Fields: []engine.Field{{Class: engine.Params, Path: "golden.relevance", Value: g.Relevance}},
	}
	if g.Split != nil {
		s.Fields = append(s.Fields, splitFields(g.Split, "both")...)
	}
	var paths []string
	for _, p := range []string{g.File, g.Queries, g.Qrels} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	if b.env.Sketch {
		paths = slices.DeleteFunc(paths, func(p string) bool { _, err := os.Stat(p); return errors.Is(err, fs.ErrNotExist) })
	}
	files, err := b.env.Fingerprints.Files(paths)
	if err != nil {
		return err
	}
	for _, f := range files {
		s.Fields = append(s.Fields, engine.Field{Class: engine.Source, Path: "golden/" + nameBelow(f.Path, f.Path), Value: f.Digest.String()})
		s.Outside += f.Size
	}
	if g.File != "" {
		s.Fields = append(s.Fields,
			engine.Field{Class: engine.Params, Path: "golden.format", Value: g.Format},
			engine.Field{Class: engine.Params, Path: "golden.drafts", Value: g.Drafts})
	}
	s.Fields = append(s.Fields, arrangeFields(g)...)
	own, err := b.goldenSource()
	if err != nil {
		return err
	}
	switch {
	case own != nil:
		b.ownQuestions(s, own)
		s.Work, files = questionsWork{g, own.source, b.shards}, own.files
	case len(paths) == 0:
		s.Fields = append(s.Fields, fileFields("corpus", params, corpusFiles)...)
		s.Fields = append(s.Fields, paramFields("corpus", params, b.veil, nil)...)
		s.Fields = append(s.Fields, placeFields("corpus", src)...)
		s.Outside = b.p.Fetch.Outside
		files = corpusFiles
		if b.p.Fetch.Needs.Network > 0 {
			s.Kind, s.Needs = fetchedQuestionsKind, engine.Resources{Network: 1}
		}
	}
	s.Check = func() error { return Unchanged(files) }
	s.Inputs = append(s.Inputs, b.wholes...)
	if g.Relevance == "span" {
		s.Inputs = append(s.Inputs, b.documentInputs()...)
		s.Fields = append(s.Fields, engine.Field{Class: engine.Code, Path: "wording", Value: wordingVersion})
	}
	b.p.Questions = b.p.Graph.Add(s)
	return nil
}

func runQuestions(ctx context.Context, t *engine.Task) error {
	w := t.Work.(questionsWork)
	set, err := w.read(ctx, t.Warn)
	if err != nil {
		return err
	}
	contents, err := w.check(t, set)
	if err != nil {
		return err
	}
	for _, p := range golden.Lint(set) {
		t.Warn("%s", p)
	}
	w.count(t, set)
	return w.write(t, set, wordings(set, contents))
}

// read reads the questions from where the spec says they are, and arranges them as it
// says.
func (w questionsWork) read(ctx context.Context, warn func(format string, args ...any)) (*golden.Set, error) {
	set, err := w.readSet(ctx, warn)
	if err != nil {
		return nil, err
	}
	return set, arrange(w.golden, set)
}

func (w questionsWork) readSet(ctx context.Context, warn func(format string, args ...any)) (*golden.Set, error) {
	if w.golden.File == "" && w.golden.Queries == "" {
		set, err := w.source.(source.Questioner).Questions(ctx)
		if warner, ok := w.source.(source.Warner); ok && err == nil {
			for _, text := range warner.Warnings() {
				warn("%s", text)
			}
		}
		if err != nil {
			return nil, sourceError(err)
		}
		return set, nil
	}
	var set *golden.Set
	var warnings []golden.Problem
	var err error
	if w.golden.File != "" {
		set, warnings, err = parseFile(w.golden)
	} else {
		set, warnings, err = parseFiles(w.golden.Queries, w.golden.Qrels)
	}
	for _, p := range warnings {
		warn("%s", p)
	}
	if err != nil {
		return nil, &engine.InputError{Err: err}
	}
	return set, nil
}

func parseFile(g spec.Golden) (*golden.Set, []golden.Problem, error) {
	text, err := os.ReadFile(g.File)
	if err != nil {
		return nil, nil, fmt.Errorf("read questions: %w", err)
	}
	return golden.Read(g.File, string(text), golden.Format(g.Format), golden.ReadOptions{Drafts: g.Drafts})
}

func parseFiles(queries, qrels string) (*golden.Set, []golden.Problem, error) {
	q, err := os.ReadFile(queries)
	if err != nil {
		return nil, nil, fmt.Errorf("read questions: %w", err)
	}
	j, err := os.ReadFile(qrels)
	if err != nil {
		return nil, nil, fmt.Errorf("read judgements: %w", err)
	}
	return golden.ParseJudged(queries, string(q), qrels, string(j))
}

// check holds the questions against the corpus. It returns the texts of the judged
// documents where it has read them, which is for relevance by span.
func (w questionsWork) check(t *engine.Task, set *golden.Set) (contents map[string]string, err error) {
	known, ids, err := w.known(t, set)
	if err != nil {
		return nil, err
	}
	corpus := golden.Corpus{Has: func(id string) bool { return known[id] }, IDs: ids}
	if w.golden.Relevance == "chunk" {
		corpus.Has = func(id string) bool { return known[artifact.DocumentOf(id)] }
	}
	if w.golden.Missing == "drop" {
		dropMissing(set, corpus.Has, t.Warn)
		if len(set.Questions) == 0 {
			return nil, &engine.InputError{Err: errors.New("no question is left: the corpus has none of the documents that are judged")}
		}
	}
	if w.golden.Relevance == "span" {
		if contents, err = w.contents(t, set); err != nil {
			return nil, err
		}
		corpus.Content = func(id string) (string, bool) {
			s, ok := contents[id]
			return s, ok
		}
	}
	if problems := golden.Check(set, corpus); len(problems) > 0 {
		return nil, &engine.InputError{Err: golden.Problems(problems)}
	}
	return contents, nil
}

// known are the judged ids that are in the corpus; ids yields all that are, which are
// not held: a corpus may have very many.
func (w questionsWork) known(t *engine.Task, set *golden.Set) (known map[string]bool, ids iter.Seq[string], err error) {
	known, judged := map[string]bool{}, map[string]bool{}
	for _, q := range set.Questions {
		for _, r := range q.Relevant {
			judged[r.Doc], judged[artifact.DocumentOf(r.Doc)] = true, true
		}
	}
	var names []string // of wholes
	if w.golden.Within != "" {
		parts, err := readWholes(t)
		if err != nil {
			return nil, nil, err
		}
		names = slices.Sorted(slices.Values(parts.names))
	}
	for id, err := range idsOf(t, "order") {
		if err != nil {
			return nil, nil, err
		}
		if judged[id] {
			known[id] = true
		}
	}
	for _, id := range names {
		known[id] = true
	}
	return known, func(yield func(string) bool) {
		for id, err := range idsOf(t, "order") {
			if err != nil || !yield(id) { // it was read to its end before
				return
			}
		}
		for _, id := range names {
			if !yield(id) {
				return
			}
		}
	}, nil
}

// contents reads the texts of the documents that answer questions.
func (w questionsWork) contents(t *engine.Task, set *golden.Set) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, q := range set.Questions {
		for _, r := range q.Relevant {
			wanted[r.Doc] = true
		}
	}
	contents := make(map[string]string, len(wanted))
	for i := range w.shards {
		in, err := t.Open(shardName("documents", i))
		if err != nil {
			return nil, err
		}
		for doc, err := range artifact.ReadLines[axes.Document](in) {
			if err != nil {
				return nil, fmt.Errorf("read documents: %w", err)
			}
			if wanted[doc.ID] {
				contents[doc.ID] = doc.Content()
			}
		}
	}
	return contents, nil
}

func (w questionsWork) count(t *engine.Task, set *golden.Set) {
	dev, test := 0, len(set.Questions)
	if w.golden.Split != nil {
		isDev, isTest := partOf(w.golden.Split, "dev"), partOf(w.golden.Split, "test")
		test = 0
		for _, q := range set.Questions {
			switch {
			case isDev(q):
				dev++
			case isTest(q):
				test++
			}
		}
	}
	t.Measure("questions", len(set.Questions))
	t.Measure("dev", dev)
	t.Measure("test", test)
}

// write writes what is asked and how it is judged. Tags are judgements only when
// they part dev from test: otherwise a changed tag changes no score.
func (w questionsWork) write(t *engine.Task, set *golden.Set, wordings []*golden.Wording) error {
	if err := w.writeGolden(t, set, wordings); err != nil {
		return err
	}
	var queries, judgements bytes.Buffer
	ask, judge := json.NewEncoder(&queries), json.NewEncoder(&judgements)
	ask.SetEscapeHTML(false)
	judge.SetEscapeHTML(false)
	for _, q := range set.Questions {
		if err := ask.Encode(queryLine{q.ID, q.Text}); err != nil {
			return fmt.Errorf("write questions: %w", err)
		}
		q.Text = ""
		if w.golden.Split == nil || w.golden.Split.By != "tag" {
			q.Tags = nil
		}
		if err := judge.Encode(q); err != nil {
			return fmt.Errorf("write judgements: %w", err)
		}
	}
	if err := t.Write("queries", queries.Bytes()); err != nil {
		return err
	}
	return t.Write("judgements", judgements.Bytes())
}
