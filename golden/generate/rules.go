package generate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reason is why a candidate was dropped.
type Reason string

// The reasons.
const (
	NoDefinition Reason = "no_definition"     // lead: nothing marks where the definition begins
	NoTitle      Reason = "no_title"          // section: the article has none
	AboutArticle Reason = "about_article"     // section: references, links and the like
	NotInflected Reason = "not_inflected"     // lemma: all words are dictionary forms already
	TooShort     Reason = "too_short"         // fewer than four tokens, two in section
	TooLong      Reason = "too_long"          // more than twenty-four tokens
	FewContent   Reason = "few_content_words" // fewer than three, one in section
	LeaksTitle   Reason = "leaks_title"       // half of the title's content words or more, but in section
	Duplicate    Reason = "duplicate"         // the same set of content words as another
	NoRareTerm   Reason = "no_rare_term"      // a fifth of the corpus or more holds each term
	ArticleTaken Reason = "article_taken"     // another question is of the same article
	Enough       Reason = "enough"            // the style has as many questions as were asked for
)

// Reasons lists the reasons in the order in which they are looked at.
func Reasons() []Reason {
	return []Reason{NoDefinition, NoTitle, AboutArticle, NotInflected, TooShort, TooLong, FewContent, LeaksTitle, NoRareTerm, Duplicate, ArticleTaken, Enough}
}

const (
	minTokens, minSectionTokens   = 4, 2
	maxTokens                     = 24
	minContent, minSectionContent = 3, 1
	// rare is the share of the documents that a term must be below.
	rareNumerator, rareDenominator = 1, 5
)

// curate looks whether a candidate may be asked. Duplicates are for
// [generator.duplicates].
func (g *generator) curate(c *candidate, title string) {
	if c.reason != "" {
		return
	}
	least, content := minTokens, minContent
	if c.style == Section {
		least, content = minSectionTokens, minSectionContent
	}
	switch {
	case c.tokens < least:
		c.drop(TooShort, "%d tokens", c.tokens)
	case c.tokens > maxTokens:
		c.drop(TooLong, "%d tokens", c.tokens)
	case len(c.content) < content:
		c.drop(FewContent, "%d content words", len(c.content))
	case c.style != Section && g.leaks(c, title):
		c.drop(LeaksTitle, "%s", title)
	case !slices.ContainsFunc(c.content, func(t string) bool { return g.rare(t, c.style) }):
		c.drop(NoRareTerm, "")
	}
}

func (c *candidate) drop(r Reason, detail string, args ...any) {
	c.reason, c.detail = r, fmt.Sprintf(detail, args...)
}

// rare reports whether fewer than a fifth of the documents hold a term.
func (g *generator) rare(term string, style Style) bool {
	held := g.held
	if style == Lemma {
		held = g.heldLemmas
	}
	return held[term]*rareDenominator < g.documents*rareNumerator
}

// leaks reports whether at least half of the title's content words stand in a
// candidate.
func (g *generator) leaks(c *candidate, title string) bool {
	own := g.titleWords(title)
	found := 0
	for _, t := range own {
		if slices.ContainsFunc(c.content, func(w string) bool { return g.sameWord(t, w) }) {
			found++
		}
	}
	return found > 0 && found*2 >= len(own)
}

// titleWords are the content words of a title without what it has in brackets,
// or all its words when none of them is one.
func (g *generator) titleWords(title string) []string {
	terms := g.terms(withoutBrackets(title))
	if content := g.contentOf(terms); len(content) > 0 {
		return content
	}
	return terms
}

// sameWord reports whether a word is, or looks like, a form of one of a title.
func (g *generator) sameWord(of, word string) bool {
	if sameStem(of, word) {
		return true
	}
	return g.Tools.Lemmas != nil && strings.Join(collect(g.Tools.Lemmas, of), " ") == strings.Join(collect(g.Tools.Lemmas, word), " ")
}

// contentOf are the different content words among terms, in order: no stop words,
// no numbers, no single letters.
func (g *generator) contentOf(terms []string) []string {
	var out []string
	for _, t := range terms {
		if g.language.stop[t] || utf8.RuneCountInString(t) < 2 || !strings.ContainsFunc(t, unicode.IsLetter) || slices.Contains(out, t) {
			continue
		}
		out = append(out, t)
	}
	return out
}

// duplicates drops candidates with the same content words as one before them.
func duplicates(all []*candidate) {
	seen := map[string]*candidate{}
	for _, c := range all {
		if c.reason != "" {
			continue
		}
		if first, ok := seen[c.key]; ok {
			c.drop(Duplicate, "%s of %s", first.style, first.doc)
			continue
		}
		seen[c.key] = c
	}
}
