package source

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// WikipediaParams are the parameters of the kind wikipedia.
type WikipediaParams struct {
	Language      string   `hcl:"language" doc:"Language of the Wikipedia, as in its address." example:"\"uk\""`
	Titles        []string `hcl:"titles" default:"" lines:"true" doc:"Titles of the articles." example:"[\"Київ\", \"Львів\"]"`
	Category      string   `hcl:"category" default:"" doc:"Category whose articles are meant, with or without the word Category and a colon; the wiki's own word works too."`
	CategoryDepth int      `hcl:"category_depth" default:"0" min:"0" max:"10" doc:"How many levels of subcategories are entered."`
	Revisions     []int    `hcl:"revisions" default:"" doc:"Ids of the revisions that are meant."`
	Form          string   `hcl:"form" default:"extract" enum:"extract|wikitext" doc:"What the text is: the plain text with headings as == Name ==, or the wikitext as it is."`
	ID            string   `hcl:"id" default:"pageid" enum:"pageid|title" doc:"What a document's id is: the page's number, which it keeps when it is moved, or its title."`
	MinCharacters int      `hcl:"min_characters" default:"1" min:"1" unit:"characters" doc:"Articles with a shorter text are left out, and said."`
	Lock          string   `hcl:"lock" default:"" path:"true" doc:"File that pins the articles; raglab lock writes it."`
	Contact       string   `hcl:"contact" key:"-" default:"" doc:"Address of mail or page of whoever runs this, sent in the User-Agent as Wikimedia's policy asks." example:"env(\"RAGLAB_CONTACT\", \"\")"`
	API           string   `hcl:"api" key:"-" default:"" doc:"Address of the MediaWiki API, for a mirror; unless set it is https://LANGUAGE.wikipedia.org/w/api.php."`
}

// Wikipedia is the kind of the articles of a Wikipedia.
func Wikipedia() axes.Kind[Source] {
	return axes.Define(axes.Meta{
		Name:     "wikipedia",
		Version:  "1",
		Resource: axes.Network,
		Summary:  "Articles of a Wikipedia, by titles, category or revisions.",
		Doc: "The articles are named by titles (a list, or a text with one a line, such as file(\"NAME.titles\")), by a category, or " +
			"by the ids of revisions. Redirects are followed, titles are normalised as the wiki does it, and both are said; " +
			"titles without an article are left out and said. The corpus order is the byte order of the ids. Each document " +
			"has url, revid and title as metadata. With form extract the text is what the wiki's TextExtracts makes of an article; " +
			"with wikitext it is the source, markup and all. Chunkers read the headings of both with heading_syntax = " +
			"\"mediawiki\".\n\n" +
			"With lock, raglab lock writes id, title, page, revision, length in characters and SHA-256 of every text into that file, " +
			"sorted by id, and a fingerprint of the whole. A later fetch gets those very articles in the order of the file, and " +
			"any difference is an error that names the article. TextExtracts knows only the newest revision: when an article has a " +
			"newer one than the lock and its text is another one, no server gives the old text any more; lock again, or use form = " +
			"\"wikitext\", of which every revision can be had. Without lock the articles are what they are when they are fetched.\n\n" +
			"Requests are made one after the other, with maxlag = 5, and wait as the servers ask. What has been fetched is kept " +
			"below the cache and not fetched again after a break. Wikimedia's policy asks for a contact.",
	}, newWikipedia)
}

var wikiLanguage = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func newWikipedia(p WikipediaParams, env axes.Env) (Source, error) {
	s := &wikipedia{WikipediaParams: p, lock: p.Lock, endpoint: p.API, name: p.Language + ".wikipedia"}
	if !wikiLanguage.MatchString(p.Language) {
		return nil, param.Errorf("language", "%q is not how a Wikipedia is called, such as uk or zh-yue", p.Language)
	}
	if s.endpoint == "" {
		s.endpoint = "https://" + p.Language + ".wikipedia.org/w/api.php"
	}
	if err := web.Secure(s.endpoint); err != nil {
		return nil, param.Errorf("api", "is %v", err)
	}
	if err := s.checkSelection(); err != nil {
		return nil, err
	}
	s.api = &wikiAPI{
		endpoint: s.endpoint,
		client: web.New(web.Config{
			UserAgent: web.Agent(env.Version, p.Contact), Tries: 8, FirstWait: 2 * time.Second, LongestWait: 5 * time.Minute,
		}),
	}
	s.kept = newWikiKept(env.Downloads, s.endpoint, p.Form)
	return s, nil
}

// checkSelection tells whether the articles are named in one way.
func (s *wikipedia) checkSelection() error {
	ways := 0
	for _, set := range []bool{len(s.Titles) > 0, s.Category != "", len(s.Revisions) > 0} {
		if set {
			ways++
		}
	}
	switch {
	case ways == 0:
		return param.Errorf("titles", "is empty: name the articles by titles, a category or revisions")
	case ways > 1:
		return param.Errorf("titles", "articles are named by titles, a category or revisions, and not by two of them")
	case s.CategoryDepth > 0 && s.Category == "":
		return param.Errorf("category_depth", "is about a category, and there is none")
	}
	for _, t := range s.Titles {
		if strings.ContainsAny(t, "|#<>[]{}\n") || strings.TrimSpace(t) == "" {
			return param.Errorf("titles", "%q is not a title: those have none of | # < > [ ] { }", t)
		}
	}
	for _, r := range s.Revisions {
		if r < 1 {
			return param.Errorf("revisions", "%d is not the id of a revision", r)
		}
	}
	return nil
}

