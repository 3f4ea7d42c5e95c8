package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxFileSize bounds what the function file reads: specs read lists and short
// texts, never corpora.
const maxFileSize = 16 << 20

// world is all that expressions can see outside the spec. It keeps a record of
// what was read, and reads everything once, so that all expressions see one
// state of it.
type world struct {
	dir string
	env func(string) (string, bool)

	mu      sync.Mutex
	reads   map[[2]string]Read // by kind and name
	texts   map[string]string  // files by name
	secrets []string
}

func newWorld(dir string, env func(string) (string, bool)) *world {
	if env == nil {
		env = os.LookupEnv
	}
	return &world{dir: dir, env: env, reads: map[[2]string]Read{}, texts: map[string]string{}}
}

// resolve returns where a path of the spec is.
func (w *world) resolve(name string) string {
	local := filepath.FromSlash(name)
	if name == "" || filepath.IsAbs(local) {
		return local
	}
	return filepath.Join(w.dir, local)
}

func (w *world) record(r Read) { w.reads[[2]string{r.Kind, r.Name}] = r }

// file returns the text of a file.
func (w *world) file(name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, ok := w.texts[name]; ok {
		return text, nil
	}
	at := w.resolve(name)
	w.record(Read{Kind: "file", Name: name, Path: at})
	b, err := readRegular(at)
	if err != nil {
		return "", err
	}
	w.record(Read{Kind: "file", Name: name, Path: at, Digest: digest(b)})
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not valid UTF-8", at)
	}
	w.texts[name] = string(b)
	return string(b), nil
}

// readRegular refuses devices and pipes, which may never end.
func readRegular(at string) ([]byte, error) {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return nil, plainPathError(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", at)
	case info.Size() > maxFileSize:
		return nil, fmt.Errorf("%s has more than %d MiB", at, maxFileSize>>20)
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return nil, plainPathError(err)
	}
	return b, nil
}

func plainPathError(err error) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", pe.Path)
	}
	return fmt.Errorf("read %s: %w", pe.Path, pe.Err)
}

// exists tells whether there is a file of that name.
func (w *world) exists(name string) bool {
	info, err := os.Stat(w.resolve(name))
	found := err == nil && info.Mode().IsRegular()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Read{Kind: "fileexists", Name: name}
	if found {
		r.Digest = digest([]byte("true"))
	}
	w.record(r)
	return found
}

// fileset returns the files below a folder whose slash-separated path from it
// matches the pattern, sorted. The element "**" matches any number of folders.
func (w *world) fileset(folder, pattern string) ([]string, error) {
	for part := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}
	}
	root := w.resolve(folder)
	found := []string{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if name := filepath.ToSlash(rel); globMatch(strings.Split(pattern, "/"), strings.Split(name, "/")) {
			found = append(found, name)
		}
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(found)
	r := Read{Kind: "fileset", Name: folder + "/" + pattern}
	if err == nil {
		r.Digest = digest([]byte(strings.Join(found, "\x00")))
	}
	w.record(r)
	if err != nil {
		return nil, plainPathError(err)
	}
	return found, nil
}

func globMatch(pattern, name []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0
	}
	for i := range len(name) + 1 {
		if globMatch(pattern[1:], name[i:]) {
			return true
		}
	}
	return false
}

// lookup returns an environment variable, which is a secret from then on.
func (w *world) lookup(name string) (string, bool) {
	value, ok := w.env(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Read{Kind: "env", Name: name}
	if ok {
		r.Digest = digest([]byte(value))
	}
	w.record(r)
	w.keepSecret(value)
	return value, ok
}

// hide is keepSecret for callers that do not hold the lock.
func (w *world) hide(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keepSecret(text)
}

// keepSecret has the text left out of messages. Texts of a letter or two would
// only garble them.
func (w *world) keepSecret(text string) {
	if len(text) > 3 && !slices.Contains(w.secrets, text) {
		w.secrets = append(w.secrets, text)
	}
}

// hidden lists the texts to keep out of messages.
func (w *world) hidden() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.secrets)
}

// list returns the reads, sorted.
func (w *world) list() []Read {
	w.mu.Lock()
	defer w.mu.Unlock()
	reads := make([]Read, 0, len(w.reads))
	for _, r := range w.reads {
		reads = append(reads, r)
	}
	slices.SortFunc(reads, func(a, b Read) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return reads
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Reads lists what expressions read outside the spec, sorted by kind and name.
func (e *Experiment) Reads() []Read { return e.world.list() }
