package sourcetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Article is a page of a [MediaWiki].
type Article struct {
	Title string
	// Text is what TextExtracts gives, with headings as "== Name ==".
	Text string
	// Wikitext is the source; empty is Text.
	Wikitext string
	// PageID and RevID are given out where they are 0.
	PageID, RevID int64
	// Categories are the names of categories, without "Category:".
	Categories []string
}

// MediaWiki answers the questions that package source asks of a MediaWiki's API, in
// the shapes of the real one. It is an [http.Handler] for any path, and safe for
// concurrent use.
type MediaWiki struct {
	// Fault, where set, may answer the n-th request, from 1, itself: it returns true
	// when it did. Set it before the first request.
	Fault func(w http.ResponseWriter, r *http.Request, n int) bool
	// PageSize is how many members of a category one answer holds; 0 is as many as
	// are asked for.
	PageSize int

	mu        sync.Mutex
	pages     []*wikiPage
	byID      map[int64]*wikiPage
	parents   map[string][]string // subcategories by category
	next      int64
	requests  int
	asked     []string
	redirects map[string]string
}

// wikiPage is a page with its revisions, the newest last.
type wikiPage struct {
	id         int64
	title      string
	categories []string
	revisions  []revision
}

type revision struct {
	id             int64
	text, wikitext string
}

func (p *wikiPage) newest() revision { return p.revisions[len(p.revisions)-1] }

// NewMediaWiki returns a wiki that holds the articles. It panics when two have one
// title.
func NewMediaWiki(articles []Article) *MediaWiki {
	m := &MediaWiki{byID: map[int64]*wikiPage{}, parents: map[string][]string{}, redirects: map[string]string{}, next: 1_000_000}
	for i, a := range articles {
		if a.PageID == 0 {
			a.PageID = int64(1000 + i)
		}
		if a.RevID == 0 {
			m.next++
			a.RevID = m.next
		}
		if m.find(a.Title) != nil || m.byID[a.PageID] != nil {
			panic(fmt.Sprintf("sourcetest: two articles %q or with the page id %d", a.Title, a.PageID))
		}
		p := &wikiPage{id: a.PageID, title: a.Title, categories: a.Categories}
		p.revisions = []revision{{a.RevID, a.Text, wikitextOf(a.Text, a.Wikitext)}}
		m.pages = append(m.pages, p)
		m.byID[p.id] = p
		m.next = max(m.next, a.RevID)
	}
	return m
}

func wikitextOf(text, wikitext string) string {
	if wikitext == "" {
		return text
	}
	return wikitext
}

// Edit gives an article a new revision and returns its id.
func (m *MediaWiki) Edit(title, text, wikitext string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	p := m.find(title)
	p.revisions = append(p.revisions, revision{m.next, text, wikitextOf(text, wikitext)})
	return m.next
}

// Delete removes an article with all its revisions.
func (m *MediaWiki) Delete(title string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.find(title)
	delete(m.byID, p.id)
	m.pages = slices.DeleteFunc(m.pages, func(q *wikiPage) bool { return q == p })
}

// Move gives an article another title and leaves a redirect.
func (m *MediaWiki) Move(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(from).title = to
	m.redirects[from] = to
}

// Redirect adds a title that stands for another.
func (m *MediaWiki) Redirect(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redirects[from] = to
}

// Subcategory puts a category into another.
func (m *MediaWiki) Subcategory(category, in string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parents[in] = append(m.parents[in], category)
}

// Asked returns the queries of the requests so far, decoded.
func (m *MediaWiki) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func (m *MediaWiki) find(title string) *wikiPage {
	for _, p := range m.pages {
		if p.title == title {
			return p
		}
	}
	return nil
}

// normalized is how the wiki writes a title.
func normalized(title string) string {
	title = strings.Join(strings.Fields(strings.ReplaceAll(title, "_", " ")), " ")
	first, size := utf8.DecodeRuneInString(title)
	return string(unicode.ToUpper(first)) + title[size:]
}

// ServeHTTP answers one request.
func (m *MediaWiki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.requests++
	n := m.requests
	query := r.URL.Query()
	m.asked = append(m.asked, query.Encode())
	m.mu.Unlock()
	if m.Fault != nil && m.Fault(w, r, n) {
		return
	}
	m.mu.Lock()
	body := m.answer(query)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	writeJSON(w, r, body)
}

// MaxLag answers as a wiki whose servers lag behind.
func MaxLag(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Retry-After", "5")
	w.Header().Set("X-Database-Lag", "6")
	fmt.Fprint(w, `{"error":{"code":"maxlag","info":"Waiting for 10.64.0.1: 6.1 seconds lagged.","host":"10.64.0.1","lag":6.1,"type":"db"},"servedby":"test"}`)
}
