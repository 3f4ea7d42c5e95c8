package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"raglab/internal/web"
)

// Config says where a store is and what it may use. Only Dir is required.
type Config struct {
	// Dir is the assets folder; it is made when something is fetched.
	Dir string
	// Platform is the GOOS/GOARCH to fetch for; empty is the running one.
	Platform string
	// Environ is the environment as in os.Environ; nil is the process's own.
	Environ []string
	// Client makes the HTTP requests; nil is a client with the usual settings.
	Client *http.Client
	// UserAgent is sent with them; empty is "raglab".
	UserAgent string
	// RetryWait is the first wait before a broken download goes on, doubled each
	// time; 0 is a second.
	RetryWait time.Duration
	// StallAfter is how long a download may bring nothing; 0 is a minute.
	StallAfter time.Duration
}

// maxTries is how often a download is begun or resumed before its place counts
// as failed. Tries that brought bytes do not count.
const maxTries = 3

// Store is a folder of assets. Its methods may be called from several
// goroutines, and several processes may use one folder.
type Store struct {
	dir      string
	platform string
	environ  []string
	web      *web.Client
	hub      hub
}

// New returns the store at a folder. It reads the environment, nothing else.
func New(c Config) *Store {
	s := &Store{dir: c.Dir, platform: c.Platform, environ: c.Environ}
	if s.platform == "" {
		s.platform = runtime.GOOS + "/" + runtime.GOARCH
	}
	if s.environ == nil {
		s.environ = os.Environ()
	}
	s.web = web.New(web.Config{
		HTTP: c.Client, UserAgent: c.UserAgent, Tries: maxTries,
		FirstWait: c.RetryWait, StallAfter: c.StallAfter,
	})
	s.hub = newHub(s.getenv)
	return s
}

// getenv returns the last value of a variable, as os.Getenv does.
func (s *Store) getenv(name string) string {
	for _, entry := range slices.Backward(s.environ) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// Phase is what a store is doing with a file.
type Phase string

// The phases of a fetch, in their order.
const (
	Waiting     Phase = "waiting"     // for another process that fetches the asset
	Downloading Phase = "downloading" // Done of Total bytes
	Verifying   Phase = "verifying"
	Done        Phase = "done"
)

// Event tells of the progress of a fetch.
type Event struct {
	Asset, File string
	Phase       Phase
	// Place is where the file comes from, while it is known.
	Place string
	// Done and Total are bytes; Total is 0 while it is not known.
	Done, Total int64
}

// Paths is an asset that is there.
type Paths struct {
	// Dir is the folder that holds the files.
	Dir      string
	Manifest Manifest
}

// File returns the path of one of the asset's files.
func (p Paths) File(name string) string { return filepath.Join(p.Dir, name) }

// Lookup returns the asset if it is in the folder, without network or writes.
// False means that [Store.Fetch] would have to get something.
func (s *Store) Lookup(a Asset) (Paths, bool, error) {
	dir, build, err := s.place(a)
	if err != nil {
		return Paths{}, false, err
	}
	m := s.readManifest(dir, a)
	for _, f := range build.Files {
		if s.settled(m, dir, a, f) {
			continue
		}
		// Put there by hand, or by a fetch that died before its manifest.
		h, err := f.verify(filepath.Join(dir, f.Name))
		if err != nil || s.userNamesOther(a, f, "") {
			return Paths{}, false, nil
		}
		h.Origin = originByHand
		m.set(h)
	}
	return Paths{Dir: dir, Manifest: m}, true, nil
}

// versionAsNamed stands for the version of an asset that nobody pinned and whose
// files the user names.
const versionAsNamed = "as-named"

// Named tells whether the user names the files of an asset by its variable.
func (s *Store) Named(a Asset) bool { return s.getenv(a.Env()) != "" }

const originByHand = "put there by hand"

// place returns the asset's folder and build.
func (s *Store) place(a Asset) (string, Build, error) {
	if a.Version == "" && s.getenv(a.Env()) != "" {
		a.Version = versionAsNamed
	}
	folder, err := a.folder(s.platform)
	if err != nil {
		return "", Build{}, err
	}
	b, _ := a.Build(s.platform)
	return filepath.Join(s.dir, filepath.FromSlash(folder)), b, nil
}

// held is Manifest.held, but a file without a pinned digest that came from
// elsewhere than the user's variable says now is not held.
func (s *Store) held(m Manifest, dir string, a Asset, f File) (Held, bool) {
	h, ok := m.held(dir, f)
	if ok && s.userNamesOther(a, f, h.Origin) {
		return Held{}, false
	}
	return h, ok
}

// settled tells whether nothing is to be got for a file: it is held, or the
// repository does not have it.
func (s *Store) settled(m Manifest, dir string, a Asset, f File) bool {
	_, ok := s.held(m, dir, a, f)
	return ok || f.Optional && slices.Contains(m.Absent, f.Name)
}

// Fetch returns the asset, getting the files that are not in the folder yet.
// Progress, which may be nil, is called from one goroutine at a time. When a file
// cannot be had the error is an [*UnavailableError]. Fetching an asset that is
// there writes nothing.
func (s *Store) Fetch(ctx context.Context, a Asset, progress func(Event)) (Paths, error) {
	if progress == nil {
		progress = func(Event) {}
	}
	dir, build, err := s.place(a)
	if err != nil {
		return Paths{}, err
	}
	if m := s.readManifest(dir, a); s.complete(m, dir, a, build) {
		return Paths{Dir: dir, Manifest: m}, nil
	}
	release, err := acquire(ctx, dir+".lock", func() { progress(Event{Asset: a.Title(), Phase: Waiting}) })
	if err != nil {
		if p, ok, _ := s.Lookup(a); ok {
			return p, nil // put by hand into a folder that cannot be written
		}
		return Paths{}, fmt.Errorf("get asset %s: %w", a.Title(), err)
	}
	defer release()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Paths{}, fmt.Errorf("get asset %s: %w", a.Title(), err)
	}
	removeRemains(dir)
	m := s.readManifest(dir, a)
	for _, f := range build.Files {
		if s.settled(m, dir, a, f) {
			continue
		}
		h, err := s.fetchFile(ctx, a, build, f, dir, progress)
		switch {
		case err == nil:
			m.set(h)
		case f.Optional && absent(err):
			m.Absent = append(m.Absent, f.Name)
		default:
			return Paths{}, err
		}
		if err := m.write(dir); err != nil {
			return Paths{}, fmt.Errorf("get asset %s: %w", a.Title(), err)
		}
	}
	return Paths{Dir: dir, Manifest: m}, nil
}

