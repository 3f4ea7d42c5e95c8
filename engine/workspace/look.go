package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/golden"
	"raglab/spec"
)

// Found is what a folder of documents holds, as far as a first spec needs it.
type Found struct {
	Dir       string
	Name      string
	Kind      string // the source kind
	Documents int
	Bytes     int
	Markdown  bool
	Language  string
	// Golden is the questions file, empty when the corpus brings its own or
	// none was found.
	Golden    string
	Questions int
	brings    bool
}

// Look examines a folder.
func Look(ctx context.Context, dir string) (*Found, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the documents: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := &Found{Dir: dir, Name: nameOf(filepath.Base(abs)), Kind: "files"}
	if hasBEIR(dir) {
		f.Kind, f.brings = "beir", true
	}
	if err := f.readCorpus(ctx); err != nil {
		return nil, err
	}
	if !f.brings {
		f.findQuestions()
	}
	return f, nil
}

func nameOf(folder string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(folder), "_")
	if name = strings.Trim(name, "_"); name == "" {
		return "documents"
	}
	return name
}

func hasBEIR(dir string) bool {
	for _, corpus := range []string{"corpus.jsonl", "docs.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, corpus)); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "queries.jsonl")); err == nil {
			return true
		}
	}
	return false
}

func (f *Found) readCorpus(ctx context.Context) error {
	exp, diags := spec.LoadSources(".", []spec.Source{{Name: "init.hcl", Bytes: []byte(fmt.Sprintf(
		"experiment \"init\" {}\ncorpus %q {\n  path = %q\n}\ngolden {\n  file = \"x\"\n}\nscore {\n  metrics = [\"ndcg@10\"]\n}\n", f.Kind, f.Dir))}}, spec.LoadOptions{Catalog: Catalog()})
	if exp == nil || exp.Corpus == nil {
		return diags
	}
	params, diags := exp.Params(exp.Corpus, nil, nil)
	if diags.HasErrors() {
		return diags
	}
	kind, _ := axes.Find(source.Kinds(), f.Kind)
	src, err := kind.New(params, axes.Env{})
	if err != nil {
		return err
	}
	cyrillic, letters := 0, 0
	counts := map[rune]int{}
	for doc, err := range src.Documents(ctx) {
		if err != nil {
			return err
		}
		f.Documents++
		f.Bytes += len(doc.Text)
		f.Markdown = f.Markdown || doc.Format == "markdown"
		for _, r := range doc.Text[:min(len(doc.Text), 4096)] {
			if r > 0x400 && r < 0x530 {
				cyrillic++
			}
			if r > ' ' {
				letters++
				counts[r]++
			}
		}
	}
	f.Language = languageOf(counts, letters, cyrillic)
	if q, ok := src.(source.Questioner); ok {
		if set, err := q.Questions(ctx); err == nil {
			f.Questions = len(set.Questions)
		}
	}
	return nil
}

// languageOf guesses the languages whose text raglab treats in ways of their
// own, by letters that only they use; empty when unsure.
func languageOf(counts map[rune]int, letters, cyrillic int) string {
	if letters == 0 {
		return ""
	}
	share := func(rs ...rune) float64 {
		n := 0
		for _, r := range rs {
			n += counts[r]
		}
		return float64(n) / float64(letters)
	}
	switch {
	case cyrillic*2 > letters && share('ї', 'є', 'ґ', 'і') > 0.01:
		return "uk"
	case share('ı', 'ğ', 'ş') > 0.01:
		return "tr"
	}
	return ""
}

// findQuestions looks for a file of judged questions in the folder and beside it.
func (f *Found) findQuestions() {
	for _, dir := range []string{f.Dir, filepath.Dir(filepath.Clean(f.Dir)), "golden", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			continue
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil || len(text) > 16<<20 {
				continue
			}
			if set, _, err := golden.Read(path, string(text), golden.Auto, golden.ReadOptions{}); err == nil && len(set.Questions) > 0 {
				f.Golden, f.Questions = path, len(set.Questions)
				return
			}
		}
	}
}

// Summary says what was found.
func (f *Found) Summary() string {
	s := fmt.Sprintf("%s, %d bytes of text", counted(f.Documents, "document"), f.Bytes)
	if f.Language != "" {
		s += ", in the language " + f.Language
	}
	switch {
	case f.Questions > 0 && f.brings:
		s += "; " + counted(f.Questions, "judged question") + " with them"
	case f.Questions > 0:
		s += "; " + counted(f.Questions, "judged question") + " in " + f.Golden
	default:
		s += "; no judged questions"
	}
	return s
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Write writes the spec, and a questions file when there is none. It returns
// the files, the spec first.
func (f *Found) Write(out string) ([]string, error) {
	if out == "" {
		out = filepath.Join("experiments", f.Name+".hcl")
	}
	var questions string
	if !f.brings && f.Golden == "" {
		questions = filepath.Join("golden", f.Name+".jsonl")
		f.Golden = questions
	}
	text, err := f.spec(filepath.Dir(out))
	if err != nil {
		return nil, err
	}
	written := []string{out}
	if err := create(out, text); err != nil {
		return nil, err
	}
	if questions != "" {
		if err := create(questions, exampleQuestion); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		written = append(written, questions+" (one example; write your own questions)")
	}
	return written, nil
}

const exampleQuestion = `{"id": "q1", "question": "Write a question here as people ask it", "relevant": [{"doc": "the id of a document that answers it"}], "tags": ["kind:factoid"]}
`

func create(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write spec: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// spec is the text of a first spec in that folder.
func (f *Found) spec(dir string) (string, error) {
	relative := func(path string) (string, error) {
		a, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		b, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(a, b)
		return filepath.ToSlash(rel), err
	}
	corpus, err := relative(f.Dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "experiment %q {\n  title = \"What finds the answers in %s?\"\n}\n\n", f.Name, f.Name)
	fmt.Fprintf(&b, "corpus %q {\n  path = %q\n", f.Kind, corpus)
	if f.Language != "" {
		fmt.Fprintf(&b, "  language = %q\n", f.Language)
	}
	b.WriteString("}\n\n")
	if f.Golden != "" {
		golden, err := relative(f.Golden)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "golden {\n  file = %q\n}\n\n", golden)
	}
	chunker := "sentence"
	if f.Markdown {
		chunker = "markdown_header"
	}
	fmt.Fprintf(&b, "axis \"chunker\" { use = [\"whole\", %q] }\n\naxis \"text\" { use = [\"simple\", \"prefix\"] }\n\n", chunker)
	b.WriteString("axis \"retriever\" {\n  option \"lexical\" { kind = \"bm25\" }\n  option \"dense\" { kind = \"exact\" }\n  option \"both\" {\n    kind = \"rrf\"\n    legs = [\"dense\", \"lexical\"]\n  }\n}\n\n")
	b.WriteString("score {\n  depth   = 30\n  metrics = [\"recall@5\", \"ndcg@10\", \"mrr@10\"]\n  primary = \"ndcg@10\"\n}\n\n")
	results, err := relative(filepath.Join("results", f.Name))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "output \"csv\" { path = %q }\noutput \"json\" { path = %q }\n", results+".csv", results+".json")
	src, diags := spec.Format("init.hcl", []byte(b.String()))
	if diags.HasErrors() {
		return "", diags
	}
	return string(src), nil
}
