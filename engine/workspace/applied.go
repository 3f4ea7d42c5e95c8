package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"raglab/cache"
)

// Applied returns the spec that an apply in the working folder was last given,
// relative to that folder where it lies below it; empty when none is
// remembered, or it is gone.
func (w *Workspace) Applied() (string, error) {
	folder, name, err := appliedName()
	if err != nil {
		return "", err
	}
	raw, err := w.Cache.State(globalState).Read(name)
	if errors.Is(err, cache.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("recall the spec applied last: %w", err)
	}
	path := string(raw)
	if _, err := os.Stat(path); err != nil {
		return "", nil
	}
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel, nil
	}
	return path, nil
}

// RememberApplied makes a spec the one applied last in the working folder.
func (w *Workspace) RememberApplied(path string) error {
	_, name, err := appliedName()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("remember the spec: %w", err)
	}
	state := w.Cache.State(globalState)
	if raw, err := state.Read(name); err == nil && string(raw) == abs {
		return nil
	}
	return state.Replace(name, []byte(abs))
}

// appliedName is the working folder and the name under which the state keeps
// its spec.
func appliedName() (folder, name string, err error) {
	if folder, err = os.Getwd(); err != nil {
		return "", "", fmt.Errorf("find the working folder: %w", err)
	}
	sum := sha256.Sum256([]byte(folder))
	return folder, "applied-" + hex.EncodeToString(sum[:8]), nil
}
