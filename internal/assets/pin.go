package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
)

// Pin is what a lock file keeps about an asset from a repository.
type Pin struct {
	// Commit is the repository's commit, 40 hex digits.
	Commit string `json:"commit"`
	// Files holds each file's size and digest by its name in the asset.
	Files map[string]PinnedFile `json:"files"`
}

// PinnedFile is the size and digest of one file at the pinned commit.
type PinnedFile struct {
	Size int64 `json:"size"`
	// SHA256 is empty for small files, which the repository names by Blob only.
	SHA256 string `json:"sha256,omitempty"`
	// Blob is the SHA-1 that git gives the file: of its content, or, where SHA256
	// is set, of a pointer to it.
	Blob string `json:"blob"`
}

// Repository describes an asset of files from a Hugging Face repository that is
// not pinned yet. The map files gives each file's path in the repository by its
// name in the asset.
func Repository(name, repository, licence, summary string, files map[string]string) Asset {
	b := Build{Platform: anyPlatform}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		b.Files = append(b.Files, File{
			Name:   file,
			Places: []Place{HuggingFace{Repository: repository, Path: files[file]}},
		})
	}
	return Asset{
		Name: name, Licence: licence, Summary: summary,
		Builds: []Build{b}, Repository: repository,
	}
}

var commitPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// WithPin returns the asset at the pinned commit with the pinned digests.
func (a Asset) WithPin(p Pin) (Asset, error) {
	if a.Repository == "" {
		return Asset{}, fmt.Errorf("pin asset %s: raglab itself pins it", a.Name)
	}
	if !commitPattern.MatchString(p.Commit) {
		return Asset{}, fmt.Errorf("pin asset %s: commit %q is not 40 hex digits", a.Name, p.Commit)
	}
	a.Version = p.Commit
	builds := make([]Build, len(a.Builds))
	for i, b := range a.Builds {
		builds[i] = Build{Platform: b.Platform, Note: b.Note, Files: make([]File, len(b.Files))}
		for j, f := range b.Files {
			pinned, ok := p.Files[f.Name]
			if !ok {
				return Asset{}, fmt.Errorf("pin asset %s: the lock does not list its file %s: run raglab lock again", a.Name, f.Name)
			}
			builds[i].Files[j] = f.pinned(p.Commit, pinned)
		}
	}
	a.Builds = builds
	return a, nil
}

func (f File) pinned(commit string, p PinnedFile) File {
	f.Size, f.SHA256 = p.Size, p.SHA256
	places := make([]Place, len(f.Places))
	for i, place := range f.Places {
		if hf, ok := place.(HuggingFace); ok {
			hf.Commit = commit
			if p.SHA256 == "" {
				hf.Blob = p.Blob
			}
			place = hf
		}
		places[i] = place
	}
	f.Places = places
	return f
}

// Pin asks the hub which commit a revision of the asset's repository is ("main",
// a tag, a commit) and what size and digest each of the asset's files has there.
func (s *Store) Pin(ctx context.Context, a Asset, revision string) (Pin, error) {
	if a.Repository == "" {
		return Pin{}, fmt.Errorf("pin asset %s: raglab itself pins it", a.Name)
	}
	var info struct {
		SHA string `json:"sha"`
	}
	if err := s.hubJSON(ctx, a.Repository, "revision/"+url.PathEscape(revision), &info); err != nil {
		return Pin{}, fmt.Errorf("pin asset %s: %w", a.Name, err)
	}
	if !commitPattern.MatchString(info.SHA) {
		return Pin{}, fmt.Errorf("pin asset %s: the hub names commit %q, which is not 40 hex digits", a.Name, info.SHA)
	}
	entries, err := s.hubTree(ctx, a.Repository, info.SHA)
	if err != nil {
		return Pin{}, fmt.Errorf("pin asset %s: %w", a.Name, err)
	}
	pin := Pin{Commit: info.SHA, Files: map[string]PinnedFile{}}
	for _, b := range a.Builds {
		for _, f := range b.Files {
			for _, place := range f.Places {
				hf, ok := place.(HuggingFace)
				if !ok {
					continue
				}
				e, ok := entries[hf.Path]
				if !ok {
					return Pin{}, fmt.Errorf("pin asset %s: %s at %s has no file %s", a.Name, a.Repository, info.SHA, hf.Path)
				}
				pin.Files[f.Name] = e
			}
		}
	}
	return pin, nil
}

// hubTree lists the files of a repository at a commit by path.
func (s *Store) hubTree(ctx context.Context, repository, commit string) (map[string]PinnedFile, error) {
	var tree []struct {
		Type, Path, OID string
		Size            int64
		LFS             *struct {
			OID  string
			Size int64
		}
	}
	if err := s.hubJSON(ctx, repository, "tree/"+commit+"?recursive=true&expand=false", &tree); err != nil {
		return nil, err
	}
	files := map[string]PinnedFile{}
	for _, e := range tree {
		if e.Type != "file" {
			continue
		}
		f := PinnedFile{Size: e.Size, Blob: e.OID}
		if e.LFS != nil {
			f.Size, f.SHA256 = e.LFS.Size, e.LFS.OID
		}
		files[e.Path] = f
	}
	return files, nil
}

// maxHubJSON bounds an answer of the hub's API; the largest repositories list
// some ten thousand files.
const maxHubJSON = 64 << 20

func (s *Store) hubJSON(ctx context.Context, repository, path string, out any) error {
	address := s.hub.endpoint + "/api/models/" + repository + "/" + path
	resp, err := s.get(ctx, address, s.hub.header())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s.hub.statusError(address, repository, resp)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxHubJSON)).Decode(out); err != nil {
		return fmt.Errorf("read %s: %w", redactURL(address), err)
	}
	return nil
}
