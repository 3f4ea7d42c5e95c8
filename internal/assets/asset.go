package assets

import (
	"fmt"
	"path"
	"strings"
)

// Asset describes one versioned set of files. It is a plain value.
type Asset struct {
	// Name is lower case letters, digits, dashes and dots, or says which files of
	// which repository the asset is: see [HuggingFaceModel].
	Name string
	// Version is the publisher's version, or the commit of a pinned repository.
	// It is empty while a repository is not pinned: see [Asset.WithPin].
	Version string
	// Licence is the SPDX identifier of the files' licence.
	Licence string
	// Summary says in a few words what the asset is.
	Summary string
	// Builds lists the files per platform; the first that matches counts.
	Builds []Build
	// Repository is the Hugging Face repository of an asset that a lock pins, and
	// Revision what of it, empty for the newest.
	Repository, Revision string
}

// Build is the files of an asset on some platforms.
type Build struct {
	// Platform is a pattern, as in package path, over GOOS/GOARCH. An asset whose
	// files are the same everywhere has one build with "*/*".
	Platform string
	Files    []File
	// Note says what a user of such a platform must know, in one sentence; it
	// ends the error when the files cannot be had.
	Note string
}

// File is one file of an asset.
type File struct {
	// Name is the file's name in the asset's folder, without slashes.
	Name string
	// Size in bytes and SHA256 in lower-case hex; 0 and "" while not known.
	Size   int64
	SHA256 string
	// Optional says that the repository may not have the file: the asset is then
	// whole without it.
	Optional bool
	// Places are tried in order after the assets folder and the user's own.
	Places []Place
}

// Content names what the file holds, or is empty while nobody has said.
func (f File) Content() string {
	if f.SHA256 != "" {
		return f.SHA256
	}
	for _, p := range f.Places {
		if hf, ok := p.(HuggingFace); ok && hf.Blob != "" {
			return "git:" + hf.Blob
		}
	}
	return ""
}

// Known returns the assets that raglab can fetch, sorted by name.
func Known() []Asset {
	return append([]Asset{E5Small(), E5SmallQ4(), ONNXRuntime(), Postgres()}, Simplemma()...)
}

// Find returns the known asset of that name, or the one that a name as
// [HuggingFaceModel] makes it describes.
func Find(name string) (Asset, bool) {
	if strings.HasPrefix(name, hubPrefix) {
		return parseHubName(name)
	}
	for _, a := range Known() {
		if a.Name == name {
			return a, true
		}
	}
	return Asset{}, false
}

// Env returns the name of the environment variable by which a user names a file
// or folder with the asset.
func (a Asset) Env() string {
	name, _, _ := strings.Cut(a.Title(), "@")
	return "RAGLAB_ASSET_" + strings.NewReplacer("-", "_", ".", "_", ":", "_", "/", "_").Replace(strings.ToUpper(name))
}

// Build returns the asset's build for a platform given as GOOS/GOARCH.
func (a Asset) Build(platform string) (Build, bool) {
	for _, b := range a.Builds {
		if ok, err := path.Match(b.Platform, platform); err == nil && ok {
			return b, true
		}
	}
	return Build{}, false
}

// Size returns the bytes that the files take on a platform; files of unknown
// size count 0.
func (a Asset) Size(platform string) int64 {
	b, _ := a.Build(platform)
	var sum int64
	for _, f := range b.Files {
		sum += f.Size
	}
	return sum
}

// folder returns the asset's folder, relative to the store's, with slashes.
func (a Asset) folder(platform string) (string, error) {
	if a.Version == "" {
		return "", &UnpinnedError{Asset: a}
	}
	b, ok := a.Build(platform)
	if !ok {
		return "", fmt.Errorf("asset %s %s has no files for %s", a.Name, a.Version, platform)
	}
	version := a.Version
	if b.Platform != anyPlatform {
		version += "-" + strings.ReplaceAll(platform, "/", "-")
	}
	return a.folderName() + "/" + version, nil
}

// anyPlatform is the pattern of a build whose files do not depend on the platform.
const anyPlatform = "*/*"