func (s *Store) complete(m Manifest, dir string, a Asset, b Build) bool {
	return !slices.ContainsFunc(b.Files, func(f File) bool { return !s.settled(m, dir, a, f) })
}

// absent tells whether a file could not be had because no place has it, and not
// because one could not be asked.
func absent(err error) bool {
	failure, ok := errors.AsType[*UnavailableError](err)
	return ok && !slices.ContainsFunc(failure.Tried, func(t Attempt) bool {
		return !errors.Is(t.Err, errNotThere) && !errors.Is(t.Err, errNotSet) && !errors.Is(t.Err, fs.ErrNotExist) && !web.HasStatus(t.Err, http.StatusNotFound)
	})
}

// fetchFile tries the places in order until one gives the file.
func (s *Store) fetchFile(ctx context.Context, a Asset, b Build, f File, dir string, progress func(Event)) (Held, error) {
	final := filepath.Join(dir, f.Name)
	failure := &UnavailableError{Asset: a, File: f, Platform: s.platform, Path: final, Note: b.Note}
	if a.Repository != "" && strings.HasSuffix(f.Name, graphExtension) {
		failure.Note = exportHint(a.Repository)
	}
	places := append([]Place{folder{path: final}, userPlace{variable: a.Env()}}, f.Places...)
	if s.userNamesOther(a, f, "") {
		places = places[1:] // nothing tells that the file there is the one named
	}
	for _, p := range places {
		report := func(e Event) {
			e.Asset, e.File, e.Place = a.Title(), f.Name, p.String()
			progress(e)
		}
		h, err := s.tryPlace(ctx, p, job{store: s, file: f, final: final, part: final + ".part", report: report})
		if err == nil {
			report(Event{Phase: Done, Done: h.Size, Total: h.Size})
			return h, nil
		}
		if ctx.Err() != nil {
			return Held{}, fmt.Errorf("get asset %s: %w", a.Title(), context.Cause(ctx))
		}
		failure.Tried = append(failure.Tried, Attempt{Place: p.String(), Err: err})
		if _, named := p.(userPlace); named && !errors.Is(err, errNotSet) {
			break // what the user names is used, or nothing is
		}
	}
	return Held{}, failure
}

// tryPlace gets the file from one place, verifies it and publishes it.
func (s *Store) tryPlace(ctx context.Context, p Place, j job) (Held, error) {
	got, err := p.fetch(ctx, j)
	if err != nil {
		return Held{}, err
	}
	j.report(Event{Phase: Verifying, Total: j.file.Size})
	h, err := j.file.verify(got.path)
	if err == nil {
		err = got.check.verify(got.path)
	}
	if err != nil {
		if got.path == j.part {
			j.discard() // what is damaged must not be resumed
		}
		return Held{}, err
	}
	if got.path != j.final {
		if err := publish(got.path, j.final); err != nil {
			return Held{}, err
		}
		j.discard()
	}
	h.Origin = got.origin
	return h, nil
}

// removeRemains removes what killed processes left in an asset's folder, except
// unfinished downloads. The caller holds the folder's lock.
func removeRemains(dir string) {
	for _, pattern := range []string{".pip-*", manifestName + ".tmp-*"} {
		remains, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue
		}
		for _, path := range remains {
			os.RemoveAll(path)
		}
	}
}
