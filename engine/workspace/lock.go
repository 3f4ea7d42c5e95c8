package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"raglab/axes/source"
	"raglab/engine/pipeline"
)

// LockFile is a lock file as it is and as it would be.
type LockFile struct {
	// Of is what it pins: corpus, golden or models.
	Of   string
	Path string
	// Before is empty where there is no file yet.
	Before, After []byte
	// Changes tells the two apart; its Name is empty where nobody can.
	Changes source.LockChanges
}

// Changed tells whether writing the file would change it.
func (f LockFile) Changed() bool { return !bytes.Equal(f.Before, f.After) }

// Write writes the file: a crash leaves the old one or the new one.
func (f LockFile) Write() error {
	if !f.Changed() {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	defer os.Remove(temp.Name()) // fails, as it should, once the file is renamed
	_, err = temp.Write(f.After)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Chmod(temp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(temp.Name(), f.Path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

// modelsName is what the lock of models pins.
const modelsName = "models"

// Locks asks the sources and the repositories of models what they hold now. Only
// those of the given names are asked, or all where there are none. It writes
// nothing. The function progress is told how far it is.
func (s *Session) Locks(ctx context.Context, only []string, progress func(of string, done, total int)) ([]LockFile, error) {
	wanted := func(of string) bool { return len(only) == 0 || slices.Contains(only, of) }
	var files []LockFile
	for _, p := range s.Pipeline.Pins {
		if p.LockFile() == "" || !wanted(p.Block) {
			continue
		}
		f, err := lockSource(ctx, p, progress)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", p.Block, err)
		}
		files = append(files, f)
	}
	if !wanted(modelsName) {
		return files, nil
	}
	models, err := s.lockModels(ctx, progress)
	if err != nil || models.Path == "" {
		return files, err
	}
	return append(files, models), nil
}

func lockSource(ctx context.Context, p pipeline.Pin, progress func(of string, done, total int)) (LockFile, error) {
	f := LockFile{Of: p.Block, Path: p.LockFile()}
	var err error
	if f.Before, err = os.ReadFile(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("read the lock as it is: %w", err)
	}
	f.After, err = p.Lock(ctx, func(done, total int) { progress(p.Block, done, total) })
	if err != nil {
		return f, err
	}
	if c, ok := p.Pinner.(source.LockComparer); ok {
		f.Changes, err = c.CompareLocks(f.Before, f.After)
		if err != nil {
			// What stands there now is no lock: all of the new one is new.
			f.Changes, err = c.CompareLocks(nil, f.After)
		}
	}
	return f, err
}

// lockModels pins the models of the spec, and keeps those that the lock has for
// other specs. The file has no path where no model is to be pinned.
func (s *Session) lockModels(ctx context.Context, progress func(of string, done, total int)) (LockFile, error) {
	path := modelsLockPath(s.Experiment)
	lock, before, err := readModelLock(path)
	if err != nil {
		return LockFile{}, err
	}
	f := LockFile{Of: modelsName, Before: before}
	f.Changes.Name = modelsName
	for i, name := range s.Pipeline.Assets {
		a, err := findAsset(name)
		if err != nil {
			return f, err
		}
		if !a.Pinnable() {
			continue
		}
		pin, err := s.assets.store.Pin(ctx, a, a.Wants())
		if err != nil {
			return f, err
		}
		old, had := lock.Models[name]
		change := fmt.Sprintf("%s (commit %.12s)", a.Title(), pin.Commit)
		lock = lock.with(a, pin)
		switch {
		case !had:
			f.Changes.Added = append(f.Changes.Added, change)
		case old.Commit != pin.Commit:
			f.Changes.Changed = append(f.Changes.Changed, change)
		default:
			f.Changes.Same++
		}
		f.Path = path
		progress(modelsName, i+1, len(s.Pipeline.Assets))
	}
	f.After, err = lock.encode()
	return f, err
}

// Unlocked tells of the sources that Locks could not pin, since the spec names no
// lock file for them.
func (s *Session) Unlocked(only []string) []string {
	var said []string
	for _, p := range s.Pipeline.Pins {
		if text := p.Unpinned(); text != "" && p.LockFile() == "" && (len(only) == 0 || slices.Contains(only, p.Block)) {
			said = append(said, p.Block+": "+text)
		}
	}
	return said
}

// LockWarnings are what the sources noticed while they were locked.
func (s *Session) LockWarnings(only []string) []string {
	var said []string
	for _, p := range s.Pipeline.Pins {
		w, ok := p.Pinner.(source.Warner)
		if !ok || p.LockFile() == "" || len(only) > 0 && !slices.Contains(only, p.Block) {
			continue
		}
		for _, text := range w.Warnings() {
			said = append(said, p.Block+": "+text)
		}
	}
	return said
}
