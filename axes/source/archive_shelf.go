package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"raglab/axes"
	"raglab/internal/assets"
	"raglab/internal/web"
)

// shelf keeps downloads by their content, so that what several specs name is
// fetched once. Its methods may be called from several goroutines, and several
// processes may use one folder.
type shelf struct {
	dir string
	web *web.Client

	mu sync.Mutex
	// kept remembers what was fetched without a digest that was known before, so
	// that documents and questions of one source are of the same bytes.
	kept map[string]shelved
}

// shelved is a file on the shelf.
type shelved struct {
	path string
	web.Got
}

func newShelf(env axes.Env) *shelf {
	s := &shelf{web: env.Client(), kept: map[string]shelved{}}
	if env.Downloads != "" {
		s.dir = filepath.Join(env.Downloads, "files")
	}
	return s
}

// get returns a file, downloading it when it is not on the shelf. The address must
// be https, or http on the loopback. Its Path is not used. A git blob id is checked
// where no SHA-256 is known, and may be empty.
func (s *shelf) get(ctx context.Context, f web.File, blob string) (shelved, error) {
	if err := web.Secure(f.URL); err != nil {
		return shelved{}, fmt.Errorf("%s: %w", web.RedactURL(f.URL), err)
	}
	return s.take(ctx, f.URL, cmp.Or(f.SHA256, blob), func(part string) error {
		f.Path = part
		if _, err := s.web.Download(ctx, f); err != nil {
			return fmt.Errorf("fetch a file: %w", err)
		}
		return nil
	})
}

// take returns the file with a content id, or the one that was got by a name before;
// else fetch writes it.
func (s *shelf) take(ctx context.Context, name, id string, fetch func(part string) error) (shelved, error) {
	if err := context.Cause(ctx); err != nil {
		return shelved{}, err
	}
	if s.dir == "" {
		return shelved{}, errors.New("there is no folder for downloads")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got, ok := s.kept[name]; ok {
		return got, nil
	}
	sum := sha256.Sum256([]byte(name))
	part := filepath.Join(s.dir, "coming", hex.EncodeToString(sum[:16]))
	release, err := assets.Guard(ctx, part+".lock")
	if err != nil {
		return shelved{}, err
	}
	defer release()
	if id != "" {
		if got, ok := s.held(id); ok {
			s.kept[name] = got
			return got, nil
		}
	}
	if err := fetch(part); err != nil {
		return shelved{}, err
	}
	got, err := s.put(part, id)
	if err != nil {
		return shelved{}, fmt.Errorf("%s: %w", web.RedactURL(name), err)
	}
	s.kept[name] = got
	return got, nil
}

// place is where a file with a content id is kept.
func (s *shelf) place(id string) string { return filepath.Join(s.dir, id[:2], id) }

// held returns the file with a content id if it is there and undamaged.
func (s *shelf) held(id string) (shelved, bool) {
	path := s.place(id)
	if assets.VerifyContent(path, id) != nil {
		return shelved{}, false
	}
	got, err := measure(path)
	return got, err == nil
}

// put moves a downloaded file to its place.
func (s *shelf) put(part, id string) (shelved, error) {
	if err := assets.VerifyContent(part, id); err != nil {
		os.Remove(part)
		return shelved{}, err
	}
	got, err := measure(part)
	if err != nil {
		return shelved{}, err
	}
	got.path = s.place(cmp.Or(id, got.SHA256))
	if err := os.MkdirAll(filepath.Dir(got.path), 0o777); err != nil {
		return shelved{}, err
	}
	return got, os.Rename(part, got.path)
}

// measure returns a file with its size and digest.
func measure(path string) (shelved, error) {
	f, err := os.Open(path)
	if err != nil {
		return shelved{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := f.WriteTo(h)
	return shelved{path, web.Got{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}}, err
}
