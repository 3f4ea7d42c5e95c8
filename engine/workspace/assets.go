package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"raglab/engine/pipeline"
	"raglab/internal/assets"
	"raglab/spec"
)

// assetFinder gives pipelines the assets that this machine has, or can get.
type assetFinder struct {
	store    *assets.Store
	progress func(assets.Event)
	// unavailable is why assets could not be had, by name.
	unavailable map[string]error
}

var _ pipeline.Assets = (*assetFinder)(nil)

func newAssetFinder(cacheDir string, o Options) *assetFinder {
	progress := o.AssetEvents
	if progress == nil {
		progress = func(assets.Event) {}
	}
	return &assetFinder{assets.New(assets.Config{Dir: filepath.Join(cacheDir, "assets")}), progress, map[string]error{}}
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
	a, err := findAsset(name)
	if err != nil {
		return "", err
	}
	build, ok := a.Build(runtime.GOOS + "/" + runtime.GOARCH)
	if !ok {
		return "", fmt.Errorf("asset %s is not known for %s/%s", name, runtime.GOOS, runtime.GOARCH)
	}
	h := sha256.New()
	for _, file := range build.Files {
		if file.SHA256 == "" {
			return f.digestOfHeld(a)
		}
		fmt.Fprintf(h, "%s %s\n", file.Name, file.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestOfHeld names an asset that nobody pinned by what is there.
func (f *assetFinder) digestOfHeld(a assets.Asset) (string, error) {
	paths, ok, err := f.store.Lookup(a)
	if err != nil {
		return "", err
	}
	if !ok {
		return "not here yet", nil
	}
	h := sha256.New()
	for _, file := range paths.Manifest.Files {
		fmt.Fprintf(h, "%s %s\n", file.Name, file.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Missing implements [pipeline.Assets].
func (f *assetFinder) Missing(name string) string {
	a, err := findAsset(name)
	if err != nil {
		return err.Error()
	}
	if err := f.unavailable[name]; err != nil {
		return err.Error()
	}
	_, ok, err := f.store.Lookup(a)
	switch {
	case err != nil:
		return err.Error()
	case !ok:
		return fmt.Sprintf("asset %s is not on this machine yet: raglab setup or raglab apply gets it", name)
	}
	return ""
}

// Dir implements [pipeline.Assets].
func (f *assetFinder) Dir(ctx context.Context, name string) (string, error) {
	a, err := findAsset(name)
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
		a, err := findAsset(name)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// Prepare gets the assets that the pipeline needs, and builds the pipeline anew
// when that changed what is known of them. What cannot be had is no error here:
// the stages that need it say so, and the others run.
func (s *Session) Prepare(ctx context.Context) error {
	fetched := false
	for _, name := range s.Pipeline.Assets {
		if s.assets.Missing(name) == "" {
			continue
		}
		if _, err := s.assets.Dir(ctx, name); err != nil {
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
func (w *Workspace) Asset(ctx context.Context, name string) (string, error) {
	return w.assets.Dir(ctx, name)
}
