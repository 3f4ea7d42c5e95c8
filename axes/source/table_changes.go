package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"raglab/internal/assets"
)

// compareJSON compares two locks by what entries makes of each. One before that is no
// lock counts as none: it is about to be replaced.
func compareJSON[L any](name string, before, after []byte, entries func(L) []lockEntry) (LockChanges, error) {
	var lists [2][]lockEntry
	for i, raw := range [][]byte{before, after} {
		if len(raw) == 0 {
			continue
		}
		var lock L
		if err := json.Unmarshal(raw, &lock); err != nil && i == 0 {
			continue
		} else if err != nil {
			return LockChanges{}, fmt.Errorf("compare locks: %w", err)
		}
		lists[i] = entries(lock)
	}
	c := compareEntries(lists[0], lists[1])
	c.Name = name
	return c, nil
}

// CompareLocks implements [LockComparer].
func (s *postgres) CompareLocks(before, after []byte) (LockChanges, error) {
	return compareJSON("rows", before, after, func(l tableLock) (entries []lockEntry) {
		for _, id := range slices.Sorted(maps.Keys(l.Rows)) {
			entries = append(entries, lockEntry{id: id, name: id, digest: l.Rows[id]})
		}
		return entries
	})
}

func comparePinned(before, after []byte) (LockChanges, error) {
	return compareJSON("files", before, after, func(l pinnedFiles) (entries []lockEntry) {
		for _, f := range l.Files {
			entries = append(entries, lockEntry{id: f.Path, name: f.Path, digest: f.SHA256, revision: l.From})
		}
		return entries
	})
}

// CompareLocks implements [LockComparer].
func (s *git) CompareLocks(before, after []byte) (LockChanges, error) {
	return comparePinned(before, after)
}

// CompareLocks implements [LockComparer].
func (s *beirByName) CompareLocks(before, after []byte) (LockChanges, error) {
	return comparePinned(before, after)
}

// CompareLocks implements [LockComparer].
func (s *huggingFace) CompareLocks(before, after []byte) (LockChanges, error) {
	return compareJSON("files", before, after, func(l hubLock) (entries []lockEntry) {
		for _, r := range l.Repositories {
			for _, path := range slices.Sorted(maps.Keys(r.Files)) {
				name := r.Repository + "/" + path
				entries = append(entries, lockEntry{id: name, name: name, digest: contentOf(r.Files[path]), revision: r.Commit})
			}
		}
		return entries
	})
}

// contentOf names what a file of a repository holds.
func contentOf(f assets.PinnedFile) string {
	if f.SHA256 != "" {
		return f.SHA256
	}
	return f.Blob
}
