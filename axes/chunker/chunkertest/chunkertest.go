// Package chunkertest holds the suite that every kind of chunker must pass.
package chunkertest

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/chunker"
)

// Promise is what a chunker under given parameters promises beyond what every
// one does.
type Promise struct {
	// Max is the longest chunk, in the units of Counter; 0 for no bound.
	Max     int
	Counter chunker.Counter
	// Reworded tells that white space or headings within a chunk may be left
	// out of its text.
	Reworded bool
	// Dropped judges text that is in no chunk: it returns what is wrong with
	// leaving it out, or "". Nil allows nothing but white space to be left out.
	Dropped func(doc axes.Document, text string, chunks []axes.Chunk) string
	// Overlaps tells that a chunk may begin before the one before it ends.
	Overlaps bool
	// Passages tells that chunks may have a passage around them, MaxPassage how long
	// that is at most, in the units of Counter; 0 for no bound.
	Passages   bool
	MaxPassage int
	// LineEnds tells that the lengths that the chunker counts include those of line
	// ends, so that a document with CRLF may be cut elsewhere.
	LineEnds bool
}

// Run checks a chunker over documents written for it and over random ones.
func Run(t *testing.T, c chunker.Chunker, p Promise) {
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		for _, doc := range Documents() {
			check(t, c, p, doc)
		}
	})
	t.Run("no text gives no chunk", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"", " ", "\r\n\n\t", "\u00a0"} {
			if chunks, err := c.Chunk(axes.Document{ID: "d", Text: text}); err != nil || len(chunks) != 0 {
				t.Errorf("text %q: chunks %v, error %v", text, chunks, err)
			}
		}
	})
	t.Run("random documents", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) { check(rt, c, p, Document().Draw(rt, "document")) })
	})
	t.Run("concurrent use", func(t *testing.T) {
		t.Parallel()
		concurrent(t, c)
	})
}

// reporter is what testing and rapid have in common.
type reporter interface {
	Fatalf(format string, args ...any)
}

// Check checks the chunks of one document.
func Check(t testing.TB, c chunker.Chunker, p Promise, doc axes.Document) { check(t, c, p, doc) }

func check(t reporter, c chunker.Chunker, p Promise, doc axes.Document) {
	chunks, err := c.Chunk(doc)
	if err != nil {
		t.Fatalf("%+v: %v", doc, err)
	}
	again, err := c.Chunk(doc)
	if err != nil || !reflect.DeepEqual(chunks, again) {
		t.Fatalf("%+v: cut again: %v, %v; first: %v", doc, again, err, chunks)
	}
	for i := range chunks {
		if problem := p.problem(doc, chunks, i); problem != "" {
			t.Fatalf("document %+v: chunk %d %+v: %s", doc, i, chunks[i], problem)
		}
	}
	if problem := p.lost(doc, chunks); problem != "" {
		t.Fatalf("document %+v: chunks %+v: %s", doc, chunks, problem)
	}
	if !p.LineEnds && !strings.Contains(doc.Title+doc.Text, "\r") {
		p.checkLineEnds(t, c, doc, chunks)
	}
}

