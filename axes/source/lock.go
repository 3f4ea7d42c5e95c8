package source

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
