package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// GCOptions say what may go.
type GCOptions struct {
	// DryRun reports what would go, and what would be condemned, and writes nothing.
	DryRun bool
	// MaxAge lets records go that nobody used for so long; 0 lets none go. What readers use is not
	// noted anywhere: be generous.
	MaxAge time.Duration
	// Roots are kept besides what is pinned.
	Roots []cache.Key
}

// GCReport says what a collection found and removed, or would remove.
type GCReport struct {
	DryRun  bool        `json:"dry_run"`
	Before  cache.Usage `json:"before"`
	Removed cache.Usage `json:"removed"`
	// Condemned is what is of no use now, and goes when a collection a grace period later finds it
	// of no use still.
	Condemned cache.Usage `json:"condemned"`
	// Writers are at work now.
	Writers int `json:"writers"`
	// KeepSince is the start of what was out of reach: everything used or written since is kept.
	KeepSince time.Time `json:"keep_since"`
}

// GC removes records that nobody used for long, and blobs that no record names. It may run beside
// anything: writers, readers, other collections. It rests on this:
//
//  1. Nothing goes that was written or used within the grace period, or since the oldest writer that
//     is at work began. Writers say every hour that they are; what they used they write down by the
//     day. All ages are by the bucket's clock.
//  2. What is of no use is condemned first, and goes when a collection at least a grace period later
//     finds it of no use still. Writers read what is condemned at least every two hours: one that
//     uses a condemned record says so before it relies on it, and one that needs a condemned blob
//     uploads it again, which makes it young.
//  3. A blob is of no use when no record names it, those that this collection removes included: they
//     go first, and their blobs are condemned by the next collection. So whoever found a record just
//     before it went has a grace period to read its blobs.
//  4. The records are those that are listed, that the last collection knew, that writers used and
//     that are pinned; each was read. So one that a listing leaves out is not forgotten, unless two
//     listings a grace period apart do, before any collection or writer knew of it. A record that
//     cannot be read ends the collection, for what it names is unknown.
func (s *Store) GC(ctx context.Context, o GCOptions) (GCReport, error) {
	if err := s.Check(ctx); err != nil {
		return GCReport{}, err
	}
	if !o.DryRun {
		if err := s.writable(ctx, "collect garbage"); err != nil {
			return GCReport{}, err
		}
	}
	c := &collection{
		s: s, o: o, report: GCReport{DryRun: o.DryRun}, records: map[cache.Key]*entry{}, refs: map[cache.Digest]int{},
		roots: map[cache.Key]bool{}, used: map[cache.Key]time.Time{},
		next: condemned{map[cache.Key]time.Time{}, map[cache.Digest]time.Time{}},
	}
	steps := []func(context.Context) error{
		c.lookAround, c.findRoots, c.readUses, c.readRecords, c.listBlobs, c.judge, c.condemn, c.dropRecords, c.dropBlobs, c.tidy,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return c.report, fmt.Errorf("collect garbage: %w", err)
		}
	}
	return c.report, nil
}

// collection is one run of GC.
type collection struct {
	s      *Store
	o      GCOptions
	report GCReport

	now   time.Time // the bucket's
	floor time.Time // what was used or written since stays
	dead  []Object  // sessions of writers that are gone
	uses  []Object
	roots map[cache.Key]bool
	used  map[cache.Key]time.Time // last, by what writers wrote down

	records map[cache.Key]*entry
	refs    map[cache.Digest]int // records that stay, by the blobs they name
	blobs   []Object

	last condemned // by collections before this one
	next condemned
	// doomedRecords and doomedBlobs were condemned long ago, and are of no use still.
	doomedRecords []*entry
	doomedBlobs   []Object
}

// entry is a record that is there.
type entry struct {
	key     cache.Key
	object  Object
	outputs []cache.Blob
}

