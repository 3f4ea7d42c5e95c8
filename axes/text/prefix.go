package text

import (
	"unicode/utf8"

	"raglab/axes"
)

// PrefixParams are the parameters of the kind prefix.
type PrefixParams struct {
	Length     int      `hcl:"length" default:"5" min:"1" unit:"letters" doc:"How many letters of a word are kept."`
	Characters string   `hcl:"characters" default:"word" enum:"word|alnum|ascii" doc:"Which characters make words: word is letters, digits and _; alnum is letters and digits; ascii is a to z and 0 to 9."`
	Letters    string   `hcl:"letters" default:"" doc:"Further characters that make words, in lower case."`
	Joiners    string   `hcl:"joiners" default:"" doc:"Characters that stay in a word when one stands alone between two characters that make words, such as ._- for 3.5 and zx-401."`
	Stop       []string `hcl:"stop" default:"" doc:"Words to leave out, compared before they are cut."`
	MinLength  int      `hcl:"min_length" default:"1" min:"1" unit:"letters" doc:"Shortest word that is kept, counted before it is cut."`
}

var prefix = axes.Define(axes.Meta{
	Name:    "prefix",
	Version: "1",
	Summary: "As simple, each word cut after its first letters: a stemmer for agglutinating languages.",
	Doc:     steps + "words; " + filters + " What is left is cut after length letters.",
}, func(p PrefixParams, env axes.Env) (Analyzer, error) {
	return newWords(rules{turkic: turkic(env.Language)}, options{
		characters: p.Characters, letters: p.Letters, joiners: p.Joiners,
		stop: p.Stop, minLength: p.MinLength, cut: p.Length,
	})
})

// firstRunes returns the first n characters of term.
func firstRunes(term []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(term); n-- {
		_, size := utf8.DecodeRune(term[at:])
		at += size
	}
	return term[:at]
}
