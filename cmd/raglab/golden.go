package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"raglab/engine/workspace"
	"raglab/golden"
	"raglab/spec"
)

const goldenHelp = `Usage: raglab golden generate|check|stats|agreement|convert [ARGUMENTS] [flags]

Makes and checks judged questions. SPEC is a spec, FILE a file of questions: in
raglab's own shape, in that of rag-eval or in that of turkish-rag-eval.

generate [SPEC]          make questions of a corpus's own text
  -out FILE                where to (default: the spec's golden file)
  -styles LIST             of lead, section, factoid, lemma (default all)
  -count N                 questions in each style, 0 for all (default 12)
  -seed N                  what decides where there are more (default 1)
  -dev SHARE               tagged split:dev, by a hash of the id (default: as the
                           spec splits by hash, else 50%)
  -source NAME             for the tag source:NAME:DOCUMENT (default: the spec's name)
  -dropped FILE            every candidate that was dropped, with the reason
  -to FORMAT               raglab or rag-eval (default raglab)
  -force                   overwrite the files
check SPEC|FILE          say what is wrong or doubtful about questions
  -span-min N, -span-max N a span's length in characters (default 20 and 400)
  -copied SHARE            of a question's words that may stand in the span (default 60%)
  -jaccard X               near-duplicates: the index of the words (default 0.7)
  -containment X           and of three-letter runs (default 0.9)
  -part SHARE              least share of dev and of test questions (default 20%)
  -strict                  warnings fail, too
stats SPEC|FILE          count and measure questions
  -markdown                as Markdown
agreement A [B]          compare two annotations of the same questions: two files,
                         or a file or spec whose questions were annotated twice
  -spec SPEC               Cohen's kappa for the chunkers of this spec
  -rule NAME               jaccard or f1 (default jaccard)
convert FILE -out FILE   write questions in another shape
  -to FORMAT               raglab, rag-eval or turkish-rag-eval (default raglab)
  -force                   overwrite the file

  -corpus PATH         documents, instead of those of a spec: a folder or a file
                       of JSON lines (generate, check, agreement)
  -language TAG        their language, as uk
  -format FORMAT       how a FILE is read: auto, raglab, rag-eval or
                       turkish-rag-eval (default auto)
  -drafts              take questions that a model drafted, too
  -text LABEL          compare words by this text option of the spec
  -json                one JSON object (check, stats, agreement)
` + specHelp + `
The questions that generate makes, and its curation rule:
  lead      the definition half of an article's first sentence, without its name
  section   the title and the heading of a section
  factoid   a sentence beyond the lead with a date or figure, without both it and
            the name
  lemma     the first eight content words of such a sentence in dictionary form;
            needs a dictionary (it, tr, uk)
A candidate is dropped when it has fewer than four tokens (section: two) or more
than twenty-four, fewer than three content words (section: one), at least half of
the title's content words (but section), the content words of another candidate,
no term that fewer than a fifth of the documents hold, or an article that has a
question. What a retriever finds never counts. An article gives at most three
candidates in each style. The same corpus and seed give the same bytes.

check finds, as errors: documents that are not there, spans that are not in their
document, lengths of spans, copied words, questions tagged for both parts or none,
questions asked twice; as warnings: near-duplicates, within a part and between dev
and test, one span for dev and test questions, parts or kinds with few questions,
questions to which nothing is relevant. Words are compared as the text kind simple
finds them; in Turkish by their first five letters, without stop words.

agreement: identical is by words; IoU and F1 are of words; kappa is over the chunks
of the question's documents, by whether they hold the answer, averaged over
questions. Two agree when one span holds the other, or by the rule when the Jaccard
index of their words is at least 0.6 (jaccard) or their F1 at least 0.5 (f1).

Exit codes: 0 done, and nothing but warnings found; 1 error; 3 check found errors,
or with -strict warnings; 130 interrupted.
`

func goldenCommand() command {
	return command{"golden", "make, check and compare judged questions", goldenHelp, runGolden}
}

// goldenWords are the words behind golden.
func goldenWords() map[string]func(ctx context.Context, t terminal, args []string) int {
	return map[string]func(ctx context.Context, t terminal, args []string) int{
		"generate": runGoldenGenerate, "check": runGoldenCheck, "stats": runGoldenStats,
		"agreement": runGoldenAgreement, "convert": runGoldenConvert,
	}
}

func runGolden(ctx context.Context, t terminal, argv []string) int {
	if len(argv) == 0 {
		fmt.Fprint(t.err, goldenHelp)
		return exitError
	}
	words := goldenWords()
	if run, ok := words[argv[0]]; ok {
		return run(ctx, t, argv[1:])
	}
	if argv[0] == "-h" || argv[0] == "-help" || argv[0] == "--help" {
		fmt.Fprint(t.out, goldenHelp)
		return exitOK
	}
	var names []string
	for name := range words {
		names = append(names, name)
	}
	err := fmt.Errorf("there is no %q", argv[0])
	if near := spec.Suggest(argv[0], names); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return t.fail("golden", err)
}