// lookAround finds out what the bucket's time is, and who is at work.
func (c *collection) lookAround(ctx context.Context) (err error) {
	if c.report.Before, err = c.s.Du(ctx); err != nil {
		return err
	}
	if c.now, err = c.bucketTime(ctx); err != nil {
		return err
	}
	c.floor = c.now.Add(-c.s.opts.Grace)
	sessions, err := c.s.list(ctx, "look for writers", sessionPrefix)
	if err != nil {
		return err
	}
	for _, o := range sessions {
		if c.now.Sub(o.Modified) > sessionLife {
			c.dead = append(c.dead, o)
			continue
		}
		since, err := c.since(ctx, o)
		if err != nil {
			return err
		}
		c.report.Writers++
		if since.Before(c.floor) {
			c.floor = since
		}
	}
	c.report.KeepSince = c.floor
	c.last, err = c.s.readCondemned(ctx)
	return err
}

// bucketTime is what the bucket dates objects with: this writer's own session, renewed. A dry run has
// nothing to date, and takes the clock of this machine.
func (c *collection) bucketTime(ctx context.Context) (time.Time, error) {
	ss := c.s.session
	if ss == nil || c.o.DryRun {
		return c.s.opts.Now(), nil
	}
	if err := ss.renew(ctx); err != nil {
		return time.Time{}, err
	}
	o, err := c.s.stat(ctx, "look at the bucket's clock", sessionPrefix+ss.id)
	return o.Modified, err
}

