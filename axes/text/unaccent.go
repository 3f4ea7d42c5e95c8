package text

import "raglab/axes"

// UnaccentParams are the parameters of the kind unaccent.
type UnaccentParams struct {
	Characters string   `hcl:"characters" default:"word" enum:"word|alnum|ascii" doc:"Which characters make words: word is letters, digits and _; alnum is letters and digits; ascii is a to z and 0 to 9."`
	Letters    string   `hcl:"letters" default:"" doc:"Further characters that make words, in lower case and without accents."`
	Joiners    string   `hcl:"joiners" default:"" doc:"Characters that stay in a word when one stands alone between two characters that make words, such as ._- for 3.5 and zx-401."`
	Stop       []string `hcl:"stop" default:"" doc:"Words to leave out; accents and apostrophes in them do not matter."`
	MinLength  int      `hcl:"min_length" default:"1" min:"1" unit:"letters" doc:"Shortest word that is kept."`
}

// apostrophes are the characters that are typed for an apostrophe: ASCII, the
// typographic quotes, the modifier letters, primes, accents that stand alone,
// and the full-width form.
const apostrophes = "'`´‘’‛′‵ʹʻʼʽˈˊˋꞌ＇"

var unaccent = axes.Define(axes.Meta{
	Name:    "unaccent",
	Version: "1",
	Summary: "As simple, without accents and apostrophes: й is и, ї is і, ґ is г, п'ять is пять.",
	Doc: steps + `nonspacing
marks are dropped from the canonical decomposition (й to и, ї to і, é to e; a
stress mark as in за́мок goes too) and ґ becomes г; words, in which one
apostrophe of any code point between two letters is dropped and one elsewhere
separates; ` + filters,
}, func(p UnaccentParams, env axes.Env) (Analyzer, error) {
	return newWords(rules{turkic: turkic(env.Language), strip: true}, options{
		characters: p.Characters, letters: p.Letters, joiners: p.Joiners,
		stop: p.Stop, minLength: p.MinLength,
	})
})
