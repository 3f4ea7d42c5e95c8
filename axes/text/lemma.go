package text

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"raglab/axes"
	"raglab/internal/assets"
	"raglab/internal/lemma"
	"raglab/internal/param"
)

// LemmaParams are the parameters of the kind lemma.
type LemmaParams struct {
	Dictionary string   `hcl:"dictionary" default:"" enum:"it|tr|uk" example:"\"uk\"" doc:"Dictionary that raglab gets: simplemma's for Italian, Turkish or Ukrainian."`
	File       string   `hcl:"file" default:"" path:"true" doc:"A dictionary of your own instead: lines of a word form, a tab and its lemma."`
	Case       string   `hcl:"case" default:"typed" enum:"typed|lower" doc:"What is looked up first: the word as it stands in the text, or in lower case."`
	Characters string   `hcl:"characters" default:"word" enum:"word|alnum|ascii" doc:"Which characters make words: word is letters, digits and _; alnum is letters and digits; ascii is a to z and 0 to 9."`
	Letters    string   `hcl:"letters" default:"" doc:"Further characters that make words, in lower case."`
	Joiners    string   `hcl:"joiners" default:"" doc:"Characters that stay in a word when one stands alone between two characters that make words, such as - for forms with a hyphen, or ' and ’ to keep words whole that are not found."`
	Stop       []string `hcl:"stop" default:"" doc:"Words to leave out, compared before the lookup."`
	MinLength  int      `hcl:"min_length" default:"1" min:"1" unit:"letters" doc:"Shortest word that is kept, counted before the lookup."`
}

// caseLower is the value of the parameter case that leaves the word as typed out.
const caseLower = "lower"

var lemmas = axes.NeedsOf(axes.Define(axes.Meta{
	Name: "lemma",
	// Raise it, too, when package lemma reads a dictionary otherwise.
	Version: "1",
	Summary: "As simple, each word replaced by its lemma from a dictionary: міста is місто.",
	Doc: steps + "words; " + filters + `

Then each word is looked up as the text has it, else in lower case, else with a
capital first letter. With case = "lower" the first of these is left out, as by
programs that lower-case a text before they lemmatise it: a name that is also
the form of a common noun is then taken for that (Київ: кий).

A word may hold single apostrophes of any code point. It is looked up as typed
and with ', ’ and ʼ; one that is not found is taken apart at its apostrophes, as
simple does it, and its parts are looked up.

A word that is not found stays, in lower case; the share of such words is a
measurement. A lemma is lower-cased and, if it is several words, taken apart by
the same rules; its apostrophe is '. If the corpus has no language, the casing is
the dictionary's.`,
}, newLemma), lemmaNeeds)

func lemmaNeeds(p LemmaParams) axes.Needs {
	switch {
	case p.File != "":
		return axes.Needs{Files: []string{p.File}}
	case p.Dictionary != "":
		return axes.Needs{Assets: []string{assets.SimplemmaName(p.Dictionary)}}
	}
	return axes.Needs{}
}

func newLemma(p LemmaParams, env axes.Env) (Analyzer, error) {
	switch {
	case p.Dictionary == "" && p.File == "":
		return nil, param.Errorf("dictionary", "must be it, tr or uk; a dictionary of your own is named by the attribute file")
	case p.Dictionary != "" && p.File != "":
		return nil, param.Errorf("file", "is of no use beside dictionary = %q: leave one of them out", p.Dictionary)
	}
	language := env.Language
	if language == "" {
		language = p.Dictionary
	}
	return newLemmatizer(rules{turkic: turkic(language)}, options{
		characters: p.Characters, letters: p.Letters, joiners: p.Joiners,
		stop: p.Stop, minLength: p.MinLength,
	}, p.Case == caseLower, p.load(env))
}

// load returns the function that reads the dictionary.
func (p LemmaParams) load(env axes.Env) func(context.Context) (*lemma.Dictionary, error) {
	if p.File != "" {
		return func(context.Context) (*lemma.Dictionary, error) {
			file, err := os.ReadFile(p.File)
			if err != nil {
				return nil, fmt.Errorf("read dictionary: %w", err)
			}
			return lemma.ReadTSV(p.File, file)
		}
	}
	return func(ctx context.Context) (*lemma.Dictionary, error) {
		name := assets.SimplemmaName(p.Dictionary)
		if env.Asset == nil {
			return nil, fmt.Errorf("read dictionary %s: %w", name, errors.New("no assets are to be had here"))
		}
		folder, err := env.Asset(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read dictionary %s: %w", name, err)
		}
		file, err := os.ReadFile(filepath.Join(folder, assets.SimplemmaFile(p.Dictionary)))
		if err != nil {
			return nil, fmt.Errorf("read dictionary %s: %w", name, err)
		}
		d, err := lemma.Read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return d, nil
	}
}

// straight is the apostrophe of lemmas, variants are those of dictionaries.
const (
	straight = '\''
	variants = "'’ʼ"
)

// straighten appends s with each of its apostrophes replaced by mark.
func straighten(dst, s []byte, mark rune) []byte {
	for _, c := range string(s) {
		if isApostrophe(c) {
			c = mark
		}
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}

// isApostrophe reports whether c is one of apostrophes; letters are told apart
// from them quickly.
func isApostrophe(c rune) bool {
	if '\'' < c && c < '`' || '`' < c && c < '´' || 'ˋ' < c && c < '‘' {
		return false
	}
	return strings.ContainsRune(apostrophes, c)
}
