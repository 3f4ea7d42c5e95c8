package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"raglab/engine/pipeline"
	"raglab/internal/assets"
	"raglab/internal/web"
	"raglab/spec"
)

// assetFinder gives pipelines the assets that this machine has, or can get.
type assetFinder struct {
	store    *assets.Store
	progress func(assets.Event)
	// lock pins models as the lock file beside the spec says, seen those that it
	// does not name, as they were when they were first asked for. What is new in
	// seen is kept by remember.
	lock     modelLock
	mu       sync.Mutex
	seen     modelLock
	remember func(modelLock) error
	// unavailable is why assets could not be had, by name.
	unavailable map[string]error
}

var _ pipeline.Assets = (*assetFinder)(nil)

func newAssetFinder(cacheDir string, o Options) *assetFinder {
	progress := o.AssetEvents
	if progress == nil {
		progress = func(assets.Event) {}
	}
	store := assets.New(assets.Config{Dir: filepath.Join(cacheDir, "assets"), UserAgent: web.Agent(o.Version, "")})
	return &assetFinder{store: store, progress: progress, unavailable: map[string]error{}}
}

// forSpec returns the finder for a spec's folder.
func (f *assetFinder) forSpec(lock, seen modelLock, remember func(modelLock) error) *assetFinder {
	return &assetFinder{
		store: f.store, progress: f.progress, lock: lock, seen: seen, remember: remember,
		unavailable: map[string]error{},
	}
}

// find returns an asset as it is pinned, if it is.
func (f *assetFinder) find(name string) (assets.Asset, error) {
	a, err := findAsset(name)
	if err != nil || !a.Pinnable() {
		return a, err
	}
	if m, ok := f.pin(name); ok {
		return a.WithPin(m.Pin)
	}
	return a, nil
}

// pin is what a lock says of an asset, or else what was seen of it first.
func (f *assetFinder) pin(name string) (lockedModel, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range []modelLock{f.lock, f.seen} {
		if m, ok := l.Models[name]; ok {
			return m, true
		}
	}
	return lockedModel{}, false
}

// pinned tells whether an asset is fixed: by raglab, by its commit, or by the lock.
func (f *assetFinder) pinned(a assets.Asset) bool {
	_, ok := f.lock.Models[a.Name]
	return ok || !a.Pinnable()
}

// resolved is find, and finds out what an asset is that neither raglab nor a lock
// pins. Which files it is made of is remembered, so that the next command takes the
// same.
func (f *assetFinder) resolved(ctx context.Context, name string) (assets.Asset, error) {
	a, err := f.find(name)
	if err != nil || a.Version != "" || f.store.Named(a) {
		return a, err
	}
	pin, err := f.store.Resolve(ctx, a)
	if err != nil {
		return a, err
	}
	f.mu.Lock()
	f.seen = f.seen.with(a, pin)
	seen := f.seen
	f.mu.Unlock()
	if f.remember != nil {
		if err := f.remember(seen); err != nil {
			return a, err
		}
	}
	return f.find(name)
}

func findAsset(name string) (assets.Asset, error) {
	a, ok := assets.Find(name)
	if ok {
		return a, nil
	}
	var names []string
	for _, k := range assets.Known() {
		names = append(names, k.Name)
	}
	err := fmt.Errorf("there is no asset %q; there are %s", name, strings.Join(names, ", "))
	if near := spec.Suggest(name, names); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return a, err
}

// Digest implements [pipeline.Assets]: a hash over the digests of the asset's
// files, which are pinned.
func (f *assetFinder) Digest(name string) (string, error) {
	a, err := f.find(name)
	if err != nil {
		return "", err
	}
	build, ok := a.Build(runtime.GOOS + "/" + runtime.GOARCH)
	if !ok {
		return "", fmt.Errorf("asset %s is not known for %s/%s", name, runtime.GOOS, runtime.GOARCH)
	}
	h := sha256.New()
	for _, file := range build.Files {
		if file.Content() == "" {
			return f.digestOfHeld(a)
		}
		fmt.Fprintf(h, "%s %s\n", file.Name, file.Content())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// notHere stands for the digest of an asset that nobody has pinned and that was not
// fetched yet.
const notHere = "not here yet"

// digestOfHeld names an asset that nobody pinned by what is there.
func (f *assetFinder) digestOfHeld(a assets.Asset) (string, error) {
	paths, ok, err := f.store.Lookup(a)
	if unpinned := (*assets.UnpinnedError)(nil); errors.As(err, &unpinned) {
		return notHere, nil
	}
	if err != nil {
		return "", err
	}
	if !ok {
		return notHere, nil
	}
	h := sha256.New()
	for _, file := range paths.Manifest.Files {
		fmt.Fprintf(h, "%s %s\n", file.Name, file.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Missing implements [pipeline.Assets].
func (f *assetFinder) Missing(name string) string {
	a, err := f.find(name)
	if err != nil {
		return err.Error()
	}
	if err := f.unavailable[name]; err != nil {
		return err.Error()
	}
	_, ok, err := f.store.Lookup(a)
	switch unpinned := (*assets.UnpinnedError)(nil); {
	case err != nil && !errors.As(err, &unpinned):
		return err.Error()
	case !ok:
		return fmt.Sprintf("asset %s is not on this machine yet: raglab setup or raglab apply gets it", a.Title())
	}
	return ""
}

// Dir implements [pipeline.Assets].
func (f *assetFinder) Dir(ctx context.Context, name string) (string, error) {
	a, err := f.resolved(ctx, name)
	if err != nil {
		return "", err
	}
	paths, err := f.store.Fetch(ctx, a, f.progress)
	if err != nil {
		return "", err
	}
	return paths.Dir, nil
}

// Assets lists the assets that a session's pipeline needs.
func (s *Session) Assets() ([]assets.Asset, error) {
	var list []assets.Asset
	for _, name := range s.Pipeline.Assets {
		a, err := s.assets.find(name)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// FindAsset returns an asset as it is pinned, if it is.
func (s *Session) FindAsset(name string) (assets.Asset, error) { return s.assets.find(name) }

// Prepare gets the assets that the pipeline needs, and builds the pipeline anew
// when that changed what is known of them. What cannot be had is no error here:
// the stages that need it say so, and the others run. Where stages run on other
// machines, those get what they need, and only what that is must be known here.
func (s *Session) Prepare(ctx context.Context) error {
	if s.away {
		return s.settle(ctx)
	}
	fetched := false
	for _, name := range s.Pipeline.Assets {
		if s.assets.Missing(name) == "" {
			continue
		}
		if _, err := s.Asset(ctx, name); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s.assets.unavailable[name] = err
			continue
		}
		fetched = true
	}
	if !fetched && len(s.assets.unavailable) == 0 {
		return nil
	}
	return s.build(ctx)
}

// Asset returns the folder of an asset, and gets it when it is not there.
func (s *Session) Asset(ctx context.Context, name string) (string, error) {
	return s.assets.Dir(ctx, name)
}

// Asset returns the folder of an asset that raglab itself pins, and gets it when it
// is not there.
func (w *Workspace) Asset(ctx context.Context, name string) (string, error) {
	return w.assets.Dir(ctx, name)
}
