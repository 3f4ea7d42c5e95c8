package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"raglab/axes"
	"raglab/internal/param"
	"raglab/internal/web"
)

// beirName is a data set on BEIR's host.
type beirName struct {
	name, base, sha256, lock string
	shelf                    *shelf
}

var beirNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)

func newBEIRName(p BEIRParams, env axes.Env) (*beirName, error) {
	if !beirNamePattern.MatchString(p.Name) || strings.Contains(p.Name, "..") {
		return nil, param.Errorf("name", "%q is no name of a data set, such as scifact", p.Name)
	}
	if p.SHA256 != "" {
		if err := checkDigests("sha256", p.SHA256); err != nil {
			return nil, err
		}
	}
	base := cmp.Or(p.BaseURL, beirHost)
	if err := web.Secure(base); err != nil {
		return nil, param.Errorf("base_url", "is %v", err)
	}
	return &beirName{name: p.Name, base: strings.TrimSuffix(base, "/"), sha256: p.SHA256, lock: p.Lock, shelf: newShelf(env)}, nil
}

// file is what messages call the zip file.
func (b *beirName) file() string { return b.name + ".zip" }

// fetch gets the zip file and returns where it is.
func (b *beirName) fetch(ctx context.Context) (string, error) {
	lock, err := readPinnedFiles(b.lock, "beir", b.name)
	if err != nil {
		return "", err
	}
	pin := pinnedFile{SHA256: b.sha256}
	if locked, ok := lock.find(b.file()); ok {
		if pin.SHA256 != "" && pin.SHA256 != locked.SHA256 {
			return "", &Error{Path: b.lock, Problem: "has another SHA-256 than the spec", Hint: relock}
		}
		pin = locked
	} else if lock != nil {
		return "", &Error{Path: b.lock, Problem: "does not list the file " + b.file(), Hint: relock}
	}
	got, err := b.get(ctx, pin)
	return got.path, err
}

func (b *beirName) get(ctx context.Context, pin pinnedFile) (shelved, error) {
	got, err := b.shelf.get(ctx, web.File{
		URL: b.base + "/" + b.file(), Limit: maxUnpacked, Size: pin.Size, SHA256: pin.SHA256, Origin: "the BEIR data set " + b.name,
	}, "")
	if status, ok := errors.AsType[*web.StatusError](err); ok && !web.IsTemporary(err) && status.Code/100 == 4 {
		return got, &Error{Path: b.file(), Problem: err.Error(), Hint: "BEIR's documentation lists the names of its data sets", Err: err}
	}
	if _, ok := errors.AsType[*web.MismatchError](err); ok {
		return got, &Error{Path: b.file(), Problem: err.Error(), Hint: "what the host holds now is not what was pinned", Err: err}
	}
	return got, err
}

// beirByName is a data set that is fetched: unlike a local one it can be pinned.
type beirByName struct{ *beir }

// Remote implements [Remoter].
func (s *beirByName) Remote() bool { return true }

// Place implements [Placed].
func (s *beirByName) Place() string {
	if s.Unpinned() == "" {
		return ""
	}
	return s.remote.base
}

// Unpinned implements [Pinner].
func (s *beirByName) Unpinned() string {
	if s.remote.sha256 != "" {
		return ""
	}
	return unpinned(fmt.Sprintf("BEIR data set %s", s.remote.name), s.remote.lock, " a sha256, or")
}

// LockFile implements [Pinner].
func (s *beirByName) LockFile() string { return s.remote.lock }

// Lock implements [Pinner].
func (s *beirByName) Lock(ctx context.Context, progress func(done, total int)) ([]byte, error) {
	got, err := s.remote.get(ctx, pinnedFile{SHA256: s.remote.sha256})
	if err != nil {
		return nil, err
	}
	if progress != nil {
		progress(1, 1)
	}
	bytes, err := corpusBytes(got.path)
	if err != nil {
		return nil, s.remote.blame(err)
	}
	lock := &pinnedFiles{
		Source: "beir", From: s.remote.name, Bytes: bytes,
		Files: []pinnedFile{{Path: s.remote.file(), Size: got.Size, SHA256: got.SHA256}},
	}
	return lock.encode()
}

// blame says of what is wrong with the zip file that it is about that.
func (b *beirName) blame(err error) error {
	e := inFile("", 0, err)
	e.Path = b.file()
	return e
}

// corpusBytes is how large the documents in a zip file are, unpacked.
func corpusBytes(path string) (int64, error) {
	set, err := openDataset(path)
	if err != nil {
		return 0, err
	}
	size := int64(0)
	if name, ok := set.find(corpusNames()); ok {
		size = int64(set.files[name].UncompressedSize64)
	}
	return size, set.Close()
}
