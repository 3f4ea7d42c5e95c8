package pipeline

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// Fingerprints remembers the digests of local files by path, size and time of
// modification, so that a plan does not read a large corpus again. A file that
// was modified within two seconds of being read is not remembered: it may be
// written once more without its time showing it. Safe for concurrent use.
type Fingerprints struct {
	mu    sync.Mutex
	known map[string]fingerprint
	asked map[string]File // by absolute path
	dirty bool
}

// NewFingerprints returns a memory that holds the given files, whose paths are
// absolute: they are not read as long as their sizes and times are as given.
func NewFingerprints(files []File) *Fingerprints {
	f := &Fingerprints{known: make(map[string]fingerprint, len(files))}
	for _, file := range files {
		f.known[file.Path] = fingerprint{file.Size, file.MTime.UnixNano(), file.Digest}
	}
	return f
}

// Asked lists the files whose digests were asked for, with their absolute paths, in
// order of them.
func (f *Fingerprints) Asked() []File {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := make([]File, 0, len(f.asked))
	for _, path := range slices.Sorted(maps.Keys(f.asked)) {
		file := f.asked[path]
		file.Path = path
		files = append(files, file)
	}
	return files
}

func (f *Fingerprints) note(abs string, file File) {
	if f.asked == nil {
		f.asked = map[string]File{}
	}
	f.asked[abs] = file
}

type fingerprint struct {
	Size   int64        `json:"size"`
	MTime  int64        `json:"mtime"` // nanoseconds
	Digest cache.Digest `json:"digest"`
}

const fingerprintsVersion = 1

type fingerprintsFile struct {
	Version int                    `json:"version"`
	Files   map[string]fingerprint `json:"files"`
}

// ParseFingerprints reads what [Fingerprints.Encode] wrote; anything else gives
// an empty memory.
func ParseFingerprints(b []byte) *Fingerprints {
	var file fingerprintsFile
	if json.Unmarshal(b, &file) != nil || file.Version != fingerprintsVersion || file.Files == nil {
		file.Files = map[string]fingerprint{}
	}
	return &Fingerprints{known: file.Files}
}

// Encode returns the memory as a file, or nil when nothing was learnt.
func (f *Fingerprints) Encode() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty {
		return nil
	}
	b, err := json.Marshal(fingerprintsFile{fingerprintsVersion, f.known})
	if err != nil {
		return nil
	}
	return b
}

// File is a local file with its content's digest.
type File struct {
	Path   string // as given
	Size   int64
	MTime  time.Time
	Digest cache.Digest
}

// Files returns the digests of files, in order.
func (f *Fingerprints) Files(paths []string) ([]File, error) {
	out := make([]File, len(paths))
	var group errgroup.Group
	group.SetLimit(4)
	for i, p := range paths {
		group.Go(func() (err error) {
			out[i], err = f.file(p)
			return err
		})
	}
	return out, group.Wait()
}

func (f *Fingerprints) file(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		var at *fs.PathError // which would name the path again
		if errors.As(err, &at) {
			err = at.Err
		}
		return File{}, fmt.Errorf("read %s: %w", path, err)
	}
	out := File{Path: path, Size: info.Size(), MTime: info.ModTime()}
	abs, err := filepath.Abs(path)
	if err != nil {
		return File{}, fmt.Errorf("look at %s: %w", path, err)
	}
	if f != nil {
		f.mu.Lock()
		known, ok := f.known[abs]
		f.mu.Unlock()
		if ok && known.Size == out.Size && known.MTime == out.MTime.UnixNano() {
			out.Digest = known.Digest
			f.mu.Lock()
			f.note(abs, out)
			f.mu.Unlock()
			return out, nil
		}
	}
	if out.Digest, err = digestFile(path); err != nil {
		return File{}, err
	}
	if f != nil {
		f.mu.Lock()
		f.note(abs, out)
		if time.Since(out.MTime) > 2*time.Second {
			f.known[abs] = fingerprint{out.Size, out.MTime.UnixNano(), out.Digest}
			f.dirty = true
		}
		f.mu.Unlock()
	}
	return out, nil
}

func digestFile(path string) (d cache.Digest, err error) {
	r, err := os.Open(path)
	if err != nil {
		return d, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { _ = r.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return d, fmt.Errorf("read %s: %w", path, err)
	}
	copy(d[:], h.Sum(nil))
	return d, nil
}

// Unchanged reports the first file whose size or time of modification is no
// longer what it was.
func Unchanged(files []File) error {
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return fmt.Errorf("%s changed while it was read: %w", f.Path, err)
		}
		if info.Size() != f.Size || !info.ModTime().Equal(f.MTime) {
			return fmt.Errorf("%s changed while it was read", f.Path)
		}
	}
	return nil
}

// below lists the regular files at or below a path, sorted by path.
func below(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	slices.Sort(files)
	return files, nil
}

// nameBelow is the file's name relative to a path that a spec gave, with
// slashes: what of a file's place may enter a key. The path may be the file's.
func nameBelow(base, file string) string {
	rel, err := filepath.Rel(base, file)
	if err != nil || rel == "." {
		return filepath.Base(file)
	}
	return filepath.ToSlash(rel)
}
