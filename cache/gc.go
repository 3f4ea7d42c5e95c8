package cache

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// GCOptions say what may go. With the zero value only what nothing refers to goes: blobs without
// a record, drafts of killed processes, lock files of dead ones.
type GCOptions struct {
	// DryRun reports what would go and writes nothing; a read-only store allows no other run.
	DryRun bool
	// MaxAge lets records and memo spaces go that were not used for so long; 0 lets none go.
	MaxAge time.Duration
	// MaxBytes lets the longest unused go until blobs, records and memo take no more; 0 is no
	// limit. What is pinned or in use stays, even above the limit.
	MaxBytes int64
	// Roots are kept besides what is pinned and what is leased.
	Roots []Key
	// Removing, when set, is called for each record that is about to go, and calls
	// remove to let it go: what the record describes outside the store goes first.
	// Both tell whether the record went; remove spares one that was used meanwhile.
	// In a dry run remove only says that it would go.
	Removing func(ctx context.Context, k Key, remove func() (bool, error)) (bool, error)
}

// GCReport says what a collection found and removed, or would remove.
type GCReport struct {
	DryRun  bool  `json:"dry_run"`
	Before  Usage `json:"before"`
	Removed Usage `json:"removed"`
	// DeadLocks counts lock files of leases and sessions whose process is gone.
	DeadLocks int `json:"dead_locks"`
	// KeepSince is the start of what was out of reach: everything used or written since is kept.
	KeepSince time.Time `json:"keep_since"`
}

// corpseAge is how long a damaged file is kept for examination when MaxAge does not say.
const corpseAge = 30 * 24 * time.Hour

// GC removes what no longer counts. It may run beside anything else, other collections included;
// nobody waits for it. What pinned, leased, given and recent records name stays; see the package
// comment for why nothing goes that somebody is using or about to use. A damaged pin is an error,
// for what it kept is unknown.
func (l *Local) GC(ctx context.Context, o GCOptions) (GCReport, error) {
	if l.opts.ReadOnly && !o.DryRun {
		return GCReport{}, fmt.Errorf("collect garbage: %w", ErrReadOnly)
	}
	c := &collection{l: l, o: o, roots: map[Key]bool{}, refs: map[Digest]int{}}
	if err := c.run(ctx); err != nil {
		return c.report, l.explain("collect garbage", err)
	}
	return c.report, nil
}

// collection is one run of GC.
type collection struct {
	l      *Local
	o      GCOptions
	now    time.Time
	floor  time.Time // what was used or written since stays
	dead   []string
	roots  map[Key]bool
	refs   map[Digest]int // records that stay, by the blobs they name
	items  []item         // records and memo spaces
	blobs  []blobFile
	report GCReport
	// beforeRemoval is called between the last look and the first removal; nil does nothing.
	beforeRemoval func()
}

// item is what can be let go by itself, with when it was last used.
type item struct {
	key     Key // of a record, or the digest of a memo space
	memo    bool
	used    time.Time
	bytes   int64
	outputs []Blob
}

type blobFile struct {
	digest Digest
	used   time.Time
	bytes  int64
}

// run looks at who is at work before it looks at anything else: whoever comes later uses and
// writes only what is younger than the floor, or makes it so.
func (c *collection) run(ctx context.Context) error {
	usage, err := c.l.Du(ctx)
	if err != nil {
		return err
	}
	c.report = GCReport{DryRun: c.o.DryRun, Before: usage}
	steps := []func(context.Context) error{
		c.findRoots, c.readRecords, c.findSpaces, c.listBlobs, c.pause,
		c.dropItems, c.sweepBlobs, c.sweepDrafts, c.sweepQuarantine, c.sweepLocks,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) pause(context.Context) error {
	if c.beforeRemoval != nil {
		c.beforeRemoval()
	}
	return nil
}

func (c *collection) findRoots(ctx context.Context) error {
	a, err := c.l.activity(ctx)
	if err != nil {
		return err
	}
	c.now = c.l.now()
	c.floor = a.since.Add(-c.l.touchEvery - clockSkew)
	c.report.KeepSince = c.floor
	c.roots, c.dead = a.keys, a.dead
	pins, err := c.l.Pins(ctx)
	if err != nil {
		return err
	}
	for _, keys := range pins {
		for _, k := range keys {
			c.roots[k] = true
		}
	}
	for _, k := range c.o.Roots {
		c.roots[k] = true
	}
	return nil
}

// readRecords lists the records; damaged ones are set aside on the way.
func (c *collection) readRecords(ctx context.Context) error {
	read := c.l.readRecord
	if c.o.DryRun {
		read = c.l.peekRecord
	}
	return c.l.eachEntry(ctx, acDir, "", func(name string) error {
		k, err := ParseKey(name)
		if err != nil {
			return err
		}
		r, err := read(k)
		var damage *CorruptError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
			return nil
		}
		if err != nil {
			return err
		}
		c.items = append(c.items, item{key: k, used: r.info.ModTime(), bytes: r.info.Size(), outputs: r.Outputs})
		c.refer(r.Outputs, 1)
		return nil
	})
}

