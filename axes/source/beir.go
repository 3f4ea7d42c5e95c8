package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"raglab/axes"
	"raglab/golden"
	"raglab/internal/param"
)

// BEIRParams are the parameters of the kind beir.
type BEIRParams struct {
	Path    string `hcl:"path" default:"" path:"true" doc:"Folder or zip file of a data set in BEIR's layout."`
	Name    string `hcl:"name" default:"" doc:"Data set to fetch from BEIR's host, such as scifact, instead of path." example:"\"scifact\""`
	SHA256  string `hcl:"sha256" default:"" doc:"SHA-256 of the zip file that name fetches."`
	Lock    string `hcl:"lock" default:"" path:"true" doc:"File that pins what name fetches; raglab lock writes it."`
	Split   string `hcl:"split" default:"test" doc:"Which judgements to take."`
	Format  string `hcl:"format" default:"text" enum:"text|markdown" doc:"What the texts are written in."`
	Empty   string `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
	BaseURL string `hcl:"base_url" key:"-" default:"" doc:"Address below which NAME.zip is fetched, unless it is that of BEIR's host."`
}

// beirHost is the address that BEIR's documentation gives for its data sets.
const beirHost = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"

// BEIR is the kind of a data set in BEIR's layout, which brings its questions.
func BEIR() axes.Kind[Source] {
	return axes.Define(axes.Meta{
		Name:            "beir",
		Version:         "1",
		Summary:         "Documents and judged questions of a data set in BEIR's layout.",
		BringsQuestions: true,
		Doc: "The folder, or the zip file at its top or in its only folder, holds corpus.jsonl (or docs.jsonl), " +
			"queries.jsonl and qrels/SPLIT.tsv (or qrels.SPLIT.tsv, or for the split test qrels.tsv); any of them may end in .gz " +
			"or .zst. A file queries.SPLIT.jsonl goes before queries.jsonl. The corpus order is that of the lines, and so " +
			"is the questions'. A question without a judgement in the split is left out; how many were is a warning.\n\n" +
			"With name, the zip file is fetched from BEIR's host and kept. Its SHA-256 is checked where sha256 is set, or lock " +
			"names a file into which raglab lock has written it.",
	}, newBEIR)
}

func newBEIR(p BEIRParams, env axes.Env) (Source, error) {
	if err := checkSplit(p.Split); err != nil {
		return nil, err
	}
	s := &beir{path: p.Path, split: p.Split, format: p.Format, empty: p.Empty}
	switch {
	case p.Path != "" && p.Name != "":
		return nil, param.Errorf("name", "excludes path")
	case p.Path != "" && (p.SHA256 != "" || p.Lock != ""):
		return nil, param.Errorf("path", "excludes sha256 and lock: the key has the digests of local files")
	case p.Name != "":
		var err error
		if s.remote, err = newBEIRName(p, env); err != nil {
			return nil, err
		}
		return &beirByName{s}, nil
	case p.Path == "":
		return nil, param.Errorf("path", "is empty: give a path, or the name of a data set on BEIR's host")
	}
	return s, nil
}

type beir struct {
	warnings
	path, split, format, empty string
	// remote is nil for a local data set.
	remote *beirName
}

// open opens the data set, fetching it first where that is needed.
func (s *beir) open(ctx context.Context) (*dataset, error) {
	if s.remote == nil {
		return openDataset(s.path)
	}
	local, err := s.remote.fetch(ctx)
	if err != nil {
		return nil, err
	}
	set, err := openDataset(local)
	if err != nil {
		return nil, s.remote.blame(err)
	}
	set.name = s.remote.file()
	return set, nil
}

func (s *beir) Inputs(context.Context) ([]string, error) {
	if s.remote != nil {
		return lockInputs(s.remote.lock)
	}
	set, err := openDataset(s.path)
	if err != nil {
		return nil, err
	}
	paths := set.inputs(corpusNames(), queryNames(s.split), qrelNames(s.split))
	return paths, set.Close()
}

func (s *beir) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return s.reading(ctx, s.documents)
}

func (s *beir) documents(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	set, err := s.open(ctx)
	if err != nil {
		return nil, true, err
	}
	more = true
	err = set.read("corpus", corpusNames(), func(path string, r io.Reader) error {
		sh := shape{id: "_id", title: "title", text: "text", format: s.format}
		said, more, err = corpus(ctx, path, r, sh, s.empty, yield)
		return err
	})
	if closed := set.Close(); err == nil {
		err = closed
	}
	return said, more, err
}

// Questions implements [Questioner]: the split's judged questions in the order
// of the queries file.
func (s *beir) Questions(ctx context.Context) (*golden.Set, error) {
	set, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	var judged *judgements
	err = set.read("judgements", qrelNames(s.split), func(path string, r io.Reader) (err error) {
		judged, err = readQrels(ctx, path, r)
		return err
	})
	var questions []golden.Question
	var unjudged tally
	if err == nil {
		err = set.read("queries", queryNames(s.split), func(path string, r io.Reader) (err error) {
			questions, unjudged, err = readQueries(ctx, path, r, judged)
			return err
		})
	}
	if closed := set.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	s.setQuestions(judged.warnings(s.split, unjudged))
	return &golden.Set{Questions: questions}, nil
}

// readQueries reads the questions that have a judgement, and tells of those
// that have none. It takes their judgements out of the list, so that what is
// left there belongs to no question.
func readQueries(ctx context.Context, path string, r io.Reader, judged *judgements) ([]golden.Question, tally, error) {
	var (
		questions []golden.Question
		unjudged  tally
	)
	g := newGate(emptyError, func(line int) string { return fmt.Sprintf("line %d", line) })
	l := newLines(r)
	rd := recordReader{shape: shape{id: "_id", title: "", text: "text", format: "text"}, path: path}
	for {
		line, err := l.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, tally{}, unreadable(path, err)
		}
		if err := context.Cause(ctx); err != nil {
			return nil, tally{}, err
		}
		doc, ok := rd.document(line, l, &g.problems)
		if !ok || !g.checkID(doc.ID, l.number, path, l.number) {
			continue
		}
		if strings.TrimSpace(doc.Text) == "" {
			g.add(&Error{Path: path, Line: l.number, Problem: fmt.Sprintf("the question %q has no text", doc.ID)})
			continue
		}
		relevant := judged.take(doc.ID)
		if relevant == nil {
			unjudged.add(fmt.Sprintf("%q", doc.ID))
			continue
		}
		questions = append(questions, golden.Question{ID: doc.ID, Text: doc.Text, Relevant: relevant})
	}
	if len(questions) == 0 && !g.any() {
		g.add(&Error{Path: path, Problem: "no question has a judgement", Hint: "look whether queries and judgements belong together"})
	}
	return questions, unjudged, g.err()
}
