package main

import (
	"strings"

	"raglab/axes"
	"raglab/axes/text"
)

// A kind of text handling as somebody would add it: this file, and one line in the
// factor's list. The script added_kind looks for it in all that a user sees.

type consonantsParams struct {
	Keep string `hcl:"keep" default:"" doc:"Vowels that stay."`
}

var consonants = axes.Define(axes.Meta{
	Name:    "consonants",
	Version: "1",
	Summary: "Lower-cased words without their vowels, as some scripts write them.",
}, func(p consonantsParams, _ axes.Env) (text.Analyzer, error) { return dropVowels{p.Keep}, nil })

type dropVowels struct{ keep string }

func (d dropVowels) Terms(s string, emit func(term []byte)) {
	for word := range strings.FieldsSeq(strings.ToLower(s)) {
		term := strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' || strings.ContainsRune("aeiou", r) && !strings.ContainsRune(d.keep, r) {
				return -1
			}
			return r
		}, word)
		if term != "" {
			emit([]byte(term))
		}
	}
}

// withAddedKind is the name under which scripts start [mainWithAddedKind].
const withAddedKind = "raglab-with-consonants"

// mainWithAddedKind is raglab with the line in the list.
func mainWithAddedKind() {
	text.Kinds = append(text.Kinds, consonants)
	main()
}
