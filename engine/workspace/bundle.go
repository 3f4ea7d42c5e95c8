package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/pipeline"
)

// Loaded says how a spec was loaded.
type Loaded struct {
	Spec     string // the file or folder
	Vars     map[string]string
	VarFiles []string
}

// A bundle is a spec with all local files that its graph is made of, stored as one
// record: from it a worker on another machine builds the same graph. It holds no
// value of an environment variable; a worker has its own.
type bundle struct {
	Version int    `json:"raglab_bundle"`
	Program string `json:"program"`
	// Spec and VarFiles are paths in the tree.
	Spec     string            `json:"spec"`
	Vars     map[string]string `json:"vars,omitempty"`
	VarFiles []string          `json:"var_files,omitempty"`
	// Best are the axes that a staged cross has fixed so far.
	Best map[string]string `json:"best,omitempty"`
	// Threads are those of the machine that submitted it: their number decides how many
	// workers of Postgres build an index, which is part of its key.
	Threads int `json:"threads"`
	// Assets are the digests of the models and libraries that stages need, by name, as
	// they are in keys. Models are the pins of those that raglab itself does not pin.
	Assets map[string]string      `json:"assets,omitempty"`
	Models map[string]lockedModel `json:"models,omitempty"`
	// Env are the names of the environment variables that the spec reads.
	Env   []string     `json:"env,omitempty"`
	Files []bundleFile `json:"files"`
}

// bundleFile is a file of the tree: a path with slashes, relative to the root that
// holds them all.
type bundleFile struct {
	Path   string       `json:"path"`
	Size   int64        `json:"size"`
	MTime  int64        `json:"mtime"` // nanoseconds
	Digest cache.Digest `json:"digest"`
}

const bundleVersion = 1

// bundleOutput names the blob of a bundle's record that lists it. The files' blobs are
// named by their paths behind filePrefix.
const (
	bundleOutput = "bundle"
	filePrefix   = "file/"
)

// store is where artifacts are.
func (w *Workspace) store() engine.Store { return w.Store }

// bundle stores what the session's graph is made of, and returns the record, whose
// key names the bundle. What is there already is not written again.
func (s *Session) bundle(ctx context.Context, how Loaded) (*cache.Record, error) {
	b := bundle{Version: bundleVersion, Program: s.Version, Vars: how.Vars, Best: s.best, Threads: s.Threads}
	for name := range how.Vars {
		if s.Experiment.Sensitive(name) {
			return nil, fmt.Errorf("the variable %s is sensitive, and is not handed to other machines: have the spec read it with env(), and set that on each worker", name)
		}
	}
	for _, r := range s.Experiment.Reads() {
		if r.Kind == "env" {
			b.Env = append(b.Env, r.Name)
		}
	}
	var err error
	if b.Assets, b.Models, err = s.assetsAsTold(); err != nil {
		return nil, err
	}
	paths, err := s.bundlePaths(how)
	if err != nil {
		return nil, fmt.Errorf("gather the spec's files: %w", err)
	}
	spec, err := filepath.Abs(how.Spec)
	if err != nil {
		return nil, fmt.Errorf("gather the spec's files: %w", err)
	}
	files, err := s.fingerprints.Files(paths)
	if err != nil {
		return nil, err
	}
	root := commonFolder(append([]string{spec}, paths...))
	b.Spec = below(root, spec)
	for _, name := range how.VarFiles {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("gather the spec's files: %w", err)
		}
		b.VarFiles = append(b.VarFiles, below(root, abs))
	}
	for _, f := range files {
		b.Files = append(b.Files, bundleFile{below(root, f.Path), f.Size, f.MTime.UnixNano(), f.Digest})
	}
	return s.storeBundle(ctx, b, files)
}

// bundlePaths are the absolute paths of the local files that the graph is made of, in
// order.
func (s *Session) bundlePaths(how Loaded) ([]string, error) {
	var paths []string
	for name := range s.Experiment.Files {
		paths = append(paths, name)
	}
	paths = append(paths, how.VarFiles...)
	for _, r := range s.Experiment.Reads() {
		if r.Kind == "file" && r.Digest != "" {
			paths = append(paths, r.Path)
		}
	}
	locks := []string{modelsLockPath(s.Experiment)}
	for _, p := range s.Pipeline.Pins {
		if p.LockFile() != "" {
			locks = append(locks, p.LockFile())
		}
	}
	for _, lock := range locks {
		if _, err := os.Stat(lock); err == nil {
			paths = append(paths, lock)
		}
	}
	for _, f := range s.fingerprints.Asked() {
		paths = append(paths, f.Path)
	}
	for i, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		paths[i] = abs
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// storeBundle writes the blobs of a bundle, then its record.
func (s *Session) storeBundle(ctx context.Context, b bundle, files []pipeline.File) (*cache.Record, error) {
	list, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("store the spec's files: %w", err)
	}
	rec := &cache.Record{Key: cache.Key(cache.DigestOf(append([]byte("raglab bundle\n"), list...)))}
	if have, miss, err := cache.Lookup(ctx, s.store(), rec.Key); err == nil && miss.Reason == cache.Hit {
		return have, nil
	}
	put := func(name string, r io.Reader, want cache.Digest) error {
		blob, err := writeBlob(ctx, s.store(), r)
		if err != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
		if !want.IsZero() && blob.Digest != want {
			return fmt.Errorf("%s changed while it was read: apply again", name)
		}
		blob.Name = name
		rec.Outputs = append(rec.Outputs, blob)
		return nil
	}
	if err := put(bundleOutput, bytes.NewReader(list), cache.Digest{}); err != nil {
		return nil, err
	}
	for i, f := range files {
		r, err := os.Open(f.Path)
		if err != nil {
			return nil, fmt.Errorf("store the spec's files: %w", err)
		}
		err = put(filePrefix+b.Files[i].Path, r, f.Digest)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
	}
	return s.store().Put(ctx, rec)
}

func writeBlob(ctx context.Context, store cache.Store, r io.Reader) (cache.Blob, error) {
	w, err := store.Create(ctx)
	if err != nil {
		return cache.Blob{}, err
	}
	defer func() { _ = w.Abort() }() // nothing once it is committed
	if _, err := io.Copy(w, r); err != nil {
		return cache.Blob{}, err
	}
	return w.Commit()
}

// commonFolder is the deepest folder that holds all paths, which are absolute and not
// folders' own.
func commonFolder(paths []string) string {
	root := filepath.Dir(paths[0])
	for _, p := range paths[1:] {
		for !strings.HasPrefix(p, withSeparator(root)) {
			up := filepath.Dir(root)
			if up == root {
				return root
			}
			root = up
		}
	}
	return root
}

func withSeparator(dir string) string {
	if strings.HasSuffix(dir, string(filepath.Separator)) {
		return dir
	}
	return dir + string(filepath.Separator)
}

func below(root, path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, withSeparator(root)))
}
