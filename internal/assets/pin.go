package assets

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
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
// name in the asset, with a question mark behind it for one that is optional.
func Repository(name, repository, licence, summary string, files map[string]string) Asset {
	b := Build{Platform: anyPlatform}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		at, optional := strings.CutSuffix(files[file], optionalMark)
		b.Files = append(b.Files, File{
			Name: file, Optional: optional,
			Places: []Place{HuggingFace{Repository: repository, Path: at}},
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
		return Asset{}, fmt.Errorf("pin asset %s: raglab itself pins it", a.Title())
	}
	if !commitPattern.MatchString(p.Commit) {
		return Asset{}, fmt.Errorf("pin asset %s: commit %q is not 40 hex digits", a.Title(), p.Commit)
	}
	a.Version = p.Commit
	builds := make([]Build, len(a.Builds))
	for i, b := range a.Builds {
		builds[i] = Build{Platform: b.Platform, Note: b.Note}
		for _, f := range b.Files {
			pinned, ok := p.Files[f.Name]
			switch {
			case ok:
				builds[i].Files = append(builds[i].Files, f.pinned(p.Commit, pinned))
			case !f.Optional: // else the repository does not have it
				return Asset{}, fmt.Errorf("pin asset %s: the lock does not list its file %s: run raglab lock again", a.Title(), f.Name)
			}
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
		return Pin{}, fmt.Errorf("pin asset %s: raglab itself pins it", a.Title())
	}
	if s.hub.offline {
		return Pin{}, fmt.Errorf("pin asset %s: HF_HUB_OFFLINE is set", a.Title())
	}
	api := hubAPI{hub: s.hub, web: s.web, repositories: "models"}
	commit, err := api.commit(ctx, a.Repository, revision)
	if err != nil {
		return Pin{}, fmt.Errorf("pin asset %s: %w", a.Title(), err)
	}
	entries, err := api.tree(ctx, a.Repository, commit)
	if err != nil {
		return Pin{}, fmt.Errorf("pin asset %s: %w", a.Title(), err)
	}
	pin := Pin{Commit: commit, Files: map[string]PinnedFile{}}
	for _, b := range a.Builds {
		for _, f := range b.Files {
			for _, place := range f.Places {
				hf, ok := place.(HuggingFace)
				if !ok {
					continue
				}
				e, ok := entries[hf.Path]
				switch {
				case ok:
					pin.Files[f.Name] = e
				case !f.Optional:
					return Pin{}, fmt.Errorf("pin asset %s: %s at %.12s has no file %s%s", a.Title(), a.Repository, commit, hf.Path, graphHint(a.Repository, hf.Path, entries))
				}
			}
		}
	}
	return pin, nil
}

// graphExtension is that of ONNX graphs.
const graphExtension = ".onnx"

// graphHint says what to do about a graph that a repository does not have.
func graphHint(repository, missing string, entries map[string]PinnedFile) string {
	if !strings.HasSuffix(missing, graphExtension) {
		return ""
	}
	var graphs []string
	for at := range entries {
		if strings.HasSuffix(at, graphExtension) {
			graphs = append(graphs, at)
		}
	}
	slices.Sort(graphs)
	if len(graphs) > 0 {
		return "; it has " + strings.Join(graphs, ", ")
	}
	return "; " + exportHint(repository)
}

// exportHint says how to come to a model whose repository has no graph.
func exportHint(repository string) string {
	return "a model without a graph in ONNX form can be exported into a folder, which the attribute folder then names: optimum-cli export onnx --model " + repository + " FOLDER"
}

// Resolve is Pin for an asset that nobody pinned, at the revision it wants. Where the
// hub cannot be asked it takes the commit that the local Hugging Face cache has for
// the revision; the pin then has no digests.
func (s *Store) Resolve(ctx context.Context, a Asset) (Pin, error) {
	pin, err := s.Pin(ctx, a, a.Wants())
	if err == nil || ctx.Err() != nil {
		return pin, err
	}
	commit, readErr := os.ReadFile(s.hub.ref(a.Repository, a.Wants()))
	at := strings.TrimSpace(string(commit))
	if readErr != nil || !commitPattern.MatchString(at) {
		return Pin{}, err
	}
	pin = Pin{Commit: at, Files: map[string]PinnedFile{}}
	for _, b := range a.Builds {
		for _, f := range b.Files {
			pin.Files[f.Name] = PinnedFile{}
		}
	}
	return pin, nil
}
