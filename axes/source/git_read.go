package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"raglab/axes"
	"raglab/internal/web"
)

// checkout is what a git source has fetched, opened.
type checkout struct {
	s        *git
	members  []member // sorted by name
	archives []*archive
	// lock is what the files are held against, nil when there is none.
	lock *pinnedFiles
	// whole tells that the lock is of files within the repository's archive.
	whole bool
	// fetched are the files that came by themselves.
	fetched []pinnedFile
}

func (c *checkout) Close() error {
	var errs []error
	for _, a := range c.archives {
		errs = append(errs, a.close())
	}
	return errors.Join(errs...)
}

// open fetches what is not there yet, and opens archives.
func (s *git) open(ctx context.Context, lock *pinnedFiles) (*checkout, error) {
	c := &checkout{s: s, lock: lock, whole: s.URL == "" && len(s.Files) == 0}
	err := c.fetch(ctx)
	if err == nil {
		slices.SortFunc(c.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		err = c.unique()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *checkout) unique() error {
	for i := 1; i < len(c.members); i++ {
		if a, b := c.members[i-1], c.members[i]; a.name == b.name {
			return &Error{Path: b.at, Problem: fmt.Sprintf("has the same name %q as %s", b.name, a.at), Hint: "fetch them in two corpora"}
		}
	}
	return nil
}

func (c *checkout) fetch(ctx context.Context) error {
	s := c.s
	switch {
	case s.URL != "":
		u := s.URL
		if at := strings.IndexAny(u, "?#"); at >= 0 {
			u = u[:at]
		}
		return c.add(ctx, u[strings.LastIndexByte(u, '/')+1:], s.URL, 0)
	case c.whole:
		return c.add(ctx, "archive", s.address(s.ArchiveURL, ""), 0)
	}
	for i, name := range s.Files {
		if err := c.add(ctx, name, s.address(s.RawURL, name), i); err != nil {
			return err
		}
	}
	return nil
}

// add fetches one file and opens it if it is an archive.
func (c *checkout) add(ctx context.Context, name, address string, i int) error {
	f := web.File{URL: address, Header: c.s.header(address), Limit: maxUnpacked, Origin: c.s.name() + " " + name}
	if i < len(c.s.SHA256) {
		f.SHA256 = c.s.SHA256[i]
	}
	if c.lock != nil && !c.whole {
		pin, ok := c.lock.find(name)
		if !ok {
			return &Error{Path: c.s.lock, Problem: fmt.Sprintf("does not list the file %s", name), Hint: relock}
		}
		if f.SHA256 != "" && f.SHA256 != pin.SHA256 {
			return &Error{Path: c.s.lock, Problem: fmt.Sprintf("has another SHA-256 for %s than the spec", name), Hint: relock}
		}
		f.SHA256, f.Size = pin.SHA256, pin.Size
	}
	got, err := c.s.shelf.get(ctx, f, "")
	if err != nil {
		return c.s.refused(err, name)
	}
	c.fetched = append(c.fetched, pinnedFile{Path: name, Size: got.Size, SHA256: got.SHA256})
	at := c.s.from() + "/" + name
	if !c.whole && !isArchive(name) && (c.s.URL == "" || !looksPacked(name, got.path)) {
		c.members = append(c.members, fileMember(name, at, got.path, got.Size))
		return nil
	}
	a, err := openArchive(ctx, at, got.path, filepath.Join(c.s.shelf.dir, "coming"), c.s.wants)
	if err != nil {
		return err
	}
	c.archives = append(c.archives, a)
	c.members = append(c.members, a.members...)
	return nil
}

// refused says what the user can do about what cannot be fetched.
func (s *git) refused(err error, name string) error {
	if status, ok := errors.AsType[*web.StatusError](err); ok && !web.IsTemporary(err) && status.Code/100 == 4 {
		hint := "look whether the repository, the commit and the path are right; for a private one set GITHUB_TOKEN"
		if s.URL != "" {
			hint = "look whether the address is right"
		}
		return &Error{Path: s.from() + "/" + name, Problem: err.Error(), Hint: hint, Err: err}
	}
	if _, ok := errors.AsType[*web.MismatchError](err); ok {
		return &Error{Path: s.from() + "/" + name, Problem: err.Error(), Hint: "what the host holds now is not what was pinned", Err: err}
	}
	return err
}

// wants tells which files of a tar.gz need unpacking.
func (s *git) wants(name string) bool {
	return s.takes(name) || name == s.GitParams.Questions || name == s.Queries || name == s.Qrels
}

// takes tells whether a file belongs to the corpus.
func (s *git) takes(name string) bool {
	if len(s.include) > 0 {
		return anyMatch(s.include, name)
	}
	switch s.Layout {
	case "files":
		_, known := formatOf(name)
		return known
	case "jsonl":
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
		return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
	default:
		return slices.Contains(slices.Concat(corpusNames(), queryNames(s.Split), qrelNames(s.Split)), name)
	}
}

// documents reads the corpus. See [corpus] for what it returns.
func (s *git) documents(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	c, err := s.openPinned(ctx)
	if err != nil {
		return nil, true, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	switch s.Layout {
	case "files":
		return c.files(ctx, yield)
	case "beir":
		m, err := c.pick("corpus", corpusNames())
		if err != nil {
			return nil, true, err
		}
		return c.records(ctx, []member{m}, shape{id: "_id", title: "title", text: "text", format: s.Format}, yield)
	}
	members := c.taken()
	if len(members) == 0 {
		return nil, true, c.nothing()
	}
	return c.records(ctx, members, shape{id: s.ID, title: s.Title, text: s.Text, format: s.Format}, yield)
}

// openPinned opens with the lock file's digests.
func (s *git) openPinned(ctx context.Context) (*checkout, error) {
	lock, err := readPinnedFiles(s.lock, "git", s.from())
	if err != nil {
		return nil, err
	}
	return s.open(ctx, lock)
}

// taken are the members that belong to the corpus.
func (c *checkout) taken() []member {
	return slices.DeleteFunc(slices.Clone(c.members), func(m member) bool { return !c.s.takes(m.name) })
}

func (c *checkout) nothing() error {
	var names []string
	for _, m := range c.members[:min(len(c.members), 8)] {
		names = append(names, m.name)
	}
	hint := "there is no file at all"
	if len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	if more := len(c.members) - len(names); more > 0 {
		hint += fmt.Sprintf(" and %d more", more)
	}
	return &Error{Path: c.s.from(), Problem: "no file belongs to the corpus by include and layout", Hint: hint}
}

// files makes each member a document.
func (c *checkout) files(ctx context.Context, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	members := c.taken()
	if len(members) == 0 {
		return nil, true, c.nothing()
	}
	g := newGate(c.s.Empty, func(n int) string { return members[n].at })
	for n, m := range members {
		if err := context.Cause(ctx); err != nil {
			return nil, true, err
		}
		doc, ok, err := c.file(m, g)
		if err != nil {
			return nil, true, err
		}
		if ok && g.admit(doc, n, m.at, 0) && !yield(doc, nil) {
			return nil, false, nil
		}
	}
	return g.notes.warnings(), true, g.end(c.s.from(), "")
}

// maxFile bounds a document that is a file of its own.
const maxFile = 1 << 30

func (c *checkout) file(m member, g *gate) (axes.Document, bool, error) {
	var raw []byte
	err := c.read(m, func(_ string, r io.Reader) (err error) {
		raw, err = io.ReadAll(io.LimitReader(r, maxFile+1))
		return err
	})
	switch {
	case err != nil:
		return axes.Document{}, false, err
	case len(raw) > maxFile:
		g.add(&Error{Path: m.at, Problem: "is larger than 1 GiB"})
		return axes.Document{}, false, nil
	}
	doc, ok := documentOf(m.name, m.at, raw, g)
	return doc, ok, nil
}

// records reads members that hold a document a line.
func (c *checkout) records(ctx context.Context, members []member, sh shape, yield func(axes.Document, error) bool) (said []string, more bool, err error) {
	g := newGate(c.s.Empty, func(n int) string { return members[n/recordsPerFile].at + fmt.Sprintf(", line %d", n%recordsPerFile) })
	more = true
	for i, m := range members {
		err := c.read(m, func(at string, r io.Reader) (err error) {
			more, err = g.records(ctx, i, at, r, sh, yield)
			return err
		})
		if err != nil || !more {
			return nil, more, err
		}
	}
	return g.notes.warnings(), true, g.end(c.s.from(), "the files hold no line with a document")
}

// read hands a member's content to use, and holds all of it against the lock.
func (c *checkout) read(m member, use func(at string, r io.Reader) error) error {
	if c.lock == nil || !c.whole {
		return m.read(use)
	}
	pin, ok := c.lock.find(m.name)
	if !ok {
		return &Error{Path: c.s.lock, Problem: fmt.Sprintf("does not list the file %s", m.name), Hint: relock}
	}
	return verified(m, pin).read(use)
}

// verified returns the member with a reader that fails at the end of a content that
// is not as pinned.
func verified(m member, pin pinnedFile) member {
	open := m.open
	m.open = func() (io.ReadCloser, error) {
		in, err := open()
		if err != nil {
			return nil, err
		}
		return &verifier{ReadCloser: in, at: m.at, pin: pin, hash: sha256.New()}, nil
	}
	return m
}

// Lock implements [Pinner].
func (s *git) Lock(ctx context.Context, progress func(done, total int)) ([]byte, error) {
	c, err := s.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	lock := &pinnedFiles{Source: "git", From: s.from(), Files: c.fetched}
	for _, m := range c.taken() {
		lock.Bytes += m.size
	}
	if c.whole {
		lock.Files, err = c.digests(ctx, progress)
	}
	if err != nil {
		return nil, err
	}
	if progress != nil {
		progress(len(lock.Files), len(lock.Files))
	}
	return lock.encode()
}

// digests reads all members that are wanted.
func (c *checkout) digests(ctx context.Context, progress func(done, total int)) ([]pinnedFile, error) {
	members := slices.DeleteFunc(slices.Clone(c.members), func(m member) bool { return !c.s.wants(m.name) })
	if len(members) == 0 {
		return nil, c.nothing()
	}
	var pins []pinnedFile
	for i, m := range members {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		in, err := m.open()
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		n, err := io.Copy(h, in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, unreadable(m.at, err)
		}
		pins = append(pins, pinnedFile{Path: m.name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))})
		if progress != nil {
			progress(i+1, len(members))
		}
	}
	return pins, nil
}
