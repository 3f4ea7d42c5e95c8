package assets

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Entry is one asset that a store's folder holds.
type Entry struct {
	Dir      string
	Manifest Manifest
	// Bytes is what the folder takes, files derived from the asset included.
	Bytes int64
}

// List returns what the folder holds, sorted by name and version. A folder
// without a readable manifest is not listed.
func (s *Store) List() ([]Entry, error) {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*", "*", manifestName))
	if err != nil {
		return nil, fmt.Errorf("list assets: %w", err)
	}
	var entries []Entry
	for _, path := range paths {
		dir := filepath.Dir(path)
		m, err := ReadManifest(dir)
		if err != nil {
			continue
		}
		entries = append(entries, Entry{Dir: dir, Manifest: m, Bytes: folderBytes(dir)})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Manifest.Name, b.Manifest.Name), cmp.Compare(a.Dir, b.Dir))
	})
	return entries, nil
}

// folderBytes adds up the sizes of the files below dir, skipping what it cannot read.
func folderBytes(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