type wikipedia struct {
	warnings
	WikipediaParams
	lock     string // path of the lock file, or empty
	endpoint string
	name     string // to speak of it by
	api      *wikiAPI
	kept     wikiKept
	tell     func(done, total int)
}

// wikiArticle is a revision of a page.
type wikiArticle struct {
	ID     string
	Title  string
	PageID int64
	RevID  int64
}

// String names the article in a message.
func (a wikiArticle) String() string {
	return fmt.Sprintf("%q (page %d, revision %d)", a.Title, a.PageID, a.RevID)
}

func (s *wikipedia) Inputs(context.Context) ([]string, error) { return lockInputs(s.lock) }

// Place implements [Placed].
func (s *wikipedia) Place() string {
	if s.API == "" || s.Unpinned() == "" {
		return ""
	}
	return web.RedactURL(s.endpoint)
}

// Progress implements [Progressive].
func (s *wikipedia) Progress(tell func(done, total int)) { s.tell = tell }

// Unpinned implements [Pinner]. The wikitext of a revision never changes.
func (s *wikipedia) Unpinned() string {
	switch {
	case pinnedBy(s.lock), len(s.Revisions) > 0 && s.Form == formWikitext && s.lock == "":
		return ""
	case s.lock != "":
		return fmt.Sprintf("The articles of %s are not pinned: the lock file %s is not there yet; raglab lock writes it.", s.name, s.lock)
	}
	return fmt.Sprintf("The articles of %s are not pinned: give the corpus a lock, such as lock = \"corpus.lock.json\", and run raglab lock.", s.name)
}

// LockFile implements [Pinner].
func (s *wikipedia) LockFile() string { return s.lock }

// The forms of a text.
const (
	formExtract  = "extract"
	formWikitext = "wikitext"
)

func (s *wikipedia) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return s.reading(ctx, s.documents)
}

func (s *wikipedia) documents(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	lock, err := s.readLock()
	if err != nil {
		return nil, true, err
	}
	var n wikiNotes
	list, want, err := s.wanted(ctx, lock, &n)
	if err != nil {
		return nil, true, err
	}
	g := newGate(emptyError, func(n int) string { return fmt.Sprintf("article %d", n) })
	for i, a := range list {
		text, e, err := s.text(ctx, a, want, &n)
		if err != nil {
			return nil, true, fmt.Errorf("fetch article %s of %s: %w", a, s.name, err)
		}
		if s.tell != nil {
			s.tell(i+1, len(list))
		}
		switch {
		case e != nil:
			e.Path = s.name
			g.add(e)
			continue
		case want == nil && s.short(text, a, &n):
			continue
		}
		if g.admit(s.document(a, text), i+1, s.name, 0) && !yield(s.document(a, text), nil) {
			return nil, false, nil
		}
	}
	said = slices.Concat(n.warnings(), g.notes.warnings(), s.withoutContact())
	return said, true, g.end(s.name, "no article has a text of min_characters")
}

// wanted lists the articles: those of the lock, with what their texts have to be,
// or those that the spec names now.
func (s *wikipedia) wanted(ctx context.Context, lock *wikiLock, n *wikiNotes) ([]wikiArticle, map[string]wikiLocked, error) {
	if lock == nil {
		list, err := s.resolve(ctx, n)
		return list, nil, err
	}
	list := make([]wikiArticle, len(lock.Documents))
	want := make(map[string]wikiLocked, len(list))
	for i, d := range lock.Documents {
		list[i] = wikiArticle{d.ID, d.Title, d.PageID, d.RevID}
		want[d.ID] = d
	}
	return list, want, nil
}

// document makes an article into a document. Its address is the Wikipedia's own,
// wherever the text came from.
func (s *wikipedia) document(a wikiArticle, text string) axes.Document {
	return axes.Document{
		ID: a.ID, Title: a.Title, Text: text,
		Meta: map[string]string{
			"url":   "https://" + s.Language + ".wikipedia.org/wiki/" + url.PathEscape(strings.ReplaceAll(a.Title, " ", "_")),
			"revid": fmt.Sprint(a.RevID),
			"title": a.Title,
		},
	}
}

// withoutContact says that the policy of Wikimedia's servers is not kept.
func (s *wikipedia) withoutContact() []string {
	if u, err := url.Parse(s.endpoint); s.Contact != "" || err != nil || !strings.HasSuffix(u.Hostname(), ".wikipedia.org") {
		return nil
	}
	return []string{"no contact is set: Wikimedia's policy asks for one in the User-Agent, and may refuse requests without; set contact to an address of mail or page"}
}
