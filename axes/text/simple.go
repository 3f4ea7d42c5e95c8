package text

import "raglab/axes"

// SimpleParams are the parameters of the kind simple.
type SimpleParams struct {
	Characters string   `hcl:"characters" default:"word" enum:"word|alnum|ascii" doc:"Which characters make words: word is letters, digits and _; alnum is letters and digits; ascii is a to z and 0 to 9."`
	Letters    string   `hcl:"letters" default:"" doc:"Further characters that make words, in lower case."`
	Joiners    string   `hcl:"joiners" default:"" doc:"Characters that stay in a word when one stands alone between two characters that make words, such as ._- for 3.5 and zx-401."`
	Stop       []string `hcl:"stop" default:"" doc:"Words to leave out."`
	MinLength  int      `hcl:"min_length" default:"1" min:"1" unit:"letters" doc:"Shortest word that is kept."`
}

// steps is how every kind of this factor begins.
const steps = `Steps, in this order: Unicode normalisation form C; the casing of the
corpus's language (Turkish and Azerbaijani: I to ı, İ to i); lower case (full
Unicode mapping with the Greek final sigma, as Python's str.lower); `

// filters is how every kind of this factor ends.
const filters = `words that stop lists or that have fewer than min_length letters go. With
characters = "word" and no joiners the words are those that Python's
re.findall(r"\w+", …) gives: combining marks that have no composed form
separate words, they are no part of them.`

var simple = axes.Define(axes.Meta{
	Name:    "simple",
	Version: "1",
	Summary: "Lower-cased words: runs of letters, digits and _.",
	Doc:     steps + "words; " + filters,
}, func(p SimpleParams, env axes.Env) (Analyzer, error) {
	return newWords(rules{turkic: turkic(env.Language)}, options{
		characters: p.Characters, letters: p.Letters, joiners: p.Joiners,
		stop: p.Stop, minLength: p.MinLength,
	})
})
