package text

import (
	"maps"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/internal/param"
)

// SnowballParams are the parameters of the kind snowball.
type SnowballParams struct {
	Language   string   `hcl:"language" default:"" enum:"ar|da|de|en|es|fi|fr|ga|hu|it|nl|no|pt|ro|ru|sv|ta|tr" example:"\"tr\"" doc:"Whose stemmer and casing to use; by default the corpus's language."`
	Characters string   `hcl:"characters" default:"word" enum:"word|alnum|ascii" doc:"Which characters make words: word is letters, digits and _; alnum is letters and digits; ascii is a to z and 0 to 9."`
	Letters    string   `hcl:"letters" default:"" doc:"Further characters that make words, in lower case."`
	Joiners    string   `hcl:"joiners" default:"" doc:"Characters that stay in a word when one stands alone between two characters that make words, such as ' for don't, which the English stemmer knows."`
	Stop       []string `hcl:"stop" default:"" doc:"Words to leave out, compared before they are stemmed."`
	MinLength  int      `hcl:"min_length" default:"1" min:"1" unit:"letters" doc:"Shortest word that is kept, counted before it is stemmed."`
}

var snowball = axes.Define(axes.Meta{
	Name: "snowball",
	// Raise it, too, when the module with the stemmers changes what they give.
	Version: "1",
	Summary: "As simple, each word replaced by its stem, by the rules of the Snowball project.",
	Doc: steps + "words; " + filters + `

Then each word is stemmed by the language's algorithm of Snowball 2.0 (Arabic,
Danish, Dutch, English, Finnish, French, German, Hungarian, Irish, Italian,
Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish; English
is "Porter 2"). A word of more than 100 letters, one of which nothing would be left
and, in Danish and Finnish, one with a digit stay as they are. In Romanian ș and ț are read as ş and ţ, which are those
that its stemmer knows.

The casing is that of the language stemmed. For a language without a stemmer there
is the kind prefix, and the kind lemma with a dictionary.`,
}, func(p SnowballParams, env axes.Env) (Analyzer, error) {
	language, err := p.language(env.Language)
	if err != nil {
		return nil, err
	}
	w, err := newWords(rules{turkic: turkic(language)}, options{
		characters: p.Characters, letters: p.Letters, joiners: p.Joiners,
		stop: p.Stop, minLength: p.MinLength,
	})
	if err != nil {
		return nil, err
	}
	return newStemmer(w, language), nil
})

// language returns the primary tag of the language to stem.
func (p SnowballParams) language(corpus string) (string, error) {
	if p.Language != "" {
		return p.Language, nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(stemmers)), ", ")
	if corpus == "" {
		return "", param.Errorf("language", "must be set when the corpus states no language; there are stemmers for %s", known)
	}
	primary, _, _ := strings.Cut(strings.ToLower(corpus), "-")
	switch primary {
	case "nb", "nn": // the written forms of Norwegian
		primary = "no"
	}
	if _, ok := stemmers[primary]; !ok {
		return "", param.Errorf("language", "Snowball has no stemmer for the corpus's language %q, only for %s; "+
			"the kind prefix cuts the words of any language, the kind lemma looks them up in a dictionary", corpus, known)
	}
	return primary, nil
}
