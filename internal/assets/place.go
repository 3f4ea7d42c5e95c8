package assets

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"raglab/internal/web"
)

// Place is somewhere a file can be had from: [HuggingFace], [Pip] or [URL].
type Place interface {
	// String names the place in messages and manifests, without secrets.
	String() string
	// byHand tells a user where to get the file.
	byHand() string
	// fetch makes the whole file available on this machine, not verified yet.
	fetch(ctx context.Context, j job) (obtained, error)
}

// job is one file that a place is asked for.
type job struct {
	store *Store
	file  File
	// final is where the file will be; part, in the same folder, is where a place
	// writes it.
	final, part string
	report      func(Event)
}

// discard removes an unfinished or damaged file and the record of its origin.
func (j job) discard() {
	web.Discard(j.part)
}

// obtained is a file that a place gave.
type obtained struct {
	path   string
	origin string
	check  contentID
}

// contentID is what a server says about a file's content: a SHA-256, the SHA-1
// of a git blob, or nothing.
type contentID string

// verify checks the file at path.
func (id contentID) verify(path string) error {
	switch len(id) {
	case 64:
		_, sum, err := hashFile(path)
		if err == nil && sum != string(id) {
			return &web.MismatchError{What: "SHA-256", Got: sum, Want: string(id) + " as the server said"}
		}
		return err
	case 40:
		sum, err := blobID(path)
		if err == nil && sum != string(id) {
			return &web.MismatchError{What: "git blob id", Got: sum, Want: string(id)}
		}
		return err
	}
	return nil
}

// blobID returns the SHA-1 that git gives a file's content.
func blobID(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", info.Size())
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyToPart copies a local file to the job's part.
func (j job) copyToPart(ctx context.Context, source string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	j.discard()
	out, err := os.OpenFile(j.part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, &meter{r: in, ctx: ctx, total: j.file.Size, report: j.report})
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

// folder is the assets folder itself, as a place: a file put there by hand.
type folder struct{ path string }

func (p folder) String() string { return "assets folder " + filepath.Dir(p.path) }
func (p folder) byHand() string { return "" }

func (p folder) fetch(context.Context, job) (obtained, error) {
	if _, err := os.Stat(p.path); err != nil {
		return obtained{}, errNotThere
	}
	return obtained{path: p.path, origin: originByHand}, nil
}

// userPlace is the file or folder that the user names by a variable.
type userPlace struct{ variable string }

// errNotThere says that the assets folder does not have a file.
var errNotThere = errors.New("not there")

// errNotSet says that the user's variable has no value.
var errNotSet = errors.New("not set")

func (p userPlace) String() string { return p.variable }
func (p userPlace) byHand() string { return "" }

func (p userPlace) fetch(ctx context.Context, j job) (obtained, error) {
	source, origin, err := j.store.named(p.variable, j.file)
	if err != nil {
		return obtained{}, err
	}
	if err := j.copyToPart(ctx, source); err != nil {
		return obtained{}, err
	}
	return obtained{path: j.part, origin: origin}, nil
}

// named returns the file that a variable names, and how a manifest records it:
// with its size and time, so that another file of that name is noticed.
func (s *Store) named(variable string, f File) (path, origin string, err error) {
	path = s.getenv(variable)
	if path == "" {
		return "", "", errNotSet
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		path = filepath.Join(path, f.Name)
		if info, err = os.Stat(path); err != nil {
			return "", "", fmt.Errorf("names a folder without %s", f.Name)
		}
	}
	if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is not a regular file", path)
	}
	modified := info.ModTime().UTC().Format(time.RFC3339Nano)
	return path, fmt.Sprintf("%s=%s (%d bytes, %s)", variable, path, info.Size(), modified), nil
}

// userNamesOther tells whether the user names, for a file without a pinned
// digest, something else than what the file came from.
func (s *Store) userNamesOther(a Asset, f File, origin string) bool {
	if f.SHA256 != "" {
		return false
	}
	_, named, err := s.named(a.Env(), f)
	return !errors.Is(err, errNotSet) && named != origin
}