// goldenArgs are the flags that the words of golden share.
type goldenArgs struct {
	specArgs
	corpus, language, option string
	format                   golden.Format
	read                     golden.ReadOptions
	json                     bool
}

func (a *goldenArgs) register(set *flag.FlagSet) {
	a.specArgs.register(set)
	a.format = golden.Auto
	set.StringVar(&a.corpus, "corpus", "", "")
	set.StringVar(&a.language, "language", "", "")
	set.StringVar(&a.option, "text", "", "")
	set.Func("format", "", func(s string) (err error) { a.format, err = golden.ParseFormat(s); return err })
	set.BoolVar(&a.read.Drafts, "drafts", false, "")
	set.BoolVar(&a.json, "json", false, "")
}

// isSpec tells a spec from a file of questions.
func isSpec(path string) bool {
	return strings.HasSuffix(path, ".hcl") || !strings.Contains(path[strings.LastIndexAny(path, `/\`)+1:], ".")
}

// goldenInput is what a word of golden works on: the questions of a spec or a
// file, and the corpus that the spec or -corpus names. The experiment is nil
// where there is none.
type goldenInput struct {
	w        *workspace.Workspace
	exp      *spec.Experiment
	file     string
	language string
}

var errShown = errors.New("diagnostics were shown")

// openNamed reads the flags and opens the one spec or file that is named, or else the
// spec applied last. The input is nil when there is nothing to go on with; the code
// is then the command's, for a -help too.
func (a *goldenArgs) openNamed(ctx context.Context, t *terminal, set *flag.FlagSet, word string, argv []string) (in *goldenInput, code int) {
	rest, err := parseFlags(*t, set, goldenHelp, argv)
	if err != nil {
		return nil, exitOfFlags(err)
	}
	path, err := one(rest, "spec or file")
	if err == nil && path == "" {
		path, err = specPath(nil)
	}
	if err != nil {
		return nil, t.fail("golden "+word, err)
	}
	if in, err = a.open(ctx, t, word, path); err != nil {
		return nil, t.failGolden(word, in, err)
	}
	return in, exitOK
}

// open loads the spec, if there is one, and opens the workspace. When the error is
// errShown it has been told.
func (a *goldenArgs) open(ctx context.Context, t *terminal, word, path string) (*goldenInput, error) {
	in := &goldenInput{language: a.language}
	var err error
	switch {
	case path != "" && isSpec(path):
		if a.corpus != "" {
			return nil, errors.New("the spec names the corpus: leave -corpus out")
		}
		exp, diags := a.load(path)
		*t = t.hiding(exp)
		t.showDiagnostics(exp, diags)
		if diags.HasErrors() {
			return nil, errShown
		}
		in.exp = exp
	case a.corpus != "":
		in.file = path
		in.exp, err = workspace.BareCorpus(ctx, a.corpus, a.language, func(language string) {
			fmt.Fprintf(t.err, "language %s, by the letters of the documents; -language names another\n", language)
		})
		if err != nil {
			return nil, err
		}
	default:
		in.file = path
	}
	if in.exp != nil && in.language == "" {
		in.language = in.exp.Language
	}
	in.w, err = a.workspace(*t, "raglab golden "+word, false)
	return in, err
}

// questions reads what the input asks.
func (a *goldenArgs) questions(ctx context.Context, t terminal, in *goldenInput) (*golden.Set, error) {
	if in.file == "" {
		return in.w.Questions(ctx, in.exp)
	}
	return a.readFile(t, in.file)
}

func (a *goldenArgs) readFile(t terminal, path string) (*golden.Set, error) {
	set, warnings, err := golden.ReadFile(path, a.format, a.read)
	for _, p := range warnings {
		t.warn(p.String())
	}
	return set, err
}

// split is how the spec divides the questions, nil where it does not.
func (in *goldenInput) split() *golden.Split {
	if in.exp == nil || in.exp.Golden.Split == nil {
		return nil
	}
	s := in.exp.Golden.Split
	return &golden.Split{By: s.By, Dev: s.Dev, Salt: s.Salt, DevTag: s.DevTag, TestTag: s.TestTag}
}

// failGolden tells an error of a word of golden, unless it has been told.
func (t terminal) failGolden(word string, in *goldenInput, err error) int {
	if errors.Is(err, errShown) {
		return exitError
	}
	var exp *spec.Experiment
	if in != nil {
		exp = in.exp
	}
	return t.showError("golden "+word, exp, err)
}

// one is the only argument of a word of golden, or empty.
func one(args []string, what string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	return "", fmt.Errorf("one %s at a time: %s", what, strings.Join(args, " "))
}
