package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"raglab/cache"
)

// downloadsFolder is the folder in the cache where sources keep what they fetched.
const downloadsFolder = "downloads"

// What sources keep of what they fetched needs no lock to be removed: a source that
// misses something fetches it again, and no stage reads it.

// heldDownloads counts the files below the folder of downloads.
func (w *Workspace) heldDownloads() (cache.Tally, error) {
	return w.walkDownloads(func(string, fs.FileInfo) (bool, error) { return true, nil })
}

// collectDownloads removes files that were fetched longer ago than the age, or only
// counts them; an age of 0 removes nothing, as for results.
func (w *Workspace) collectDownloads(age time.Duration, dry bool) (cache.Tally, error) {
	before := time.Now().Add(-age)
	return w.walkDownloads(func(path string, info fs.FileInfo) (bool, error) {
		if age == 0 || info.ModTime().After(before) {
			return false, nil
		}
		if dry {
			return true, nil
		}
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}

// walkDownloads counts the files that the function takes.
func (w *Workspace) walkDownloads(take func(path string, info fs.FileInfo) (bool, error)) (n cache.Tally, err error) {
	err = filepath.WalkDir(filepath.Join(w.dir, downloadsFolder), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was fetched yet, or another process removed it
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		taken, err := take(path, info)
		if taken {
			n.Add(info.Size())
		}
		return err
	})
	if err != nil {
		return n, fmt.Errorf("look through downloads: %w", err)
	}
	return n, nil
}
