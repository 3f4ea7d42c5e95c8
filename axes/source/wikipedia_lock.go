package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// wikiLock is what a lock file says of a corpus. The corpus.lock.json of
// turkish-rag-eval has version, fingerprint and documents in the same shape and is
// read as well.
type wikiLock struct {
	Version  int    `json:"version"`
	Source   string `json:"source,omitempty"`
	Language string `json:"language,omitempty"`
	Form     string `json:"form,omitempty"`
	ID       string `json:"id,omitempty"`
	// Selection is a digest of how the spec names the articles.
	Selection   string `json:"selection,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// Bytes is that of [Locked].
	Bytes     int64        `json:"bytes,omitempty"`
	Documents []wikiLocked `json:"documents"`
}

// wikiLocked is one article of a lock.
type wikiLocked struct {
	ID         string `json:"doc_id"`
	Title      string `json:"title"`
	PageID     int64  `json:"pageid,omitempty"`
	RevID      int64  `json:"revid"`
	Characters int    `json:"chars"`
	SHA256     string `json:"sha256"`
}

// Fingerprint names the texts of a corpus: "sha256:" and the SHA-256 of the lines
// "ID:DIGEST", sorted and joined by line ends, where DIGEST is a text's SHA-256. It
// is that of the turkish-rag-eval lock; titles and revisions do not enter.
func Fingerprint(digests map[string]string) string {
	lines := make([]string, 0, len(digests))
	for id, digest := range digests {
		lines = append(lines, id+":"+digest)
	}
	slices.Sort(lines)
	return "sha256:" + textDigest(strings.Join(lines, "\n"))
}

func (l *wikiLock) fingerprint() string {
	digests := make(map[string]string, len(l.Documents))
	for _, d := range l.Documents {
		digests[d.ID] = d.SHA256
	}
	return Fingerprint(digests)
}

// lockShape is a lock without articles.
func (s *wikipedia) lockShape() *wikiLock {
	return &wikiLock{
		Version: 1, Source: "wikipedia", Language: s.Language, Form: s.Form, ID: s.ID,
		Selection: s.selection(), Documents: []wikiLocked{},
	}
}

// selection names how the spec names the articles, whatever the order.
func (s *wikipedia) selection() string {
	titles, revisions := slices.Clone(s.Titles), slices.Clone(s.Revisions)
	slices.Sort(titles)
	slices.Sort(revisions)
	raw, err := json.Marshal([]any{titles, s.Category, s.CategoryDepth, revisions, s.MinCharacters})
	if err != nil {
		panic("source: " + err.Error()) // texts and numbers can be encoded
	}
	return "sha256:" + textDigest(string(raw))
}

// readLock reads the lock file, nil when there is none, and checks that it is of
// the spec's articles and in itself right.
func (s *wikipedia) readLock() (*wikiLock, error) {
	lock := &wikiLock{}
	ok, err := readJSONLock(s.lock, lock)
	if err != nil || !ok {
		return nil, err
	}
	if e := s.fits(lock); e != nil {
		e.Path = s.lock
		return nil, e
	}
	return lock, nil
}

// fits tells why a lock is not for the spec.
func (s *wikipedia) fits(l *wikiLock) *Error {
	for _, at := range []struct{ what, got, want string }{
		{"source", l.Source, "wikipedia"}, {"language", l.Language, s.Language}, {"form", l.Form, s.Form}, {"id", l.ID, s.ID},
	} {
		if at.got != "" && at.got != at.want {
			return &Error{Problem: fmt.Sprintf("the lock is for %s %s, and the spec says %s", at.what, at.got, at.want), Hint: relock}
		}
	}
	switch {
	case l.Version != 1:
		return &Error{Problem: fmt.Sprintf("the lock has version %d, and this raglab knows 1", l.Version), Hint: relock}
	case l.Selection != "" && l.Selection != s.selection():
		return &Error{Problem: "the lock is for other articles than the spec names", Hint: relock}
	case len(l.Documents) == 0:
		return &Error{Problem: "the lock lists no article", Hint: relock}
	}
	for i := range l.Documents {
		d := &l.Documents[i]
		if d.PageID == 0 && s.ID == "pageid" {
			d.PageID, _ = strconv.ParseInt(d.ID, 10, 64) // 0 is refused below
		}
		if d.ID == "" || d.PageID <= 0 || d.RevID <= 0 || len(d.SHA256) != 64 {
			return &Error{Problem: fmt.Sprintf("article %d of the lock (%q) lacks doc_id, pageid, revid or sha256", i+1, d.Title), Hint: relock}
		}
	}
	if got := l.fingerprint(); got != l.Fingerprint {
		return &Error{Problem: fmt.Sprintf("the fingerprint of the lock is %s, and its articles have %s", l.Fingerprint, got), Hint: "the file was changed by hand; " + relock}
	}
	return nil
}

// lockAge is how long ago a text may have been fetched to be locked without asking
// again.
const lockAge = 24 * time.Hour

// Lock implements [Pinner].
func (s *wikipedia) Lock(ctx context.Context, progress func(done, total int)) ([]byte, error) {
	var n wikiNotes
	list, err := s.resolve(ctx, &n)
	if err != nil {
		return nil, err
	}
	lock := s.lockShape()
	var wrong problems
	for i, a := range list {
		s.kept.forget(a, lockAge)
		text, e, err := s.text(ctx, a, nil, &n)
		switch {
		case err != nil:
			return nil, fmt.Errorf("fetch article %s of %s: %w", a, s.name, err)
		case e != nil:
			e.Path = s.name
			wrong.add(e)
		case !s.short(text, a, &n):
			lock.Documents = append(lock.Documents, wikiLocked{a.ID, a.Title, a.PageID, a.RevID, utf8.RuneCountInString(text), textDigest(text)})
			lock.Bytes += int64(len(text))
		}
		if progress != nil {
			progress(i+1, len(list))
		}
	}
	if len(lock.Documents) == 0 && !wrong.any() {
		wrong.add(&Error{Path: s.name, Problem: "there is no article to lock", Hint: "no title has an article with a text of min_characters"})
	}
	if wrong.any() {
		return nil, wrong.err()
	}
	lock.Fingerprint = lock.fingerprint()
	s.setDocuments(slices.Concat(n.warnings(), s.withoutContact()))
	return writeJSONLock(lock)
}

// CompareLocks implements [LockComparer].
func (s *wikipedia) CompareLocks(before, after []byte) (LockChanges, error) {
	var old, new wikiLock
	if len(before) > 0 {
		if err := json.Unmarshal(before, &old); err != nil {
			return LockChanges{}, fmt.Errorf("read the lock as it was: %w", err)
		}
	}
	if err := json.Unmarshal(after, &new); err != nil {
		return LockChanges{}, fmt.Errorf("read the new lock: %w", err)
	}
	c := compareEntries(old.entries(), new.entries())
	c.Name, c.Fingerprint = "articles", new.Fingerprint
	return c, nil
}

// entries lists what a comparison looks at.
func (l *wikiLock) entries() []lockEntry {
	list := make([]lockEntry, len(l.Documents))
	for i, d := range l.Documents {
		list[i] = lockEntry{d.ID, fmt.Sprintf("%s (%s)", d.Title, d.ID), d.SHA256, strconv.FormatInt(d.RevID, 10)}
	}
	return list
}
