package generate

import (
	"regexp"
	"strings"
	"unicode"

	"raglab/internal/markdown"
)

// Document is one article. A first heading that repeats the title is no section.
type Document struct {
	ID, Title string
	// Text is the body, whose headings are marked in the syntax.
	Text   string
	Syntax markdown.Syntax
}

// SyntaxOf tells how a text marks its headings: as most of the lines that look
// like headings do. Markdown is the default for a text that calls itself that.
func SyntaxOf(text string, isMarkdown bool) markdown.Syntax {
	wiki, hash := 0, 0
	for line := range strings.Lines(text) {
		switch {
		case wikiHeading.MatchString(line):
			wiki++
		case strings.HasPrefix(line, "#"):
			hash++
		}
	}
	switch {
	case wiki > hash:
		return markdown.MediaWiki
	case isMarkdown || hash > 0:
		return markdown.Markdown
	}
	return markdown.Plain
}

var wikiHeading = regexp.MustCompile(`^(={2,6})[^=\n][^\n]*={2,6}\s*$`)

// article is a document taken apart.
type article struct {
	id, title string
	// lead is the first sentence.
	lead string
	// body are the sentences beyond the lead.
	body []string
	// sections are the headings, about those of what is about the article.
	sections, about []string
}

// read takes a document apart into prose and headings; lists, tables and code are
// neither.
func read(d Document, sentences func(string) []string) article {
	a := article{id: d.ID, title: strings.TrimSpace(d.Title)}
	var paragraphs [][]string
	skip := 0 // level of a section that is left out
	for _, b := range markdown.Blocks(d.Text, d.Syntax) {
		if b.Kind == markdown.Heading {
			if skip == 0 || b.Level <= skip {
				skip = a.heading(plain(b.Title), b.Level, d.Syntax == markdown.Markdown && len(paragraphs) == 0)
			}
			continue
		}
		if b.Kind != markdown.Paragraph || skip > 0 {
			continue
		}
		if s := sentences(plain(d.Text[b.Start:b.End])); len(s) > 0 {
			paragraphs = append(paragraphs, s)
		}
	}
	if len(paragraphs) == 0 {
		return a
	}
	a.lead = paragraphs[0][0]
	if len(paragraphs) == 1 {
		a.body = paragraphs[0][1:]
	}
	for _, p := range paragraphs[1:] {
		a.body = append(a.body, p...)
	}
	return a
}

// heading notes a heading, which may be the title that the document lacks. It
// returns the level below which nothing is of interest, or 0.
func (a *article) heading(title string, level int, first bool) (skip int) {
	switch {
	case title == "" || title == a.title:
	case isAbout(title):
		a.about = append(a.about, title)
		return level
	case a.title == "" && level == 1 && first:
		a.title = title
	default:
		a.sections = append(a.sections, title)
	}
	return 0
}

var (
	image    = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	link     = regexp.MustCompile(`\[([^\]\[]*)\]\([^)]*\)`)
	wikiLink = regexp.MustCompile(`\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]`)
	marks    = regexp.MustCompile("\\*+|`+|'{2,}|\\[\\d+\\]|</?[a-z][^>]*>")
	spaces   = regexp.MustCompile(`\s+`)
)

// plain is a text without inline markup and without stress marks on Cyrillic
// letters, on one line.
func plain(s string) string {
	s = image.ReplaceAllString(s, "")
	s = wikiLink.ReplaceAllString(s, "$1")
	s = link.ReplaceAllString(s, "$1")
	s = marks.ReplaceAllString(s, "")
	var b strings.Builder
	before := rune(0)
	for _, r := range s {
		if r == '\u0301' && unicode.Is(unicode.Cyrillic, before) {
			continue
		}
		b.WriteRune(r)
		before = r
	}
	return strings.TrimSpace(spaces.ReplaceAllString(b.String(), " "))
}
