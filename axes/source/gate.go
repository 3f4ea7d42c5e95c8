package source

import (
	"fmt"
	"strings"
	"unicode"

	"raglab/axes"
	"raglab/internal/idmap"
)

// What to do with a document that has neither a title nor a text.
const (
	emptyError = "error"
	emptyKeep  = "keep"
	emptySkip  = "skip"
)

// gate lets documents into the corpus: it checks what all sources promise and
// collects what is wrong. After the first problem nothing more is let in, but
// checking goes on.
type gate struct {
	problems
	notes notes
	empty string
	// place names the n-th record for a message about a second one.
	place func(n int) string
	seen  *idmap.Map
	// sorted tells that records come in the order of their ids: only neighbours can be
	// the same, and the last one is all that is kept.
	sorted bool
	last   string
	lastAt int
	let    int
}

// newGate makes a gate for records with numbers of at most [idmap.Most].
func newGate(empty string, place func(n int) string) *gate {
	return &gate{empty: empty, place: place, seen: idmap.New()}
}

// admit reports whether the document, which came from record n at the given
// place, belongs to the corpus.
func (g *gate) admit(doc axes.Document, n int, path string, line int) bool {
	if !g.checkID(doc.ID, n, path, line) {
		return false
	}
	if strings.TrimSpace(doc.Text) == "" && strings.TrimSpace(doc.Title) == "" && !g.admitEmpty(doc, path, line) {
		return false
	}
	if strings.Contains(doc.Text, "\r\n") {
		g.notes.crlf.add(fmt.Sprintf("%q", doc.ID))
	}
	if g.any() {
		return false
	}
	g.let++
	return true
}

func (g *gate) checkID(id string, n int, path string, line int) bool {
	switch {
	case id == "":
		g.add(&Error{Path: path, Line: line, Problem: "the document's id is empty"})
		return false
	case strings.ContainsFunc(id, unicode.IsControl):
		g.add(&Error{
			Path: path, Line: line, Problem: fmt.Sprintf("the document's id %q holds a control character", id),
			Hint: "run files hold one id per line and field",
		})
		return false
	}
	if first, twice := g.met(id, n); twice {
		g.add(&Error{
			Path: path, Line: line, Problem: fmt.Sprintf("two documents have the id %q: this one and %s", id, g.place(first)),
			Hint: "every document needs an id of its own",
		})
		return false
	}
	return true
}

// met notes the id of record n. It returns the record that had it before, if one had.
func (g *gate) met(id string, n int) (first int, twice bool) {
	if !g.sorted {
		first, twice := g.seen.Add(id, uint64(n))
		return int(first), twice
	}
	if id == g.last {
		return g.lastAt, true
	}
	g.last, g.lastAt = id, n
	return 0, false
}

func (g *gate) admitEmpty(doc axes.Document, path string, line int) bool {
	where := fmt.Sprintf("%q", doc.ID)
	switch g.empty {
	case emptyKeep:
		g.notes.kept.add(where)
		return true
	case emptySkip:
		g.notes.skipped.add(where)
		return false
	default:
		g.add(&Error{
			Path: path, Line: line, Problem: fmt.Sprintf("the document %s has no text", where),
			Hint: `give it one, or set empty = "skip" to leave such documents out or "keep" to count them`,
		})
		return false
	}
}

// end reports an empty corpus along with what else is wrong.
func (g *gate) end(path, hint string) error {
	if g.let == 0 && !g.any() {
		problem := "the corpus is empty: no document was found"
		if g.notes.skipped.n > 0 {
			problem = fmt.Sprintf("the corpus is empty: all %d documents have no text", g.notes.skipped.n)
		}
		g.add(&Error{Path: path, Problem: problem, Hint: hint})
	}
	return g.err()
}
