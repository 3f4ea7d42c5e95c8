package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"raglab/internal/assets"
	"raglab/internal/web"
)

// hubLock is what a lock file says of datasets.
type hubLock struct {
	Source string `json:"source"`
	// Bytes is that of [Locked].
	Bytes        int64           `json:"bytes,omitempty"`
	Repositories []hubRepository `json:"repositories"`
}

// hubRepository is a repository at a commit, with its files by path. A file without a
// SHA-256 is named by its git blob id.
type hubRepository struct {
	Repository string                       `json:"repository"`
	Revision   string                       `json:"revision"` // as the spec says
	Commit     string                       `json:"commit"`
	Files      map[string]assets.PinnedFile `json:"files"`
}

// resolving remembers what revisions are, so that all of a run is of one commit.
type resolving struct {
	mu    sync.Mutex
	known map[string]hubRepository
}

// resolve returns a repository at the commit that its revision is: as locked, or as
// the hub says now.
func (s *huggingFace) resolve(ctx context.Context, repository, revision string, locked bool) (hubRepository, error) {
	s.resolving.mu.Lock()
	defer s.resolving.mu.Unlock()
	if known, ok := s.resolving.known[repository]; ok && locked {
		return known, nil
	}
	var r hubRepository
	var err error
	if locked && pinnedBy(s.lock) {
		r, err = s.readLock(repository, revision)
	} else {
		r, err = s.ask(ctx, repository, revision)
	}
	if err == nil {
		if s.resolving.known == nil {
			s.resolving.known = map[string]hubRepository{}
		}
		s.resolving.known[repository] = r
	}
	return r, err
}

func (s *huggingFace) ask(ctx context.Context, repository, revision string) (hubRepository, error) {
	r := hubRepository{Repository: repository, Revision: revision}
	var err error
	if r.Commit, err = s.hub.Commit(ctx, repository, revision); err == nil {
		r.Files, err = s.hub.Tree(ctx, repository, r.Commit)
	}
	if err != nil {
		return r, s.refused(err, repository)
	}
	return r, nil
}

func (s *huggingFace) readLock(repository, revision string) (hubRepository, error) {
	var lock hubLock
	if _, err := readJSONLock(s.lock, &lock); err != nil {
		return hubRepository{}, err
	}
	for _, r := range lock.Repositories {
		if lock.Source == "huggingface" && r.Repository == repository && r.Revision == revision && commitPattern.MatchString(r.Commit) {
			return r, nil
		}
	}
	return hubRepository{}, &Error{
		Path: s.lock, Problem: fmt.Sprintf("does not list the revision %s of the dataset %s", revision, repository),
		Hint: "run raglab lock to write it anew",
	}
}

// refused says what the user can do about what the hub does not give.
func (s *huggingFace) refused(err error, what string) error {
	if status, ok := errors.AsType[*web.StatusError](err); ok && !web.IsTemporary(err) && status.Code/100 == 4 {
		return &Error{Path: s.name(), Problem: err.Error(), Hint: "look whether repository and revision are right", Err: err}
	}
	if _, ok := errors.AsType[*web.MismatchError](err); ok {
		return &Error{Path: what, Problem: err.Error(), Hint: "what the hub holds now is not what was pinned", Err: err}
	}
	return err
}

// part is one of the three sorts of files.
type part struct {
	name                 string
	globs                []glob
	repository, revision string
}

// The parts of a dataset.
const (
	documentsOf = "documents"
	queriesOf   = "questions"
	qrelsOf     = "judgements"
)

func (s *huggingFace) part(name string) part {
	switch name {
	case queriesOf:
		return part{name, s.queries, s.Repository, s.Revision}
	case qrelsOf:
		if s.QrelsRepository != "" {
			return part{name, s.qrels, s.QrelsRepository, s.QrelsRevision}
		}
		return part{name, s.qrels, s.Repository, s.Revision}
	}
	return part{name, s.files, s.Repository, s.Revision}
}

// choose lists the files of a part by path, sorted.
func (p part) choose(r hubRepository) ([]string, error) {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		if anyMatch(p.globs, path) && tableFormat(path) != "" {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		return paths, nil
	}
	const shown = 12
	have := slices.Sorted(maps.Keys(r.Files))
	hint := "it has " + strings.Join(have[:min(len(have), shown)], ", ")
	if more := len(have) - shown; more > 0 {
		hint += fmt.Sprintf(" and %d more", more)
	}
	return nil, &Error{
		Path: "dataset " + r.Repository, Problem: fmt.Sprintf("has no file with the %s that the patterns fit, at the commit %.12s", p.name, r.Commit), Hint: hint,
	}
}

// fetch gets the files of a part.
func (s *huggingFace) fetch(ctx context.Context, name string) ([]member, error) {
	p := s.part(name)
	r, err := s.resolve(ctx, p.repository, p.revision, true)
	if err != nil {
		return nil, err
	}
	paths, err := p.choose(r)
	if err != nil {
		return nil, err
	}
	var members []member
	for _, path := range paths {
		m, err := s.file(ctx, r, path)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// file gets one file: from the local cache, the shelf or the hub.
func (s *huggingFace) file(ctx context.Context, r hubRepository, path string) (member, error) {
	pin := r.Files[path]
	at := fmt.Sprintf("%s@%.12s/%s", r.Repository, r.Commit, path)
	id := cmp.Or(pin.SHA256, pin.Blob)
	cached, ok := s.hub.Cached(r.Repository, r.Commit, path)
	if ok && assets.VerifyContent(cached, id) == nil {
		return fileMember(path, at, cached, pin.Size), nil
	}
	if s.hub.Offline() {
		return member{}, &Error{Path: at, Problem: "is not in the local cache, undamaged, and HF_HUB_OFFLINE is set", Hint: "get it while there is a network"}
	}
	got, err := s.shelf.get(ctx, s.hub.File(r.Repository, r.Commit, path, pin), pin.Blob)
	if err != nil {
		return member{}, s.refused(err, at)
	}
	return fileMember(path, at, got.path, got.Size), nil
}

// Lock implements [Pinner].
func (s *huggingFace) Lock(ctx context.Context, progress func(done, total int)) ([]byte, error) {
	lock := hubLock{Source: "huggingface"}
	for _, name := range []string{documentsOf, queriesOf, qrelsOf} {
		p := s.part(name)
		if len(p.globs) == 0 {
			continue
		}
		if slices.ContainsFunc(lock.Repositories, func(r hubRepository) bool { return r.Repository == p.repository }) {
			continue
		}
		r, err := s.ask(ctx, p.repository, p.revision)
		if err != nil {
			return nil, err
		}
		lock.Repositories = append(lock.Repositories, r)
	}
	if err := s.narrow(&lock); err != nil {
		return nil, err
	}
	if progress != nil {
		progress(1, 1)
	}
	return writeJSONLock(lock)
}

// narrow keeps of the files those that the source reads.
func (s *huggingFace) narrow(lock *hubLock) error {
	for i, r := range lock.Repositories {
		kept := map[string]assets.PinnedFile{}
		for _, name := range []string{documentsOf, queriesOf, qrelsOf} {
			p := s.part(name)
			if len(p.globs) == 0 || p.repository != r.Repository {
				continue
			}
			paths, err := p.choose(r)
			if err != nil {
				return err
			}
			for _, path := range paths {
				kept[path] = r.Files[path]
				if name == documentsOf {
					lock.Bytes += r.Files[path].Size
				}
			}
		}
		lock.Repositories[i].Files = kept
	}
	return nil
}