// since is when a writer began, by the bucket's clock. One whose object cannot be understood began
// before everything.
func (c *collection) since(ctx context.Context, o Object) (time.Time, error) {
	b, err := c.s.object(ctx, "look at writer", o.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return c.now, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	var text sessionText
	if json.Unmarshal(b, &text) != nil {
		return time.Time{}, nil //nolint:nilerr // see above
	}
	return o.Modified.Add(text.Since.Sub(text.Renewed)), nil
}

func (c *collection) findRoots(ctx context.Context) error {
	pins, err := c.s.Pins(ctx)
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

// readUses reads what writers used, and when at the latest: when the list was last written, by the
// bucket's clock. The day in its name is by the writer's.
func (c *collection) readUses(ctx context.Context) (err error) {
	if c.uses, err = c.s.list(ctx, "read what was used", usePrefix); err != nil {
		return err
	}
	for _, o := range c.uses {
		if !isUse(o.Name) {
			continue
		}
		keys, err := c.s.keyList(ctx, "read what was used", o.Name)
		if err != nil {
			return fmt.Errorf("%w; remove it to go on: what was used only then is kept a shorter time", err)
		}
		for _, k := range keys {
			if o.Modified.After(c.used[k]) {
				c.used[k] = o.Modified
			}
		}
	}
	return nil
}

// recordReaders is how many records are read at once.
const recordReaders = 16

// readRecords reads every record that this collection can know of.
func (c *collection) readRecords(ctx context.Context) error {
	keys := maps.Clone(c.roots)
	for k := range c.used {
		keys[k] = true
	}
	known, err := c.s.keyList(ctx, "read what is known", knownObject)
	if err != nil {
		return fmt.Errorf("%w; remove it to go on: the next collection writes another", err)
	}
	for _, k := range known {
		keys[k] = true
	}
	listed, err := c.s.list(ctx, "list records", recordPrefix)
	if err != nil {
		return err
	}
	for _, o := range listed {
		if k, ok := keyOf(o.Name); ok {
			keys[k] = true
		}
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(recordReaders)
	for k := range keys {
		g.Go(func() error {
			r, o, err := c.s.record(ctx, "read record "+k.Short(), k)
			var damage *cache.CorruptError
			if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			c.records[k] = &entry{k, o, r.Outputs}
			return nil
		})
	}
	return g.Wait()
}

func (c *collection) listBlobs(ctx context.Context) (err error) {
	c.blobs, err = c.s.list(ctx, "list blobs", blobPrefix)
	return err
}

// judge sorts what is of no use into what was condemned long ago and what is condemned now.
func (c *collection) judge(context.Context) error {
	for k, e := range c.records {
		if c.idle(e) {
			if sentence(c, c.next.Records, k, c.last.Records[k], &c.report.Condemned.Records, e.object.Size) {
				c.doomedRecords = append(c.doomedRecords, e)
			}
		}
		// Those that go keep their blobs until the next collection.
		for _, b := range e.outputs {
			c.refs[b.Digest]++
		}
	}
	for _, o := range c.blobs {
		d, ok := digestOf(o.Name)
		if !ok || c.refs[d] > 0 || !o.Modified.Before(c.floor) {
			continue
		}
		if sentence(c, c.next.Blobs, d, c.last.Blobs[d], &c.report.Condemned.Blobs, o.Size) {
			c.doomedBlobs = append(c.doomedBlobs, o)
		}
	}
	slices.SortFunc(c.doomedRecords, func(a, b *entry) int { return strings.Compare(a.object.Name, b.object.Name) })
	return nil
}

// sentence notes since when something has been of no use, and reports whether that is long enough.
func sentence[K comparable](c *collection, next map[K]time.Time, k K, first time.Time, t *cache.Tally, size int64) bool {
	if first.IsZero() {
		first = c.now
	}
	next[k] = first
	if c.now.Sub(first) >= c.s.opts.Grace {
		return true
	}
	t.Add(size)
	return false
}

// idle reports whether a record was not used for long.
func (c *collection) idle(e *entry) bool {
	if c.o.MaxAge <= 0 || c.roots[e.key] {
		return false
	}
	last := e.object.Modified
	if used := c.used[e.key]; used.After(last) {
		last = used
	}
	return last.Before(c.now.Add(-c.o.MaxAge)) && last.Before(c.floor)
}

// condemn writes down what is of no use, before anything goes.
func (c *collection) condemn(ctx context.Context) error {
	if c.o.DryRun {
		return nil
	}
	return c.s.writeCondemned(ctx, c.next)
}

func (c *collection) dropRecords(ctx context.Context) error {
	for _, e := range c.doomedRecords {
		went, err := c.drop(ctx, e.object, func(now Object) bool { return now.Modified.Equal(e.object.Modified) })
		if err != nil {
			return err
		}
		if went {
			c.report.Removed.Records.Add(e.object.Size)
			delete(c.records, e.key)
			delete(c.next.Records, e.key)
		}
	}
	return nil
}

// dropBlobs looks at each blob again: a writer that needed one has made it young.
func (c *collection) dropBlobs(ctx context.Context) error {
	for _, o := range c.doomedBlobs {
		went, err := c.drop(ctx, o, func(now Object) bool { return now.Modified.Before(c.floor) })
		if err != nil {
			return err
		}
		if went {
			c.report.Removed.Blobs.Add(o.Size)
			if d, ok := digestOf(o.Name); ok {
				delete(c.next.Blobs, d)
			}
		}
	}
	return nil
}

// drop removes an object that still is as it was judged.
func (c *collection) drop(ctx context.Context, o Object, same func(now Object) bool) (went bool, err error) {
	if c.o.DryRun {
		return true, nil
	}
	err = c.s.try(ctx, "remove "+o.Name, func(ctx context.Context) error {
		now, err := c.s.bucket.Stat(ctx, o.Name)
		if errors.Is(err, fs.ErrNotExist) {
			went = true
			return nil
		}
		if err != nil || !same(now) {
			return err
		}
		went = true
		return c.s.bucket.Delete(ctx, o.Name)
	})
	return went && err == nil, err
}

// keepUses is how long lists of what was used are kept when no age is set.
const keepUses = 400 * 24 * time.Hour

// tidy writes down what is known, and removes what dead writers left.
func (c *collection) tidy(ctx context.Context) error {
	if c.o.DryRun {
		return nil
	}
	if err := c.s.writeCondemned(ctx, c.next); err != nil {
		return err
	}
	if err := c.s.put(ctx, "write what is known", knownObject, encodeKeys(slices.Collect(maps.Keys(c.records)))); err != nil {
		return err
	}
	old := c.dead
	keep := max(c.o.MaxAge, keepUses) + 2*24*time.Hour
	for _, o := range c.uses {
		if isUse(o.Name) && c.now.Sub(o.Modified) > keep {
			old = append(old, o)
		}
	}
	for _, o := range old {
		if _, err := c.drop(ctx, o, func(now Object) bool { return now.Modified.Equal(o.Modified) }); err != nil {
			return err
		}
	}
	if sweeper, ok := c.s.bucket.(Sweeper); ok {
		return sweeper.Sweep(ctx, c.now.Add(-c.s.opts.Grace))
	}
	return nil
}
