package generate

import (
	"regexp"
	"slices"
	"strings"
)

// Style is a way to make a question.
type Style string

// The styles.
const (
	Lead    Style = "lead"
	Section Style = "section"
	Factoid Style = "factoid"
	Lemma   Style = "lemma"
)

// Styles lists the styles in the order in which candidates are looked at.
func Styles() []Style { return []Style{Lead, Section, Factoid, Lemma} }

// candidate is a question that may be asked.
type candidate struct {
	style Style
	doc   string
	text  string
	// content are its content words as terms: of the dictionary in the style
	// lemma, else of the text.
	content []string
	// key is what duplicates share: all its terms but stop words, numbers and
	// single letters with them.
	key    string
	tokens int
	place  int    // among those of its article and style
	reason Reason // it is dropped for; empty while it is not
	detail string
}

const (
	// drawn is how many candidates an article gives at most in one style.
	drawn = 3
	// lifted is how many words the style lemma takes from a sentence.
	lifted = 8
)

// candidates makes those of one article and style.
func (g *generator) candidates(a article, style Style) []*candidate {
	switch style {
	case Lead:
		return g.leads(a)
	case Section:
		return g.sections(a)
	case Factoid:
		var dated []string
		for _, s := range a.body {
			if holdsDigit(s) {
				dated = append(dated, s)
			}
		}
		return g.drawn(a, style, dated, g.factoid)
	case Lemma:
		return g.drawn(a, style, a.body, g.lemma)
	}
	return nil
}

// drawn makes candidates of some of the pieces, which the seed chooses.
func (g *generator) drawn(a article, style Style, pieces []string, make func(a article, piece string) *candidate) []*candidate {
	var out []*candidate
	for _, i := range g.draw(a.id, style, len(pieces), drawn) {
		c := make(a, pieces[i])
		c.style, c.doc, c.place = style, a.id, i
		out = append(out, c)
	}
	return out
}

func (g *generator) leads(a article) []*candidate {
	if a.lead == "" {
		return nil
	}
	c := &candidate{style: Lead, doc: a.id}
	half, ok := g.definition(a.lead)
	if !ok {
		c.text, c.reason = a.lead, NoDefinition
		return []*candidate{c}
	}
	g.finish(c, without(half, g.names(a.title)))
	return []*candidate{c}
}

var dash = regexp.MustCompile(`\s[—–-]\s`)

// definition is the half of a first sentence that says what the thing is: what
// stands behind the first dash or, in a language of which that is known, the
// first verb of being; in Turkish the first comma. What stands in brackets does
// not count.
func (g *generator) definition(sentence string) (half string, ok bool) {
	sentence = withoutBrackets(sentence)
	at := -1
	if m := dash.FindStringIndex(sentence); m != nil {
		at = m[1]
	}
	for _, mark := range g.language.marks {
		if i := strings.Index(sentence, mark); i > 0 && (at < 0 || i+len(mark) < at) {
			at = i + len(mark)
		}
	}
	if at <= 0 {
		return "", false
	}
	return sentence[at:], true
}

func (g *generator) sections(a article) []*candidate {
	query := func(a article, heading string) *candidate {
		c := &candidate{}
		g.finish(c, strings.TrimSpace(a.title+" "+heading))
		if a.title == "" {
			c.reason = NoTitle
		}
		return c
	}
	out := g.drawn(a, Section, a.sections, query)
	for _, heading := range a.about {
		c := query(a, heading)
		c.style, c.doc, c.reason = Section, a.id, AboutArticle
		out = append(out, c)
	}
	return out
}

func (g *generator) factoid(a article, sentence string) *candidate {
	c := &candidate{}
	named := g.names(a.title)
	g.finish(c, without(sentence, func(word string) bool { return holdsDigit(word) || named(word) }))
	return c
}

// lemma lifts the content words of a sentence in their dictionary forms.
func (g *generator) lemma(_ article, sentence string) *candidate {
	c := &candidate{}
	changed := false
	var forms []string
	without(sentence, func(word string) bool {
		surface := g.terms(word)
		if len(forms) == lifted || holdsDigit(word) || len(g.contentOf(surface)) == 0 {
			return false
		}
		form := collect(g.Tools.Lemmas, word)
		changed = changed || strings.Join(form, " ") != strings.Join(surface, " ")
		forms = append(forms, strings.Join(form, " "))
		return false
	})
	c.text = strings.Join(forms, " ")
	all := strings.Fields(c.text)
	g.measure(c, all)
	if !changed {
		c.reason = NotInflected
	}
	return c
}

// finish sets the text of a candidate and what is counted in it.
func (g *generator) finish(c *candidate, text string) {
	c.text = text
	g.measure(c, g.terms(text))
}

func (g *generator) measure(c *candidate, terms []string) {
	c.tokens, c.content = len(terms), g.contentOf(terms)
	key := slices.DeleteFunc(slices.Sorted(slices.Values(terms)), func(t string) bool { return g.language.stop[t] })
	c.key = strings.Join(slices.Compact(key), " ")
}

// names returns a test for words that name the article: forms of a content word
// of its title.
func (g *generator) names(title string) func(word string) bool {
	own := g.titleWords(title)
	return func(word string) bool {
		for _, term := range g.terms(word) {
			for _, t := range own {
				if g.sameWord(t, term) {
					return true
				}
			}
		}
		return false
	}
}
