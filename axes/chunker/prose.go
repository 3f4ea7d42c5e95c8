package chunker

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/chunker/segment"
	"raglab/internal/markdown"
)

// unit is a part of a view that is put into a chunk whole, and its length.
type unit struct {
	Span
	n int
}

// How sentences are found.
const (
	rulesLanguage    = "language"
	rulesPunctuation = "punctuation"
)

// What becomes of a sentence that is longer than a chunk may be.
const (
	longSplit = "split"
	longKeep  = "keep"
)

// prose finds sentences.
type prose struct {
	rules         *segment.Rules // nil for punctuation alone
	abbreviations map[string]bool
	most          int
	long          string
}

func newProse(rules string, abbreviations []string, most int, long string, env axes.Env) prose {
	p := prose{most: most, long: long, abbreviations: make(map[string]bool, len(abbreviations))}
	if rules == rulesLanguage {
		p.rules = segment.For(env.Language)
	}
	for _, a := range abbreviations {
		p.abbreviations[strings.ToLower(strings.TrimSuffix(a, "."))] = true
	}
	return p
}

// sentences are the units of a part of a view.
func (p prose) sentences(text string, r ruler, s Span, syntax markdown.Syntax) []unit {
	if p.rules == nil {
		return p.fit(text, r, p.punctuated(text, r, s))
	}
	var units []unit
	if syntax == markdown.Plain {
		return p.fit(text, r, p.spoken(units, text, r, s))
	}
	part := text[s.Start:s.End]
	for _, b := range markdown.Blocks(part, syntax) {
		for _, item := range markdown.Items(part, b) {
			whole := Span{Start: s.Start + item.Start, End: s.Start + item.End}
			if b.Kind == markdown.Table || b.Kind == markdown.Code {
				units = append(units, measured(r, text, whole)...)
				continue
			}
			units = p.spoken(units, text, r, whole)
		}
	}
	return p.fit(text, r, units)
}

// measured is a part as one unit, or none if it is white space.
func measured(r ruler, text string, s Span) []unit {
	s, ok := trim(text, s)
	if !ok {
		return nil
	}
	return []unit{{s, r.length(s.Start, s.End)}}
}

// spoken appends the sentences of a part by the language's rules.
func (p prose) spoken(units []unit, text string, r ruler, s Span) []unit {
	for _, found := range p.rules.Sentences(text[s.Start:s.End]) {
		found.Start += s.Start
		found.End += s.Start
		units = append(units, unit{found, r.length(found.Start, found.End)})
	}
	return units
}

// fit splits the units that are too long, if they are to be.
func (p prose) fit(text string, r ruler, units []unit) []unit {
	if p.long == longKeep {
		return units
	}
	for i, u := range units {
		if u.n <= p.most {
			continue
		}
		fitting := append([]unit(nil), units[:i]...)
		for _, u := range units[i:] {
			if u.n <= p.most {
				fitting = append(fitting, u)
				continue
			}
			fitting = append(fitting, splitLong(text, r, u.Span, p.most)...)
		}
		return fitting
	}
	return units
}

// punctuated ends a sentence at each ".", "!" or "?" before white space, unless
// the word before it is an abbreviation or a bare number.
func (p prose) punctuated(text string, r ruler, s Span) []unit {
	var units []unit
	glue := false
	for at := s.Start; at < s.End; {
		end := punctuationEnd(text, at, s.End)
		part, ok := trim(text, Span{Start: at, End: end})
		at = end
		if !ok {
			continue
		}
		n := r.length(part.Start, part.End)
		if last := len(units) - 1; glue {
			units[last].n += r.gap(units[last].End, part.Start) + n
			units[last].End = part.End
		} else {
			units = append(units, unit{part, n})
		}
		glue = p.goesOn(text[part.Start:part.End])
	}
	return units
}

// punctuationEnd is the place after the next stop that white space follows.
func punctuationEnd(text string, at, end int) int {
	for {
		n := strings.IndexAny(text[at:end], ".!?")
		if n < 0 {
			return end
		}
		at += n + 1
		if at == end || spaceAt(text, at) {
			return at
		}
	}
}

// goesOn reports whether a part's last word is an abbreviation or a number.
func (p prose) goesOn(part string) bool {
	word := part[strings.LastIndexFunc(part, unicode.IsSpace)+1:]
	if r, n := utf8.DecodeRuneInString(word); unicode.IsSpace(r) {
		word = word[n:]
	}
	word = strings.TrimRight(word, ".")
	if word == "" {
		return false
	}
	return p.abbreviations[strings.ToLower(word)] || strings.TrimFunc(word, unicode.IsDigit) == ""
}

// pack puts units together, in order, as long as they are not longer than most.
func pack(units []unit, r ruler, most int) []Span {
	var spans []Span
	for i := 0; i < len(units); {
		s, n := units[i].Span, units[i].n
		for i++; i < len(units); i++ {
			n += r.gap(s.End, units[i].Start) + units[i].n
			if n > most {
				break
			}
			s.End = units[i].End
		}
		spans = append(spans, s)
	}
	return spans
}

// dropShort leaves out the last span if it is shorter than least.
func dropShort(spans []Span, r ruler, least int) []Span {
	if last := len(spans) - 1; least > 1 && last >= 0 && r.length(spans[last].Start, spans[last].End) < least {
		return spans[:last]
	}
	return spans
}

// syntaxOf is how a document's text marks its structure.
func syntaxOf(doc axes.Document) markdown.Syntax {
	if doc.Format == "markdown" || doc.Format == "html" {
		return markdown.Markdown
	}
	return markdown.Plain
}
