package source

import (
	"encoding/json"
	"os"
)

// LockComparer is implemented by a [Pinner] that can tell what in a new lock is
// not as in the one before.
type LockComparer interface {
	// CompareLocks compares two contents of the lock file; the one before is empty
	// where there was none.
	CompareLocks(before, after []byte) (LockChanges, error)
}

// LockChanges tells two locks apart.
type LockChanges struct {
	// Name is what the lock lists, such as articles.
	Name string
	// Added, Removed and Changed name items for people, in the order of the locks.
	Added, Removed, Changed []string
	// Same counts the items that are as they were; Renewed those of them that have
	// another revision with the same content.
	Same, Renewed int
	// Fingerprint names the content of all items, where the lock has one.
	Fingerprint string
}

// lockEntry is an item of a lock.
type lockEntry struct{ id, name, digest, revision string }

// compareEntries compares the items of two locks by id.
func compareEntries(before, after []lockEntry) LockChanges {
	var c LockChanges
	old := make(map[string]lockEntry, len(before))
	for _, e := range before {
		old[e.id] = e
	}
	for _, e := range after {
		was, ok := old[e.id]
		delete(old, e.id)
		switch {
		case !ok:
			c.Added = append(c.Added, e.name)
		case was.digest != e.digest:
			c.Changed = append(c.Changed, e.name)
		case was.revision != e.revision:
			c.Renewed++
			c.Same++
		default:
			c.Same++
		}
	}
	for _, e := range before {
		if _, left := old[e.id]; left {
			c.Removed = append(c.Removed, e.name)
		}
	}
	return c
}

// Locked is about how many bytes the documents of a source have: what a lock file says
// under bytes, as they were found when it was written, or 0 where nothing says it. Files
// in a repository count as they are there, packed or not.
func Locked(src Source) int64 {
	p, ok := src.(Pinner)
	if !ok || p.LockFile() == "" {
		return 0
	}
	f, err := os.Open(p.LockFile())
	if err != nil {
		return 0 // who reads the lock itself will say so
	}
	defer func() { _ = f.Close() }() // it was read only
	return bytesIn(json.NewDecoder(f))
}

// bytesIn reads a lock up to its field bytes, which stands before the list of items.
func bytesIn(lock *json.Decoder) int64 {
	if begin, err := lock.Token(); err != nil || begin != json.Delim('{') {
		return 0
	}
	for lock.More() {
		name, err := lock.Token()
		if err != nil {
			return 0
		}
		if name == "bytes" {
			var size int64
			if lock.Decode(&size) != nil {
				return 0
			}
			return max(size, 0)
		}
		var other json.RawMessage
		if lock.Decode(&other) != nil {
			return 0
		}
	}
	return 0
}
