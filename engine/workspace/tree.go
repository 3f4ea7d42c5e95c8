package workspace

import (
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
	"raglab/engine/pipeline"
	"raglab/spec"
)

// smallFile is how long a file may be that a worker writes into its tree before
// anything asks for it.
const smallFile = 256 << 10

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
	if errors.Is(err, cache.ErrNotFound) {
		where := "this machine has no store"
		if s := w.Store.Shared(); s != nil {
			where = "this machine's store is " + s.Name()
		}
		return nil, fmt.Errorf("the spec was submitted through another store or cache folder: %s, and RAGLAB_STORE is to be the same there: %w", where, err)
	}
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
	// Paths are the submitter's, below the spec's root, not those of this tree.
	text := strings.ReplaceAll(diags.Error(), withSeparator(t.root), "")
	for _, name := range t.Env {
		if _, set := os.LookupEnv(name); !set {
			return nil, fmt.Errorf("load the spec, which reads the environment variable %s, and it is not set here: %s", name, text)
		}
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the bundle does not hold its spec %s", t.Spec)
	}
	return nil, fmt.Errorf("load the spec: %s", text)
}
