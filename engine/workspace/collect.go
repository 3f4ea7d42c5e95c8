package workspace

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"raglab/cache"
	"raglab/internal/pg"
	"raglab/internal/pg/private"
	"raglab/spec"
)

// TableUsage counts the index tables of a database.
type TableUsage struct {
	// Origin says which database.
	Origin pg.Origin   `json:"origin"`
	Held   cache.Tally `json:"held"`
	// Removed counts what a collection removed, or would remove.
	Removed cache.Tally `json:"removed"`
	// Note says why the tables were not looked at, or not all.
	Note string `json:"note,omitempty"`
}

// Usage is what the cache and the databases of its indexes hold.
type Usage struct {
	cache.Usage
	// Downloads are what sources keep of what they fetched.
	Downloads cache.Tally  `json:"downloads"`
	Tables    []TableUsage `json:"tables,omitempty"`
}

// GCReport says what a collection found and removed.
type GCReport struct {
	cache.GCReport
	// Downloads are what there was, RemovedDownloads what went, or would go.
	Downloads        cache.Tally  `json:"downloads"`
	RemovedDownloads cache.Tally  `json:"removed_downloads"`
	Tables           []TableUsage `json:"tables,omitempty"`
}

// Du counts what the cache holds, and the tables of the databases that answer; the
// experiment, which may be nil, names one.
func (w *Workspace) Du(ctx context.Context, exp *spec.Experiment) (Usage, error) {
	u, err := w.Cache.Du(ctx)
	if err != nil {
		return Usage{}, err
	}
	all, err := w.collectors(ctx, exp, false)
	if err != nil {
		return Usage{}, err
	}
	defer closeAll(all)
	downloads, err := w.heldDownloads()
	return Usage{u, downloads, usages(all)}, err
}

// GC collects garbage in the cache, and drops the tables of records before them.
// Of tables that no record names it drops those that nobody has used since the
// oldest running process began; on a server that somebody named, where they may be
// those of another cache, also for the time that o allows, or 30 days.
func (w *Workspace) GC(ctx context.Context, exp *spec.Experiment, o cache.GCOptions) (GCReport, error) {
	all, err := w.collectors(ctx, exp, !o.DryRun)
	if err != nil {
		return GCReport{}, err
	}
	defer closeAll(all)
	o.Removing = func(ctx context.Context, k cache.Key, remove func() (bool, error)) (bool, error) {
		for _, c := range all {
			if _, there := c.found[k]; there {
				return c.drop(ctx, k, remove)
			}
		}
		return remove()
	}
	for _, c := range all {
		c.dry = o.DryRun
	}
	var r GCReport
	if r.Downloads, err = w.heldDownloads(); err == nil {
		r.RemovedDownloads, err = w.collectDownloads(o.MaxAge, o.DryRun)
	}
	if err != nil {
		return r, err
	}
	r.GCReport, err = w.Cache.GC(ctx, o)
	for _, c := range all {
		if err != nil {
			break
		}
		err = c.orphans(ctx, r.KeepSince, o.MaxAge)
	}
	r.Tables = usages(all)
	return r, err
}

// collector knows the tables of one database.
type collector struct {
	*Database
	cache *cache.Local
	db    *pg.DB
	found map[cache.Key]pg.Found // not dropped yet
	usage TableUsage
	dry   bool
	// started says that raglab's own server runs for the collection alone.
	started bool
}

func usages(all []*collector) []TableUsage {
	var list []TableUsage
	for _, c := range all {
		list = append(list, c.usage)
	}
	return list
}

func closeAll(all []*collector) {
	for _, c := range all {
		_ = c.Close() // closing connections cannot fail
		if c.started {
			// Whoever uses it by now keeps it, and else it stops by itself.
			_, _ = private.Stop(context.Background(), c.private, false)
		}
	}
}

