package source

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/golden"
	"raglab/internal/assets"
	"raglab/internal/param"
)

// HuggingFaceParams are the parameters of the kind huggingface.
type HuggingFaceParams struct {
	Repository      string   `hcl:"repository" doc:"Dataset repository, as OWNER/NAME." example:"\"BeIR/scifact\""`
	Revision        string   `hcl:"revision" default:"main" doc:"Commit, as its 40 digits; or a branch or a tag, which lock pins." example:"\"0000000000000000000000000000000000000000\""`
	Config          string   `hcl:"config" default:"" doc:"Folder of the files, where the repository has one for each of its configurations."`
	Split           string   `hcl:"split" default:"" doc:"Beginning of the files' names, such as train, which it is unless set."`
	Files           []string `hcl:"files" default:"" doc:"Patterns of the files with documents, instead of config and split."`
	ID              string   `hcl:"id" default:"_id" doc:"Column that holds a document's id: strings or whole numbers; empty numbers the rows from 1."`
	Title           string   `hcl:"title" default:"title" doc:"Column that holds its title; files may lack it."`
	Text            string   `hcl:"text" default:"text" doc:"Column that holds its text; a list of strings is joined by line ends."`
	Queries         []string `hcl:"queries" default:"" doc:"Patterns of the files with questions."`
	QueryID         string   `hcl:"query_id" default:"_id" doc:"Column that holds a question's id."`
	QueryText       string   `hcl:"query_text" default:"text" doc:"Column that holds its text."`
	Qrels           []string `hcl:"qrels" default:"" doc:"Patterns of the files with judgements."`
	QrelsColumns    []string `hcl:"qrels_columns" default:"query-id,corpus-id,score" doc:"Columns that hold a judgement's question, document and grade."`
	QrelsRepository string   `hcl:"qrels_repository" default:"" doc:"Dataset repository of the judgements, where they have one of their own." example:"\"BeIR/scifact-qrels\""`
	QrelsRevision   string   `hcl:"qrels_revision" default:"main" doc:"Revision of that."`
	Lock            string   `hcl:"lock" default:"" path:"true" doc:"File that pins the commit and the files; raglab lock writes it."`
	Format          string   `hcl:"format" default:"text" enum:"text|markdown" doc:"What the texts are written in."`
	Empty           string   `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
}

// HuggingFace is the kind of a dataset of a Hugging Face hub.
func HuggingFace() axes.Kind[Source] {
	kind := axes.Define(axes.Meta{
		Name:            "huggingface",
		Version:         "1",
		Resource:        axes.Network,
		Summary:         "Documents and judged questions of a dataset on a Hugging Face hub.",
		BringsQuestions: true,
		Doc: "Files are JSON lines (.jsonl, .json), CSV with a heading line, tab-separated values with a heading line, each also with .gz " +
			"or .zst, or Parquet. The corpus order is the byte order of the files' paths, then that of their rows. Without files they are those " +
			"in the folder config, or else in data or at the top, whose name begins with split. A pattern is that of the kind files.\n\n" +
			"A column in a structure is named with dots, such as answers.text. A list of strings is joined by line ends. Other columns " +
			"are not read: of a Parquet file no byte of them is, and memory holds a page of each column.\n\n" +
			"With queries and qrels it brings questions: those with a judgement, in the order of the files. Without files, config and split such a " +
			"source is for questions alone.\n\n" +
			"A commit fixes what is fetched, and each file is checked against what the hub says of it: the SHA-256 of a large file, the " +
			"git blob id of a small one. raglab lock writes commit, sizes and these digests into lock, for a branch or a tag too. " +
			"HF_ENDPOINT, HF_TOKEN, HF_HUB_CACHE, HF_HOME and HF_HUB_OFFLINE are honoured, and a file that the local cache of " +
			"Hugging Face's own tools has is taken from there.",
	}, newHuggingFace)
	return axes.QuestionsOf(kind, func(p HuggingFaceParams) string {
		if len(p.Queries) > 0 && len(p.Qrels) > 0 {
			return ""
		}
		return "set queries and qrels to the files with questions and judgements"
	})
}

func newHuggingFace(p HuggingFaceParams, env axes.Env) (Source, error) {
	getenv := env.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	s := &huggingFace{HuggingFaceParams: p, lock: p.Lock, hub: assets.NewDatasets(getenv, env.Client()), shelf: newShelf(env)}
	for name, repository := range map[string]string{"repository": p.Repository, "qrels_repository": p.QrelsRepository} {
		if name == "qrels_repository" && repository == "" {
			continue
		}
		if err := assets.CheckRepository(repository); err != nil || strings.Contains(repository, "@") {
			return nil, param.Errorf(name, "%q is not a dataset repository: expected OWNER/NAME", repository)
		}
	}
	switch {
	case p.Revision == "" || strings.ContainsAny(p.Revision, " ?#"):
		return nil, param.Errorf("revision", "%q is neither a commit nor a branch or tag", p.Revision)
	case p.Text == "":
		return nil, param.Errorf("text", "is empty")
	case (len(p.Queries) == 0) != (len(p.Qrels) == 0):
		return nil, param.Errorf("qrels", "and queries belong together: one has the questions, the other the judgements")
	case len(p.QrelsColumns) != 3:
		return nil, param.Errorf("qrels_columns", "has %d names, where those of question, document and grade are expected", len(p.QrelsColumns))
	}
	var err error
	if s.queries, err = parseGlobs("queries", p.Queries); err != nil {
		return nil, err
	}
	if s.qrels, err = parseGlobs("qrels", p.Qrels); err != nil {
		return nil, err
	}
	if s.files, err = p.documentGlobs(); err != nil {
		return nil, err
	}
	return s, nil
}

// checkNames refuses what is no folder and no beginning of a file's name.
func (p HuggingFaceParams) checkNames() error {
	const special = `*?[\`
	switch {
	case len(p.Files) > 0 && (p.Config != "" || p.Split != ""):
		return param.Errorf("files", "excludes config and split")
	case strings.ContainsAny(p.Split, special+"/"):
		return param.Errorf("split", "%q is no beginning of a file's name, such as train", p.Split)
	case strings.ContainsAny(p.Config, special), strings.HasPrefix(p.Config, "/"), strings.HasSuffix(p.Config, "/"):
		return param.Errorf("config", "%q is no folder of a repository", p.Config)
	}
	return nil
}

// documentGlobs are the patterns of the files with documents.
func (p HuggingFaceParams) documentGlobs() ([]glob, error) {
	if err := p.checkNames(); err != nil || len(p.Files) > 0 {
		globs, wrong := parseGlobs("files", p.Files)
		return globs, errors.Join(err, wrong)
	}
	split := p.Split
	if split == "" {
		if p.Config == "" && len(p.Queries) > 0 {
			return nil, nil
		}
		split = "train"
	}
	folders := [][]string{{"data"}, nil}
	if p.Config != "" {
		folders = [][]string{strings.Split(p.Config, "/")}
	}
	var globs []glob
	for _, folder := range folders {
		for _, rest := range []string{"-*", ".*"} {
			globs = append(globs, append(slices.Clone(glob(folder)), split+rest))
		}
	}
	return globs, nil
}

type huggingFace struct {
	warnings
	HuggingFaceParams
	lock                  string
	hub                   assets.Datasets
	shelf                 *shelf
	files, queries, qrels []glob
	resolving             resolving
}

func (s *huggingFace) name() string { return "dataset " + s.Repository }

func (s *huggingFace) Inputs(context.Context) ([]string, error) { return lockInputs(s.lock) }

// Place implements [Placed].
func (s *huggingFace) Place() string {
	if s.Unpinned() == "" {
		return ""
	}
	return s.hub.Endpoint()
}

// Unpinned implements [Pinner].
func (s *huggingFace) Unpinned() string {
	fixed := commitPattern.MatchString(s.Revision) &&
		(s.QrelsRepository == "" || commitPattern.MatchString(s.QrelsRevision))
	if fixed && s.lock == "" {
		return ""
	}
	return unpinned(s.name(), s.lock, " a commit as revision, or")
}

// LockFile implements [Pinner].
func (s *huggingFace) LockFile() string { return s.lock }

func (s *huggingFace) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return s.reading(ctx, s.documents)
}

// documents reads the corpus. See [corpus] for what it returns.
func (s *huggingFace) documents(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	if len(s.files) == 0 {
		return nil, true, &Error{Path: s.name(), Problem: "names no file with documents", Hint: "set files, or config and split"}
	}
	members, err := s.fetch(ctx, documentsOf)
	if err != nil {
		return nil, true, err
	}
	g := newGate(s.Empty, func(n int) string {
		return fmt.Sprintf("%s, line %d", members[n/recordsPerFile].at, n%recordsPerFile)
	})
	number := 0
	more = true
	for i, m := range members {
		wants := []want{{s.ID, false}, {s.Title, true}, {s.Text, false}}
		err := readTable(m, wants, func(at string, t table) (err error) {
			return eachRow(ctx, at, t, &g.problems, func(row []*string) bool {
				number++
				doc := s.document(row, number)
				if doc, ok := checkedRow(doc, at, t.line(), g); ok && g.admit(doc, recordNumber(i, t.line()), at, t.line()) {
					more = yield(doc, nil)
				}
				return more
			})
		})
		if err != nil || !more {
			return nil, more, err
		}
	}
	return g.notes.warnings(), true, g.end(s.name(), "the files hold no row")
}

func (s *huggingFace) document(row []*string, number int) axes.Document {
	doc := axes.Document{ID: textOrEmpty(row[0]), Title: textOrEmpty(row[1]), Text: textOrEmpty(row[2])}
	if s.ID == "" {
		doc.ID = fmt.Sprint(number)
	}
	if s.Format != formatText {
		doc.Format = s.Format
	}
	return doc
}

// Questions implements [Questioner].
func (s *huggingFace) Questions(ctx context.Context) (*golden.Set, error) {
	if len(s.queries) == 0 {
		return nil, &Error{Path: s.name(), Problem: "brings no questions", Hint: "set queries and qrels"}
	}
	judged, err := s.judgements(ctx)
	if err != nil {
		return nil, err
	}
	questions, unjudged, err := s.readQueries(ctx, judged)
	if err != nil {
		return nil, err
	}
	s.setQuestions(judged.warnings("of "+s.name(), unjudged))
	return &golden.Set{Questions: questions}, nil
}