func (c *collection) refer(outputs []Blob, by int) {
	for _, b := range outputs {
		c.refs[b.Digest] += by
	}
}

func (c *collection) findSpaces(ctx context.Context) error {
	spaces, err := c.l.memoSpaces()
	if err != nil {
		return err
	}
	for _, space := range spaces {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		used, bytes, err := c.l.spaceUse(space)
		if err != nil {
			return err
		}
		c.items = append(c.items, item{key: Key(space), memo: true, used: used, bytes: bytes})
	}
	return nil
}

// spaceUse is when a memo space was last used, and how many bytes its segments have.
func (l *Local) spaceUse(space Digest) (used time.Time, size int64, err error) {
	entries, err := os.ReadDir(l.path(memoDir + "/" + space.String()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return used, 0, err
	}
	for _, e := range entries {
		if e.Name() == writeLockName { // taking the lock to look is no use
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return used, 0, err
		}
		if info.ModTime().After(used) {
			used = info.ModTime()
		}
		if _, _, ok := parseSegmentName(e.Name()); ok {
			size += info.Size()
		}
	}
	return used, size, nil
}

func (c *collection) listBlobs(ctx context.Context) error {
	return c.l.eachEntry(ctx, casDir, "", func(name string) error {
		d, err := ParseDigest(name)
		if err != nil {
			return err
		}
		info, err := os.Lstat(c.l.path(blobRel(d)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			c.blobs = append(c.blobs, blobFile{d, info.ModTime(), info.Size()})
		}
		return err
	})
}

// dropItems lets records and memo spaces go: the too old ones, then the longest unused until the
// rest fits. The order is by use, then by key, so that it is the same however they were listed.
func (c *collection) dropItems(ctx context.Context) error {
	slices.SortFunc(c.items, func(a, b item) int {
		return cmp.Or(a.used.Compare(b.used), bytes.Compare(a.key[:], b.key[:]))
	})
	total := c.total()
	for i := range c.items {
		it := &c.items[i]
		old := c.o.MaxAge > 0 && it.used.Before(c.now.Add(-c.o.MaxAge))
		over := c.o.MaxBytes > 0 && total > c.o.MaxBytes
		if !it.used.Before(c.floor) || !it.memo && c.roots[it.key] || !old && !over {
			continue
		}
		freed := it.bytes + c.release(it.outputs)
		went, err := c.drop(ctx, it)
		if err != nil {
			return err
		}
		if !went { // used again since it was listed
			c.refer(it.outputs, 1)
			continue
		}
		total -= freed
	}
	return nil
}

// total is what counts towards MaxBytes, without the blobs that go in any case.
func (c *collection) total() int64 {
	sum := int64(0)
	for _, it := range c.items {
		sum += it.bytes
	}
	for _, b := range c.blobs {
		if !c.garbage(b) {
			sum += b.bytes
		}
	}
	return sum
}

// garbage reports whether no record names a blob and nobody has used it since the floor.
func (c *collection) garbage(b blobFile) bool {
	return c.refs[b.digest] == 0 && b.used.Before(c.floor)
}

// release takes back the references of a record and returns the bytes nothing refers to any more.
func (c *collection) release(outputs []Blob) int64 {
	freed := int64(0)
	c.refer(outputs, -1)
	for _, b := range outputs {
		if c.refs[b.Digest] == 0 {
			freed += b.Size
		}
	}
	return freed
}

func (c *collection) drop(ctx context.Context, it *item) (went bool, err error) {
	tally := &c.report.Removed.Records
	if it.memo {
		tally = &c.report.Removed.Memo
		went, err = c.dropSpace(it)
	} else {
		went, err = c.dropRecord(ctx, it)
	}
	if went && err == nil {
		tally.Add(it.bytes)
	}
	return went, err
}

func (c *collection) dropRecord(ctx context.Context, it *item) (bool, error) {
	remove := func() (bool, error) {
		if c.o.DryRun {
			return true, nil
		}
		return c.l.removeUnused(recordRel(it.key), it.used)
	}
	if c.o.Removing == nil {
		return remove()
	}
	return c.o.Removing(ctx, it.key, remove)
}

// removeUnused removes an entry unless it was used since it was seen.
func (l *Local) removeUnused(rel string, seen time.Time) (went bool, err error) {
	err = l.removeEntry(rel, func(now fs.FileInfo) bool {
		went = now.ModTime().Equal(seen)
		return went
	})
	return went && err == nil, err
}

// dropSpace removes a memo space under its write lock. Readers that have its segments open go on
// reading; a writer that waited for the lock makes the space anew.
func (c *collection) dropSpace(it *item) (bool, error) {
	if c.o.DryRun {
		return true, nil
	}
	dir := memoDir + "/" + Digest(it.key).String()
	lock, err := tryLock(c.l.path(dir+"/"+writeLockName), lockExclusive)
	if errors.Is(err, errWouldBlock) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.unlock()
	used, _, err := c.l.spaceUse(Digest(it.key))
	if err != nil || used.After(it.used) {
		return false, err
	}
	if err := c.l.failpoint(StepRemove, dir); err != nil {
		return false, err
	}
	return true, os.RemoveAll(c.l.path(dir))
}