// collectors looks at the tables of the database that is named, and of raglab's own
// server if it has data; that one is started only if start is set. Databases that
// cannot be looked at have a note instead of tables.
func (w *Workspace) collectors(ctx context.Context, exp *spec.Experiment, start bool) ([]*collector, error) {
	named, err := w.Database(exp)
	if err != nil {
		return nil, err
	}
	list := []*Database{named}
	if !named.Own() {
		list = append(list, w.ownDatabase())
	}
	list = slices.DeleteFunc(list, func(d *Database) bool { return d.Own() && !d.held() })
	var all []*collector
	for _, d := range list {
		c := &collector{Database: d, cache: w.Cache, found: map[cache.Key]pg.Found{}, usage: TableUsage{Origin: d.Origin()}}
		all = append(all, c)
		if err := c.look(ctx, start); err != nil {
			if ctx.Err() != nil {
				closeAll(all)
				return nil, context.Cause(ctx)
			}
			c.usage.Note = "not looked at: " + err.Error()
		}
	}
	return all, nil
}

// look connects and lists the tables.
func (c *collector) look(ctx context.Context, start bool) error {
	db, err := c.Look(ctx)
	if errors.Is(err, private.ErrNotRunning) && start {
		db, err = c.Connect(ctx)
		c.started = err == nil
	}
	if err != nil {
		return err
	}
	if ready, err := db.Ready(); err != nil || !ready {
		return err
	}
	found, err := db.All(ctx)
	if err != nil {
		return err
	}
	c.db = db
	for text, f := range found {
		k, err := cache.ParseKey(text)
		if err != nil {
			continue // not raglab's own
		}
		c.found[k] = f
		c.usage.Held.Add(f.HeapBytes + f.IndexBytes)
	}
	return nil
}

// drop drops a table and then lets remove take its record. Somebody who makes the
// same table just now has the key's lease, and keeps both; so does a table that
// cannot be dropped.
func (c *collector) drop(ctx context.Context, k cache.Key, remove func() (bool, error)) (bool, error) {
	if c.dry {
		c.dropped(k)
		return remove()
	}
	lease, err := c.cache.Acquire(ctx, k, cache.LeaseRequest{Timeout: -1})
	if errors.Is(err, cache.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lease.Release() }()
	if err := c.db.Drop(ctx, []string{k.String()}); err != nil {
		return false, c.noted(ctx, err)
	}
	c.dropped(k)
	return remove()
}

func (c *collector) dropped(k cache.Key) {
	f := c.found[k]
	c.usage.Removed.Add(f.HeapBytes + f.IndexBytes)
	delete(c.found, k)
}

// noted keeps what is wrong with a database from stopping a collection.
func (c *collector) noted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.usage.Note == "" {
		c.usage.Note = err.Error()
	}
	return nil
}

// sharedAge is how long tables of a named server are kept that no record names,
// when nobody says how long.
const sharedAge = 30 * 24 * time.Hour

// orphans drops the tables that no record names and that have not been used since
// then, and what was left of tables that are gone.
func (c *collector) orphans(ctx context.Context, since time.Time, maxAge time.Duration) error {
	if c.db == nil {
		return nil
	}
	if !c.Own() {
		if maxAge == 0 {
			maxAge = sharedAge
		}
		if limit := time.Now().Add(-maxAge); limit.Before(since) {
			since = limit
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.found), func(a, b cache.Key) int { return bytes.Compare(a[:], b[:]) }) {
		if !c.found[k].UsedAt.Before(since) {
			continue
		}
		if err := c.orphan(ctx, k); err != nil {
			return err
		}
	}
	if c.dry {
		return nil
	}
	if _, err := c.db.Clean(ctx); err != nil {
		return c.noted(ctx, err)
	}
	return nil
}

// orphan drops a table unless a record names it.
func (c *collector) orphan(ctx context.Context, k cache.Key) error {
	named, err := c.cache.Keys(ctx, k.String())
	if err != nil || len(named) > 0 {
		return err
	}
	_, err = c.drop(ctx, k, func() (bool, error) { return true, nil })
	return err
}
