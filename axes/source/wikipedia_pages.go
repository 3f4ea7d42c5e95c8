package source

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// wikiBatch is how many pages one request may name; the API allows 50. Of titles
// there are fewer where the address would get longer than maxBatchBytes, since
// servers cut addresses at 8 KiB.
const (
	wikiBatch     = 50
	maxBatchBytes = 5_000
)

// resolve asks which articles the spec names now, sorted by id.
func (s *wikipedia) resolve(ctx context.Context, n *wikiNotes) ([]wikiArticle, error) {
	var list []wikiArticle
	var err error
	switch {
	case len(s.Titles) > 0:
		list, err = s.byNames(ctx, "titles", s.Titles, n)
	case s.Category != "":
		var ids []string
		if ids, err = s.members(ctx); err == nil {
			list, err = s.byNames(ctx, "pageids", ids, n)
		}
	default:
		list, err = s.byRevisions(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("find the articles of %s: %w", s.name, err)
	}
	slices.SortFunc(list, func(a, b wikiArticle) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// byNames asks for pages by title or page id. A page that two names lead to is
// listed once.
func (s *wikipedia) byNames(ctx context.Context, attribute string, names []string, n *wikiNotes) ([]wikiArticle, error) {
	var list []wikiArticle
	seen := map[int64]bool{}
	for batch := range batches(names) {
		pages, err := s.pages(ctx, attribute, batch, n)
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			switch {
			case bool(p.Missing) || bool(p.Invalid) || p.PageID <= 0:
				n.missing.add(cmp.Or(p.Title, fmt.Sprint("page ", p.PageID)))
			case !seen[p.PageID]:
				seen[p.PageID] = true
				list = append(list, s.article(p, p.newest()))
			}
		}
	}
	n.twice = len(names) - len(list) - n.missing.n
	return list, nil
}

// pages asks for one batch. An answer in parts may tell of a page more than once.
func (s *wikipedia) pages(ctx context.Context, attribute string, batch []string, n *wikiNotes) ([]wikiPage, error) {
	asked := url.Values{"prop": {"info"}, attribute: {strings.Join(batch, "|")}}
	if attribute == "titles" {
		asked.Set("redirects", "1")
	}
	var list []wikiPage
	at := map[string]int{}
	err := s.api.query(ctx, asked, func(a *wikiAnswer) error {
		n.steps(a)
		list = append(list, a.Query.Interwiki...)
		for _, p := range a.Query.Pages {
			name := fmt.Sprint(p.PageID, p.Title) // a missing page has only one of the two
			i, there := at[name]
			switch {
			case !there:
				at[name] = len(list)
				list = append(list, p)
			case list[i].newest() == 0:
				list[i] = p
			}
		}
		return nil
	})
	return list, err
}

func (s *wikipedia) article(p wikiPage, revid int64) wikiArticle {
	a := wikiArticle{ID: p.Title, Title: p.Title, PageID: p.PageID, RevID: revid}
	if s.ID == "pageid" {
		a.ID = strconv.FormatInt(p.PageID, 10)
	}
	return a
}

// batches yields the names in parts that one request may hold, without doubles.
func batches(names []string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		seen := map[string]bool{}
		var batch []string
		size := 0
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			bytes := len(url.QueryEscape(name)) + len("%7C")
			if len(batch) == wikiBatch || len(batch) > 0 && size+bytes > maxBatchBytes {
				if !yield(batch) {
					return
				}
				batch, size = nil, 0
			}
			batch = append(batch, name)
			size += bytes
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// members lists the page ids of a category's articles, and of those of its
// subcategories as deep as the spec says.
func (s *wikipedia) members(ctx context.Context) ([]string, error) {
	title := s.Category
	if !strings.Contains(title, ":") {
		title = "Category:" + title
	}
	seen, level := map[string]bool{title: true}, []string{title}
	var ids []string
	for depth := 0; len(level) > 0 && depth <= s.CategoryDepth; depth++ {
		var deeper []string
		for _, category := range level {
			sorts := "page"
			if depth < s.CategoryDepth {
				sorts = "page|subcat"
			}
			asked := url.Values{"list": {"categorymembers"}, "cmtitle": {category}, "cmlimit": {"500"}, "cmprop": {"ids|title"}, "cmtype": {sorts}}
			err := s.api.query(ctx, asked, func(a *wikiAnswer) error {
				for _, p := range a.Query.CategoryMembers {
					switch {
					case p.NS == 0:
						ids = append(ids, strconv.FormatInt(p.PageID, 10))
					case p.NS == categoryNamespace && !seen[p.Title]:
						seen[p.Title] = true
						deeper = append(deeper, p.Title)
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		level = deeper
	}
	if len(ids) == 0 {
		return nil, &Error{Path: s.name, Problem: fmt.Sprintf("%q has no articles", title), Hint: "name a category as the wiki does, or set category_depth to enter its subcategories"}
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), nil
}

// categoryNamespace is the number of the namespace of categories.
const categoryNamespace = 14

// byRevisions asks which pages the revisions are of.
func (s *wikipedia) byRevisions(ctx context.Context) ([]wikiArticle, error) {
	var list []wikiArticle
	var wrong problems
	names := make([]string, len(s.Revisions))
	for i, r := range s.Revisions {
		names[i] = strconv.Itoa(r)
	}
	for batch := range batches(names) {
		asked := url.Values{"prop": {"info|revisions"}, "rvprop": {"ids"}, "revids": {strings.Join(batch, "|")}}
		err := s.api.query(ctx, asked, func(a *wikiAnswer) error {
			for _, r := range a.Query.BadRevIDs {
				wrong.add(&Error{Path: s.name, Problem: fmt.Sprintf("there is no revision %d", r.RevID), Hint: "it or its page was deleted, or the number is wrong"})
			}
			for _, p := range a.Query.Pages {
				for _, r := range p.Revisions {
					list = append(list, s.article(p, r.RevID))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, wrong.err()
}

// wikiNotes are the oddities of the articles.
type wikiNotes struct {
	redirects, normalized, missing, short, moved, newer tally
	// twice counts the names that lead to an article another one led to.
	twice int
}

func (n *wikiNotes) steps(a *wikiAnswer) {
	for _, r := range a.Query.Redirects {
		n.redirects.add(fmt.Sprintf("%q, to %q", r.From, r.To))
	}
	for _, r := range a.Query.Normalized {
		n.normalized.add(fmt.Sprintf("%q as %q", r.From, r.To))
	}
}

// short reports whether an article has less text than the spec wants.
func (s *wikipedia) short(text string, a wikiArticle, n *wikiNotes) bool {
	if utf8.RuneCountInString(text) >= s.MinCharacters {
		return false
	}
	n.short.add(fmt.Sprintf("%q", a.Title))
	return true
}

func (n *wikiNotes) warnings() []string {
	said := slices.Concat(
		n.missing.say("there is no article %q: it was left out", "%d titles have no article and were left out; the first is %q"),
		n.redirects.say("a title is a redirect: %s", "%d titles are redirects; the first is %s"),
		n.normalized.say("the wiki reads the title %s", "the wiki reads %d titles otherwise than they are written; the first is %s"),
		n.short.say("the article %s is too short and was left out", "%d articles are too short and were left out; the first is %s"),
		n.moved.say("an article was moved since it was locked: %s", "%d articles were moved since they were locked; the first is %s"),
		n.newer.say("an article has a newer revision with the same text: %s", "%d articles have newer revisions with the same texts; the first is %s"),
	)
	if n.twice > 0 {
		said = append(said, fmt.Sprintf("%d titles lead to an article that another one led to", n.twice))
	}
	return said
}
