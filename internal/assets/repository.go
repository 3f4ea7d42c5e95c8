package assets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hubPrefix begins the names of assets that are files of a Hugging Face repository.
const hubPrefix = "hf:"

// HuggingFaceModel describes files of any Hugging Face model repository as an
// asset. The repository is OWNER/NAME, with @REVISION (a branch, a tag or a commit)
// behind it where it is not the newest. The map files gives each file's path in the
// repository by its name in the asset, a plain file name.
//
// The asset's Name says all of that, as
//
//	hf:OWNER/NAME[@REVISION]:FILE[,FILE…]
//
// with files sorted by name, each its PATH, or NAME=PATH where the name is not the
// last part of the path, with a question mark behind one that the repository need not
// have. [Find] makes the same asset of such a name again, so a kind
// puts the Name into its axes.Needs and hands the same Name to axes.Env's Asset,
// which returns the folder with the files. What the files are is not known here:
//
//   - pinned by models.lock.json beside the spec, commit, sizes and digests come from
//     there ([Asset.WithPin]);
//   - a revision that is a commit, 40 hex digits, fixes the content, and what comes is
//     checked against what the hub says of it;
//   - else the asset cannot be fetched before [Store.Pin] asked what the revision is.
//
// It panics when [CheckRepository] refuses the repository, or a file is named in a
// way that the name cannot say: with a comma, a colon or an equals sign.
func HuggingFaceModel(repository string, files map[string]string) Asset {
	if err := CheckRepository(repository); err != nil {
		panic("assets: " + err.Error())
	}
	for name, at := range files {
		if !plainName(name) || !plainPath(strings.TrimSuffix(at, optionalMark)) {
			panic(fmt.Sprintf("assets: file %q at %q of %s cannot be named", name, at, repository))
		}
	}
	name, revision, _ := strings.Cut(repository, "@")
	a := Repository(hubName(repository, files), name, "as its model card says", "files of the Hugging Face repository "+name, files)
	a.Revision = revision
	if commitPattern.MatchString(revision) {
		a = a.atCommit(revision)
	}
	return a
}

var repositoryPattern = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9._/-]*)?$`)

// CheckRepository tells what is wrong with what a user wrote as a Hugging Face
// repository, for an error that points at the attribute.
func CheckRepository(repository string) error {
	if !repositoryPattern.MatchString(repository) || strings.Contains(repository, "..") {
		return fmt.Errorf("%q is not a Hugging Face repository: expected OWNER/NAME, or OWNER/NAME@REVISION", repository)
	}
	return nil
}

// optionalMark stands behind the path of a file that a repository need not have.
const optionalMark = "?"

func plainName(name string) bool {
	return name != "" && name == path.Base(name) && name != "." && name != ".." && !strings.ContainsAny(name, `,=:?\`)
}

func plainPath(at string) bool {
	return at != "" && at == path.Clean(at) && !path.IsAbs(at) && at != ".." && !strings.HasPrefix(at, "../") && !strings.ContainsAny(at, `,=:?\`)
}

func hubName(repository string, files map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := files[name]
		if name != path.Base(strings.TrimSuffix(at, optionalMark)) {
			at = name + "=" + at
		}
		list = append(list, at)
	}
	return hubPrefix + repository + ":" + strings.Join(list, ",")
}

// parseHubName is the reverse of hubName.
func parseHubName(text string) (Asset, bool) {
	rest, ok := strings.CutPrefix(text, hubPrefix)
	repository, list, cut := strings.Cut(rest, ":")
	if !ok || !cut || CheckRepository(repository) != nil {
		return Asset{}, false
	}
	files := map[string]string{}
	for f := range strings.SplitSeq(list, ",") {
		name, at, named := strings.Cut(f, "=")
		if !named {
			name, at = path.Base(strings.TrimSuffix(f, optionalMark)), f
		}
		if !plainName(name) || !plainPath(strings.TrimSuffix(at, optionalMark)) {
			return Asset{}, false
		}
		files[name] = at
	}
	a := HuggingFaceModel(repository, files)
	return a, a.Name == text
}

// atCommit returns the asset at a commit whose files' digests are not known.
func (a Asset) atCommit(commit string) Asset {
	pin := Pin{Commit: commit, Files: map[string]PinnedFile{}}
	for _, f := range a.Builds[0].Files {
		pin.Files[f.Name] = PinnedFile{}
	}
	pinned, err := a.WithPin(pin)
	if err != nil {
		panic("assets: " + err.Error()) // the pin lists the asset's own files
	}
	return pinned
}

// Title is the asset's name for people: without its files, where it has them.
func (a Asset) Title() string {
	if rest, ok := strings.CutPrefix(a.Name, hubPrefix); ok {
		repository, _, _ := strings.Cut(rest, ":")
		return hubPrefix + repository
	}
	return a.Name
}

// Wants is the revision to pin the asset at.
func (a Asset) Wants() string { return cmp.Or(a.Revision, "main") }

// Pinnable tells whether a lock decides what the asset is: its files are those of a
// repository, whose revision is not a commit.
func (a Asset) Pinnable() bool {
	return a.Repository != "" && !commitPattern.MatchString(a.Revision)
}

// folderName is the name of the asset's folder. That of a repository's files has a
// short hash of which, since another kind may want others of the same repository.
func (a Asset) folderName() string {
	title := a.Title()
	if title == a.Name {
		return a.Name
	}
	repository, _, _ := strings.Cut(strings.TrimPrefix(title, hubPrefix), "@")
	_, files, _ := strings.Cut(strings.TrimPrefix(a.Name, hubPrefix), ":")
	sum := sha256.Sum256([]byte(repository + ":" + files))
	return "hf--" + strings.ReplaceAll(repository, "/", "--") + "--" + hex.EncodeToString(sum[:4])
}
