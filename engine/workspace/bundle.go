package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"raglab/cache"
	"raglab/engine"
	"raglab/engine/pipeline"
	"raglab/spec"
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

// smallFile is how long a file may be that a worker writes into its tree before
// anything asks for it.
const smallFile = 256 << 10

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

// tree is a bundle on a worker's disk. Long files have their sizes and times, and no
// content until something is to read them.
type tree struct {
	bundle
	root  string
	store cache.Store
	blobs map[string]cache.Blob // by path
	there map[string]bool       // whose content is written
	lease *cache.Lease          // says that the tree is in use
}

// treesFolder is the folder of the cache in which workers lay out bundles.
const treesFolder = "trees"

// treeLease is the key of the lease on a tree.
func treeLease(name string) cache.Key {
	return cache.Key(cache.DigestOf([]byte("raglab tree\n" + name)))
}

// sweepTrees removes the trees of workers that did not come to remove theirs.
func (w *Workspace) sweepTrees(ctx context.Context) error {
	trees, err := os.ReadDir(filepath.Join(w.dir, treesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the trees of earlier workers: %w", err)
	}
	for _, t := range trees {
		lease, err := w.Cache.Acquire(ctx, treeLease(t.Name()), cache.LeaseRequest{Timeout: -1})
		if errors.Is(err, cache.ErrLocked) {
			continue
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(filepath.Join(w.dir, treesFolder, t.Name())), lease.Release())
		}
		if err != nil {
			return fmt.Errorf("remove the tree of an earlier worker: %w", err)
		}
	}
	return nil
}

// makeRoot makes the tree's folder, under its lease.
func (t *tree) makeRoot(ctx context.Context, w *Workspace, key cache.Key) error {
	name := fmt.Sprintf("%s-%08x", key.Short(), rand.Uint32())
	lease, err := w.Cache.Acquire(context.WithoutCancel(ctx), treeLease(name), cache.LeaseRequest{Timeout: -1})
	if err != nil {
		return err
	}
	t.lease, t.root = lease, filepath.Join(w.dir, treesFolder, name)
	return os.MkdirAll(t.root, 0o755)
}

// openTree lays out a bundle below a folder of the cache.
func (w *Workspace) openTree(ctx context.Context, key cache.Key) (*tree, error) {
	rec, err := w.store().Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("find the spec's bundle %s: %w", key.Short(), err)
	}
	list, ok := rec.Output(bundleOutput)
	if !ok {
		return nil, fmt.Errorf("%s is no bundle of a spec", key.Short())
	}
	raw, err := w.store().ReadAll(ctx, list.Digest)
	if err != nil {
		return nil, fmt.Errorf("read the spec's bundle: %w", err)
	}
	t := &tree{store: w.store(), blobs: map[string]cache.Blob{}, there: map[string]bool{}}
	if err := json.Unmarshal(raw, &t.bundle); err != nil {
		return nil, fmt.Errorf("read the spec's bundle: %w", err)
	}
	if t.Version != bundleVersion {
		return nil, fmt.Errorf("the spec's bundle has form %d, and this raglab reads form %d: it was submitted by raglab %s", t.Version, bundleVersion, t.Program)
	}
	for _, b := range rec.Outputs {
		if path, ok := strings.CutPrefix(b.Name, filePrefix); ok {
			t.blobs[path] = b
		}
	}
	// Each worker has a tree of its own: nothing writes into another's.
	if err := t.makeRoot(ctx, w, key); err != nil {
		return nil, fmt.Errorf("lay out the spec's files: %w", err)
	}
	if err := t.layOut(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("lay out the spec's files: %w", err), t.Close())
	}
	return t, nil
}

// Close removes the tree.
func (t *tree) Close() error { return errors.Join(os.RemoveAll(t.root), t.lease.Release()) }

// at is where a file of the bundle is. A path that leads out of the tree is refused:
// who may write into the store must not write elsewhere.
func (t *tree) at(path string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return "", fmt.Errorf("the bundle's path %q leads out of it", path)
	}
	return filepath.Join(t.root, filepath.FromSlash(path)), nil
}

func (t *tree) layOut(ctx context.Context) error {
	for _, f := range t.Files {
		at, err := t.at(f.Path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if f.Size <= smallFile || t.isSpec(f.Path) {
			err = t.write(ctx, f)
		} else {
			err = errors.Join(os.WriteFile(at, nil, 0o644), os.Truncate(at, f.Size), t.setTime(at, f))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isSpec tells files that are read before a stage runs: their lengths do not count.
func (t *tree) isSpec(path string) bool {
	return strings.HasSuffix(path, ".hcl") || strings.HasSuffix(path, ".json") || slices.Contains(t.VarFiles, path)
}

func (t *tree) setTime(at string, f bundleFile) error {
	when := time.Unix(0, f.MTime)
	return os.Chtimes(at, when, when)
}

// write gives a file its content.
func (t *tree) write(ctx context.Context, f bundleFile) error {
	at, err := t.at(f.Path)
	if err != nil || t.there[f.Path] {
		return err
	}
	blob, ok := t.blobs[f.Path]
	if !ok {
		return fmt.Errorf("the bundle lists %s and does not hold it", f.Path)
	}
	r, err := t.store.Open(ctx, blob.Digest)
	if err != nil {
		return fmt.Errorf("read %s of the bundle: %w", f.Path, err)
	}
	defer func() { _ = r.Close() }()
	out, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	if err := errors.Join(err, out.Close(), t.setTime(at, f)); err != nil {
		return fmt.Errorf("write %s of the bundle: %w", f.Path, err)
	}
	t.there[f.Path] = true
	return nil
}

// fill gives content to the files whose digests wanted names.
func (t *tree) fill(ctx context.Context, wanted func(cache.Digest) bool) error {
	for _, f := range t.Files {
		if wanted(f.Digest) {
			if err := t.write(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// fingerprints are those of the bundle's files, so that none is read to name it.
func (t *tree) fingerprints() *pipeline.Fingerprints {
	files := make([]pipeline.File, len(t.Files))
	for i, f := range t.Files {
		files[i] = pipeline.File{Path: filepath.Join(t.root, filepath.FromSlash(f.Path)), Size: f.Size, MTime: time.Unix(0, f.MTime), Digest: f.Digest}
	}
	return pipeline.NewFingerprints(files)
}

// load loads the spec of the tree.
func (t *tree) load() (*spec.Experiment, error) {
	at, err := t.at(t.Spec)
	if err != nil {
		return nil, err
	}
	options := spec.LoadOptions{Catalog: Catalog(), Vars: t.Vars}
	for _, name := range t.VarFiles {
		path, err := t.at(name)
		if err != nil {
			return nil, err
		}
		options.VarFiles = append(options.VarFiles, path)
	}
	exp, diags := spec.Load(at, options)
	if !diags.HasErrors() {
		return exp, nil
	}
	for _, name := range t.Env {
		if _, set := os.LookupEnv(name); !set {
			return nil, fmt.Errorf("load the spec, which reads the environment variable %s, and it is not set here: %w", name, diags)
		}
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the bundle does not hold its spec %s", t.Spec)
	}
	return nil, fmt.Errorf("load the spec: %w", diags)
}