// checkLineEnds checks that a document whose lines end in CRLF is cut as this one.
func (p Promise) checkLineEnds(t reporter, c chunker.Chunker, doc axes.Document, chunks []axes.Chunk) {
	doc.Text = strings.ReplaceAll(doc.Text, "\n", "\r\n")
	other, err := c.Chunk(doc)
	if err != nil || len(other) != len(chunks) {
		t.Fatalf("document %+v: %d chunks with CRLF, %d with LF, %v: %+v", doc, len(other), len(chunks), err, other)
	}
	for i, o := range other {
		got := [...]string{o.Heading, unixLines(o.Text), unixLines(o.Returned())}
		want := [...]string{chunks[i].Heading, chunks[i].Text, chunks[i].Returned()}
		if got != want || o.Tokens != chunks[i].Tokens || o.Ranked() != chunks[i].Ranked() {
			t.Fatalf("document %+v: chunk %d is %+v with CRLF, %+v with LF", doc, i, o, chunks[i])
		}
	}
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// problem says what is wrong with a chunk.
func (p Promise) problem(doc axes.Document, chunks []axes.Chunk, i int) string {
	c, content := chunks[i], doc.Content()
	switch {
	case c.Doc != doc.ID || c.N != i:
		return "has the wrong document or number"
	case c.Start < 0 || c.End <= c.Start || c.End > len(content):
		return "has offsets outside the content"
	case !boundary(content, c.Start) || !boundary(content, c.End):
		return "is cut within a character"
	case strings.TrimFunc(c.Text, unicode.IsSpace) != c.Text || c.Text == "":
		return "is empty or has white space around it"
	case i > 0 && (c.Start < chunks[i-1].Start || c.End < chunks[i-1].End):
		return "is out of order"
	case i > 0 && !p.Overlaps && c.Start < chunks[i-1].End:
		return "overlaps the one before"
	case !p.Reworded && c.Text != content[c.Start:c.End]:
		return fmt.Sprintf("differs from the content's %q", content[c.Start:c.End])
	case p.Reworded && !subsequence(c.Text, content[c.Start:c.End]):
		return fmt.Sprintf("is not made from the content's %q", content[c.Start:c.End])
	}
	if problem := p.around(content, chunks, i); problem != "" || p.Counter == nil {
		return problem
	}
	n := p.Counter.Count(c.Text)
	if n != c.Tokens {
		return fmt.Sprintf("has %d units", n)
	}
	if p.Max > 0 && n > p.Max {
		return fmt.Sprintf("has %d units, more than %d", n, p.Max)
	}
	return ""
}

// around says what is wrong with the passage around a chunk.
func (p Promise) around(content string, chunks []axes.Chunk, i int) string {
	c := chunks[i]
	a := c.Around
	switch {
	case a == nil:
		return ""
	case !p.Passages:
		return "has a passage around it"
	case a.Start < 0 || a.Start > c.Start || a.End < c.End || a.End > len(content):
		return "is not in its passage"
	case !boundary(content, a.Start) || !boundary(content, a.End):
		return "has a passage that is cut within a character"
	case strings.TrimFunc(a.Text, unicode.IsSpace) != a.Text:
		return "has a passage with white space around it"
	case !p.Reworded && a.Text != content[a.Start:a.End]:
		return fmt.Sprintf("has a passage that differs from the content's %q", content[a.Start:a.End])
	case p.Reworded && !subsequence(a.Text, content[a.Start:a.End]):
		return fmt.Sprintf("has a passage that is not made from the content's %q", content[a.Start:a.End])
	case a.First > i || a.First < 0 || chunks[a.First].Ranked() != a.First:
		return "shares a passage with a chunk that does not stand for one"
	case a.First < i && (chunks[i-1].Ranked() != a.First || *chunks[i-1].Around != *a):
		return "does not follow a chunk of the same passage"
	case p.MaxPassage > 0 && p.Counter.Count(a.Text) > p.MaxPassage:
		return fmt.Sprintf("has a passage of more than %d units", p.MaxPassage)
	}
	return ""
}

func boundary(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// subsequence reports whether the words of a stand in b in order.
func subsequence(a, b string) bool {
	for word := range strings.FieldsSeq(a) {
		at := strings.Index(b, word)
		if at < 0 {
			return false
		}
		b = b[at+len(word):]
	}
	return true
}

// lost says what text is missing from the chunks that should be there.
func (p Promise) lost(doc axes.Document, chunks []axes.Chunk) string {
	content, at := doc.Content(), 0
	for i := 0; i <= len(chunks); i++ {
		start, end := len(content), len(content)
		if i < len(chunks) {
			start, end = chunks[i].Start, chunks[i].End
		}
		if start > at {
			if problem := p.gap(doc, content[at:start], chunks); problem != "" {
				return problem
			}
		}
		at = max(at, end)
	}
	return ""
}

func (p Promise) gap(doc axes.Document, text string, chunks []axes.Chunk) string {
	if strings.TrimFunc(text, unicode.IsSpace) == "" {
		return ""
	}
	if p.Dropped == nil {
		return fmt.Sprintf("%q is in no chunk", text)
	}
	return p.Dropped(doc, text, chunks)
}

func concurrent(t *testing.T, c chunker.Chunker) {
	t.Helper()
	docs := Documents()
	want := make([][]axes.Chunk, len(docs))
	for i, doc := range docs {
		want[i], _ = c.Chunk(doc)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, doc := range docs {
				if got, err := c.Chunk(doc); err != nil || !reflect.DeepEqual(got, want[i]) {
					t.Errorf("document %s: %v, %v", doc.ID, got, err)
				}
			}
		})
	}
	group.Wait()
}
