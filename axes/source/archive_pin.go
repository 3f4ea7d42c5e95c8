package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"raglab/internal/param"
)

// pinnedFiles is what a lock file says of files from the network. A digest is the
// SHA-256 of the bytes as they are fetched, or of a file in an archive, once unpacked.
type pinnedFiles struct {
	Source string `json:"source"`
	// From names what was fetched: a repository and commit, or an address.
	From string `json:"from"`
	// Bytes is that of [Locked].
	Bytes int64 `json:"bytes,omitempty"`
	// Files are sorted by path.
	Files []pinnedFile `json:"files"`
}

type pinnedFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// readPinnedFiles reads a lock file, nil when it is not there.
func readPinnedFiles(path, source, from string) (*pinnedFiles, error) {
	lock := &pinnedFiles{}
	ok, err := readJSONLock(path, lock)
	if err != nil || !ok {
		return nil, err
	}
	if lock.Source != source || lock.From != from {
		return nil, &Error{
			Path: path, Problem: fmt.Sprintf("was written for %s %s, not for %s %s", lock.Source, lock.From, source, from),
			Hint: "run raglab lock to write it anew",
		}
	}
	return lock, nil
}

// find returns what the lock says of a path; a nil lock says nothing.
func (l *pinnedFiles) find(path string) (pinnedFile, bool) {
	if l == nil {
		return pinnedFile{}, false
	}
	at := slices.IndexFunc(l.Files, func(f pinnedFile) bool { return f.Path == path })
	if at < 0 {
		return pinnedFile{}, false
	}
	return l.Files[at], true
}

// encode writes the lock file.
func (l *pinnedFiles) encode() ([]byte, error) {
	slices.SortFunc(l.Files, func(a, b pinnedFile) int { return strings.Compare(a.Path, b.Path) })
	return writeJSONLock(l)
}

var (
	sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
	commitPattern = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// checkDigests refuses what is no SHA-256.
func checkDigests(attribute string, digests ...string) error {
	for _, d := range digests {
		if !sha256Pattern.MatchString(d) {
			return param.Errorf(attribute, "%q is no SHA-256: expected 64 digits from 0 to 9 and a to f", d)
		}
	}
	return nil
}

// unpinned is the sentence of [Pinner.Unpinned] for something that a lock file would
// pin. Also says what else would, and may be empty.
func unpinned(what, lock, also string) string {
	switch {
	case pinnedBy(lock):
		return ""
	case lock != "":
		return fmt.Sprintf("The %s is not pinned: the lock file %s is not there yet; raglab lock writes it.", what, lock)
	}
	return fmt.Sprintf("The %s is not pinned: give it%s a lock, such as lock = \"corpus.lock.json\", and run raglab lock.", what, also)
}
