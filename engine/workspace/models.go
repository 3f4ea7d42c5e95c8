package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"raglab/cache"
	"raglab/internal/assets"
	"raglab/spec"
)

// modelsLockName is the file that pins models, beside the specs of a folder.
const modelsLockName = "models.lock.json"

// modelLock is the content of that file: models by the names of their assets.
type modelLock struct {
	Version int                    `json:"version"`
	Models  map[string]lockedModel `json:"models"`
}

// lockedModel is a model at a commit.
type lockedModel struct {
	Repository string `json:"repository"`
	Revision   string `json:"revision"`
	assets.Pin
}

func modelsLockPath(e *spec.Experiment) string { return filepath.Join(e.Dir, modelsLockName) }

// readModelLock reads the lock of a spec's folder; it is empty when there is none.
func readModelLock(path string) (modelLock, []byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return modelLock{}, nil, nil
	}
	if err != nil {
		return modelLock{}, nil, fmt.Errorf("read the lock of models: %w", err)
	}
	l, err := parseModelLock(raw)
	if err != nil {
		return l, raw, fmt.Errorf("read %s: %w; raglab lock writes it anew once it is removed", path, err)
	}
	return l, raw, nil
}

func parseModelLock(raw []byte) (modelLock, error) {
	var l modelLock
	if err := json.Unmarshal(raw, &l); err != nil {
		return modelLock{}, err
	}
	if l.Version != 1 {
		return modelLock{}, fmt.Errorf("it has version %d, and this raglab knows 1", l.Version)
	}
	return l, nil
}

// encode returns the lock as a file.
func (l modelLock) encode() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(l); err != nil {
		return nil, fmt.Errorf("write the lock of models: %w", err)
	}
	return b.Bytes(), nil
}

// with returns the lock with one more model.
func (l modelLock) with(a assets.Asset, pin assets.Pin) modelLock {
	models := maps.Clone(l.Models)
	if models == nil {
		models = map[string]lockedModel{}
	}
	models[a.Name] = lockedModel{a.Repository, a.Wants(), pin}
	return modelLock{1, models}
}

// seenModels is the state in which what unpinned models were is kept.
const seenModels = "models"

// assetsFor returns the assets as they are pinned for a spec.
func (w *Workspace) assetsFor(e *spec.Experiment) (*assetFinder, error) {
	lock, _, err := readModelLock(modelsLockPath(e))
	if err != nil {
		return nil, err
	}
	raw, err := w.Cache.State(globalState).Read(seenModels)
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		w.Log.Debug("no models remembered", "error", err)
	}
	seen, err := parseModelLock(raw)
	if err != nil {
		seen = modelLock{} // nothing was remembered, or by another raglab
	}
	return w.assets.forSpec(lock, seen, w.rememberModels), nil
}

// rememberModels keeps what unpinned models were found to be.
func (w *Workspace) rememberModels(seen modelLock) error {
	raw, err := seen.encode()
	if err == nil && !w.ReadOnly {
		err = w.Cache.State(globalState).Replace(seenModels, raw)
	}
	return err
}

// Unpinned tells in whole sentences what a spec reads that may be another thing
// tomorrow, and how to pin it.
func (s *Session) Unpinned() []string {
	var said []string
	for _, p := range s.Pipeline.Pins {
		if text := p.Unpinned(); text != "" {
			said = append(said, p.Block+": "+text+" What was fetched once stays in the cache until the spec, a lock or -force changes it.")
		}
	}
	for _, name := range s.Pipeline.Assets {
		a, err := findAsset(name)
		if err != nil || s.assets.pinned(a) || s.assets.store.Named(a) {
			continue
		}
		said = append(said, fmt.Sprintf("The model %s is not pinned: raglab lock writes the commit of %s and the digests of its files into %s. Until then it is what it was when it was first fetched.",
			a.Title(), a.Repository, modelsLockPath(s.Experiment)))
	}
	return said
}
