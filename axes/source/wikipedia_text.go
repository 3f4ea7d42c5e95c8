package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// text returns an article's text, kept or fetched. With want it has to be the one
// of the lock; an [*Error] says that it cannot be had.
func (s *wikipedia) text(ctx context.Context, a wikiArticle, want map[string]wikiLocked, n *wikiNotes) (string, *Error, error) {
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	locked, pinned := want[a.ID]
	if text, ok := s.kept.get(a); ok && (!pinned || textDigest(text) == locked.SHA256) {
		return text, nil, nil
	}
	got, err := s.fetchText(ctx, a)
	if e := (*Error)(nil); errors.As(err, &e) {
		return "", e, nil
	}
	if err != nil {
		return "", nil, err
	}
	if !pinned {
		if s.Form == formExtract && len(s.Revisions) > 0 && got.RevID != a.RevID {
			return "", &Error{
				Problem: fmt.Sprintf("the newest revision of %q is %d, and not %d", a.Title, got.RevID, a.RevID),
				Hint:    `extracts are made of the newest revision only; form = "wikitext" has them all`,
			}, nil
		}
		return got.text, nil, s.kept.put(a, got.text)
	}
	if e := locked.check(a, got, s.Form); e != nil {
		return "", e, s.kept.put(got.wikiArticle, got.text)
	}
	if got.Title != a.Title {
		n.moved.add(fmt.Sprintf("%q is %q now", a.Title, got.Title))
	}
	if got.RevID != a.RevID {
		n.newer.add(fmt.Sprintf("%q", a.Title))
	}
	return got.text, nil, s.kept.put(a, got.text)
}

// wikiText is a text as it was fetched, and of which revision.
type wikiText struct {
	wikiArticle
	text string
}

func (s *wikipedia) fetchText(ctx context.Context, a wikiArticle) (wikiText, error) {
	if s.Form == formWikitext {
		return s.fetchWikitext(ctx, a)
	}
	return s.fetchExtract(ctx, a)
}

// fetchExtract asks for the plain text of an article's newest revision. One request
// gives one whole article, whatever it asks for.
func (s *wikipedia) fetchExtract(ctx context.Context, a wikiArticle) (wikiText, error) {
	asked := url.Values{
		"prop": {"extracts|info"}, "pageids": {strconv.FormatInt(a.PageID, 10)},
		"explaintext": {"1"}, "exsectionformat": {"wiki"}, "exlimit": {"1"},
	}
	var page wikiPage
	err := s.api.query(ctx, asked, func(answer *wikiAnswer) error {
		for _, p := range answer.Query.Pages {
			extract := page.Extract
			page = p
			if page.Extract == nil {
				page.Extract = extract
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return wikiText{}, err
	case bool(page.Missing) || page.PageID == 0:
		return wikiText{}, gone(a, "the page is not there any more: it was deleted")
	case bool(page.Redirect):
		return wikiText{}, gone(a, "the page is only a redirect now")
	case page.Extract == nil:
		return wikiText{}, fmt.Errorf("%s gives no extract", s.name)
	}
	return wikiText{wikiArticle{a.ID, page.Title, page.PageID, page.newest()}, *page.Extract}, nil
}

// fetchWikitext asks for the source of one revision.
func (s *wikipedia) fetchWikitext(ctx context.Context, a wikiArticle) (wikiText, error) {
	asked := url.Values{
		"prop": {"revisions"}, "rvprop": {"ids|content"}, "rvslots": {"main"},
		"revids": {strconv.FormatInt(a.RevID, 10)},
	}
	var got *wikiText
	hidden := false
	err := s.api.query(ctx, asked, func(answer *wikiAnswer) error {
		for _, p := range answer.Query.Pages {
			for _, r := range p.Revisions {
				if text := r.text(); text != nil {
					got = &wikiText{wikiArticle{a.ID, p.Title, p.PageID, r.RevID}, *text}
				}
				hidden = hidden || r.hidden()
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return wikiText{}, err
	case hidden:
		return wikiText{}, gone(a, "the revision's text was hidden by the wiki")
	case got == nil || got.RevID != a.RevID:
		return wikiText{}, gone(a, "the revision is not there any more: it or its page was deleted")
	}
	return *got, nil
}

func gone(a wikiArticle, why string) *Error {
	return &Error{Problem: fmt.Sprintf("article %s: %s", a, why), Hint: "run raglab lock to take the corpus as it is now"}
}

// check holds a fetched text against what the lock says.
func (l wikiLocked) check(a wikiArticle, got wikiText, form string) *Error {
	sum, characters := textDigest(got.text), utf8.RuneCountInString(got.text)
	if sum == l.SHA256 {
		return nil
	}
	e := &Error{
		Problem: fmt.Sprintf("article %s is not as it was locked: got revision %d, %d characters, SHA-256 %s; the lock has revision %d, %d characters, SHA-256 %s",
			a, got.RevID, characters, sum, l.RevID, l.Characters, l.SHA256),
		Hint: relock,
	}
	if form == formExtract {
		e.Hint += `, or use form = "wikitext", of which every revision can be had`
	}
	return e
}

// textDigest is the SHA-256 of a text in hex.
func textDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// wikiKept is the folder of fetched texts of one wiki and form, by page and
// revision. It is empty where nothing may be kept.
type wikiKept string

func newWikiKept(downloads, endpoint, form string) wikiKept {
	if downloads == "" {
		return ""
	}
	return wikiKept(filepath.Join(downloads, "wikipedia", textDigest(endpoint)[:16]+"-"+form))
}

// keptText is the content of one file.
type keptText struct {
	Title  string `json:"title"`
	PageID int64  `json:"pageid"`
	RevID  int64  `json:"revid"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

func (k wikiKept) path(a wikiArticle) string {
	return filepath.Join(string(k), fmt.Sprintf("%02d", a.PageID%100), fmt.Sprintf("%d-%d.json", a.PageID, a.RevID))
}

// get returns a kept text. One that is damaged is as good as none.
func (k wikiKept) get(a wikiArticle) (string, bool) {
	if k == "" {
		return "", false
	}
	var file keptText
	raw, err := os.ReadFile(k.path(a))
	if err != nil || json.Unmarshal(raw, &file) != nil || textDigest(file.Text) != file.SHA256 ||
		file.PageID != a.PageID || file.RevID != a.RevID {
		return "", false
	}
	return file.Text, true
}

// put keeps a text.
func (k wikiKept) put(a wikiArticle, text string) error {
	if k == "" {
		return nil
	}
	raw, err := json.Marshal(keptText{a.Title, a.PageID, a.RevID, textDigest(text), text})
	if err != nil {
		return err
	}
	path := k.path(a)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("keep %q: %w", a.Title, err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".json")+".tmp-*")
	if err != nil {
		return fmt.Errorf("keep %q: %w", a.Title, err)
	}
	defer os.Remove(temp.Name()) // fails, as it should, once the file is renamed
	_, err = temp.Write(raw)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keep %q: %w", a.Title, err)
	}
	return nil
}

// forget removes a text that was kept longer ago than the age: locking looks at
// what the wiki makes of a revision now, since templates and the extracting may
// have changed, but goes on where it was broken off.
func (k wikiKept) forget(a wikiArticle, age time.Duration) {
	if k == "" {
		return
	}
	if info, err := os.Stat(k.path(a)); err == nil && time.Since(info.ModTime()) > age {
		os.Remove(k.path(a))
	}
}
