package sourcetest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// writeJSON writes an answer, packed where the caller takes it.
func writeJSON(w http.ResponseWriter, r *http.Request, body any) {
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out = z
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // the caller has gone
}

// object is a JSON object.
type object = map[string]any

// answer makes the answer to a query.
func (m *MediaWiki) answer(q url.Values) object {
	switch {
	case q.Get("action") != "query":
		return problem("badvalue", "Unrecognized value for parameter \"action\".")
	case q.Get("formatversion") != "2":
		return problem("badversion", "this stand-in speaks formatversion 2")
	case q.Get("list") == "categorymembers":
		return m.members(q)
	}
	query := object{}
	pages, revids := m.named(q, query)
	out := object{"batchcomplete": true, "query": query}
	props := strings.Split(q.Get("prop"), "|")
	for i, p := range pages {
		if page, known := p["page"].(*wikiPage); known {
			delete(p, "page")
			m.fill(p, page, props, q, revids)
			if slices.Contains(props, "extracts") && i == 0 {
				p["extract"] = page.newest().text
			}
		}
	}
	if slices.Contains(props, "extracts") && len(pages) > 1 {
		// The real one gives one whole article a request, and says so.
		out["continue"] = object{"excontinue": 1, "continue": "||"}
		out["warnings"] = object{"extracts": object{"warnings": `"exlimit" was too large for a whole article extracts request, lowered to 1.`}}
	}
	query["pages"] = pages
	return out
}

func problem(code, info string) object {
	return object{"error": object{"code": code, "info": info}}
}

// named finds what titles, pageids or revids name. Pages are returned with the
// page itself under "page", where there is one.
func (m *MediaWiki) named(q url.Values, query object) (pages []object, revids map[int64]bool) {
	pages, revids = []object{}, map[int64]bool{}
	add := func(p *wikiPage) {
		if !slices.ContainsFunc(pages, func(o object) bool { return o["page"] == p }) {
			pages = append(pages, object{"pageid": p.id, "ns": 0, "title": p.title, "page": p})
		}
	}
	for _, title := range parts(q.Get("titles")) {
		if p, name := m.titled(title, q.Get("redirects") != "", query); p != nil {
			add(p)
		} else {
			pages = append(pages, object{"ns": 0, "title": name, "missing": true})
		}
	}
	for _, text := range parts(q.Get("pageids")) {
		id, _ := strconv.ParseInt(text, 10, 64)
		if p := m.byID[id]; p != nil {
			add(p)
		} else {
			pages = append(pages, object{"pageid": id, "missing": true})
		}
	}
	bad := object{}
	for _, text := range parts(q.Get("revids")) {
		id, _ := strconv.ParseInt(text, 10, 64)
		revids[id] = true
		if p := m.revised(id); p != nil {
			add(p)
		} else {
			bad[text] = object{"revid": id, "missing": true}
		}
	}
	if len(bad) > 0 {
		query["badrevids"] = bad
	}
	return pages, revids
}

func parts(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, "|")
}

// titled finds a page by title, notes what stood for it, and returns its name.
func (m *MediaWiki) titled(title string, follow bool, query object) (*wikiPage, string) {
	note := func(list, from, to string) {
		old, _ := query[list].([]object)
		query[list] = append(old, object{"from": from, "to": to})
	}
	if name := normalized(title); name != title {
		note("normalized", title, name)
		title = name
	}
	if to, ok := m.redirects[title]; ok && follow {
		note("redirects", title, to)
		title = to
	}
	return m.find(title), title
}

func (m *MediaWiki) revised(id int64) *wikiPage {
	for _, p := range m.pages {
		if slices.ContainsFunc(p.revisions, func(r revision) bool { return r.id == id }) {
			return p
		}
	}
	return nil
}

// fill adds the properties asked for to a page.
func (m *MediaWiki) fill(out object, p *wikiPage, props []string, q url.Values, revids map[int64]bool) {
	if slices.Contains(props, "info") {
		out["lastrevid"] = p.newest().id
		out["length"] = len(p.newest().wikitext)
	}
	if !slices.Contains(props, "revisions") {
		return
	}
	revisions := []object{}
	for _, r := range p.revisions {
		if revids[r.id] || len(revids) == 0 && r.id == p.newest().id {
			one := object{"revid": r.id, "parentid": 0}
			if strings.Contains(q.Get("rvprop"), "content") {
				one["slots"] = object{"main": object{"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": r.wikitext}}
			}
			revisions = append(revisions, one)
		}
	}
	out["revisions"] = revisions
}

// members lists a category, in pages of PageSize.
func (m *MediaWiki) members(q url.Values) object {
	_, category, _ := strings.Cut(q.Get("cmtitle"), ":")
	var all []object
	for _, p := range m.pages {
		if slices.Contains(p.categories, category) {
			all = append(all, object{"pageid": p.id, "ns": 0, "title": p.title})
		}
	}
	if strings.Contains(q.Get("cmtype"), "subcat") {
		for i, sub := range m.parents[category] {
			all = append(all, object{"pageid": 900_000 + i, "ns": 14, "title": "Category:" + sub})
		}
	}
	limit, _ := strconv.Atoi(q.Get("cmlimit"))
	if m.PageSize > 0 {
		limit = m.PageSize
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("cmcontinue"), "page|"))
	out := object{"query": object{"categorymembers": all[min(from, len(all)):min(from+limit, len(all))]}}
	if from+limit < len(all) {
		out["continue"] = object{"cmcontinue": fmt.Sprintf("page|%d", from+limit), "continue": "-||"}
	}
	return out
}

// ReadArticles reads the articles of a folder, in the order of its file names: a
// .txt or .md file is one whose title is its name, a .json file holds one object
// or a list of them with title and text, and doc_id where that is a page's number.
func ReadArticles(dir string) ([]Article, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read articles: %w", err)
	}
	var list []Article
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		ext := filepath.Ext(e.Name())
		switch {
		case e.IsDir():
			continue
		case err != nil:
			return nil, fmt.Errorf("read articles: %w", err)
		case ext == ".txt" || ext == ".md":
			list = append(list, Article{Title: strings.TrimSuffix(e.Name(), ext), Text: string(raw)})
		case ext == ".json":
			some, err := parseArticles(raw)
			if err != nil {
				return nil, fmt.Errorf("read articles: %s: %w", e.Name(), err)
			}
			list = append(list, some...)
		}
	}
	return list, nil
}

func parseArticles(raw []byte) ([]Article, error) {
	type file struct {
		ID    string `json:"doc_id"`
		Title string `json:"title"`
		Text  string `json:"text"`
		RevID int64  `json:"revid"`
	}
	var files []file
	if err := json.Unmarshal(raw, &files); err != nil {
		var one file
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		files = []file{one}
	}
	list := make([]Article, len(files))
	for i, f := range files {
		id, _ := strconv.ParseInt(f.ID, 10, 64) // another id is no page's number
		list[i] = Article{Title: f.Title, Text: f.Text, PageID: id, RevID: f.RevID}
	}
	return list, nil
}
