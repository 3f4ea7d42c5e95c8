package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/axes/chunker/segment"
	"raglab/axes/text"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/golden/generate"
	"raglab/internal/assets"
	"raglab/spec"
)

// Generate makes questions of the corpus, with the words, sentences and
// dictionary forms of the experiment's language.
func (c *Corpus) Generate(ctx context.Context, language string, o generate.Options) (*generate.Result, error) {
	docs, err := c.Documents(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := c.w.tools(ctx, language)
	if err != nil {
		return nil, err
	}
	o.Language = language
	articles := make([]generate.Document, len(docs))
	for i, d := range docs {
		marked := d.Format == "markdown" || d.Format == "html"
		articles[i] = generate.Document{ID: d.ID, Title: d.Title, Text: d.Text, Syntax: generate.SyntaxOf(d.Text, marked)}
	}
	return generate.Questions(ctx, articles, tools, o)
}

func textKind(name string) axes.Kind[text.Analyzer] {
	kind, ok := axes.Find(text.Kinds, name)
	if !ok {
		panic("workspace: there is no text kind " + name)
	}
	return kind
}

// words are all words of a language, by the kind simple with its defaults.
func words(language string) (text.Analyzer, error) {
	kind := textKind("simple")
	return kind.New(kind.Params(), axes.Env{Language: language})
}

// turkishStop are the stop words of turkish-rag-eval.
const turkishStop = "ve veya ile bir bu şu o da de ki mi için gibi daha çok en ise ama fakat ancak olan olarak olur her bazı hem ya the"

// Words is how words are compared in what is said about questions: all of them as
// the text kind simple finds them or, in Turkish, those that turkish-rag-eval
// compares: without its stop words and single letters, each cut after five
// letters. An option of the experiment's text handling may be named instead.
func (w *Workspace) Words(ctx context.Context, exp *spec.Experiment, language, option string) (golden.Words, error) {
	a, err := w.analyzer(exp, language, option)
	if err != nil {
		return nil, err
	}
	if err := text.Open(ctx, a); err != nil {
		return nil, err
	}
	return func(s string) []string {
		var out []string
		a.Terms(s, func(term []byte) { out = append(out, string(term)) })
		return out
	}, nil
}

func (w *Workspace) analyzer(exp *spec.Experiment, language, option string) (text.Analyzer, error) {
	switch {
	case option != "":
		return w.textOption(exp, option)
	case languageBase(language) == "tr":
		kind := textKind("prefix")
		params := kind.Params().(*text.PrefixParams)
		params.Characters, params.Letters, params.MinLength, params.Stop = "ascii", "çğıöşü", 2, strings.Fields(turkishStop)
		return kind.New(params, axes.Env{Language: language})
	}
	return words(language)
}

// textOption makes the analyzer of an option of the factor text.
func (w *Workspace) textOption(exp *spec.Experiment, label string) (text.Analyzer, error) {
	var labels []string
	if exp != nil {
		for _, f := range exp.Factors {
			if f.Name != "text" {
				continue
			}
			for _, o := range f.Options {
				if o.Label != label {
					labels = append(labels, o.Label)
					continue
				}
				params, diags := exp.Params(o, nil, exp.FirstOfGrids())
				if diags.HasErrors() {
					return nil, diags
				}
				kind := textKind(o.Kind)
				return kind.New(params, axes.Env{Language: exp.Language, Asset: w.Asset})
			}
		}
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("there is no spec with a text option %q", label)
	}
	return nil, fmt.Errorf("the spec has no text option %q; it has %s", label, strings.Join(labels, ", "))
}

func (w *Workspace) tools(ctx context.Context, language string) (generate.Tools, error) {
	all, err := words(language)
	if err != nil {
		return generate.Tools{}, err
	}
	rules := segment.For(language)
	t := generate.Tools{
		Words: all.Terms,
		Sentences: func(s string) []string {
			var out []string
			for _, span := range rules.Sentences(s) {
				out = append(out, s[span.Start:span.End])
			}
			return out
		},
	}
	lemmas, err := w.lemmas(ctx, language)
	if err != nil {
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		t.NoLemmas = err.Error()
		return t, nil
	}
	t.Lemmas = lemmas.Terms
	return t, nil
}

// lemmas opens the dictionary of a language.
func (w *Workspace) lemmas(ctx context.Context, language string) (text.Analyzer, error) {
	base := languageBase(language)
	if _, ok := assets.Find(assets.SimplemmaName(base)); !ok {
		return nil, fmt.Errorf("there is no dictionary for the language %q", language)
	}
	kind := textKind("lemma")
	params := kind.Params().(*text.LemmaParams)
	params.Dictionary = base
	a, err := kind.New(params, axes.Env{Language: language, Asset: w.Asset})
	if err != nil {
		return nil, err
	}
	return a, text.Open(ctx, a)
}

// languageBase is the first part of a BCP 47 tag, in lower case.
func languageBase(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return base
}

// CheckedAgainst is the corpus as questions are held against it, by what a
// judgement is about.
func CheckedAgainst(docs []axes.Document, g spec.Golden) *golden.Corpus {
	byID := make(map[string]int, len(docs))
	ids := make([]string, len(docs))
	wholes := map[string]bool{}
	for i, d := range docs {
		byID[d.ID], ids[i] = i, d.ID
		if whole := d.Meta[g.Within]; g.Within != "" && whole != "" {
			wholes[whole] = true
		}
	}
	has := func(id string) bool {
		_, ok := byID[id]
		return ok || wholes[id]
	}
	return &golden.Corpus{
		Has: func(id string) bool {
			if g.Relevance == "chunk" {
				id = artifact.DocumentOf(id)
			}
			return has(id)
		},
		Content: func(id string) (string, bool) {
			i, ok := byID[id]
			if !ok {
				return "", false
			}
			return docs[i].Content(), true
		},
		IDs: slices.Values(ids),
	}
}
