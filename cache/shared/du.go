package shared

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// Du counts what the store holds, as it is listed. Sessions, pins and what collections write count as
// states.
func (s *Store) Du(ctx context.Context) (cache.Usage, error) {
	if err := s.Check(ctx); err != nil {
		return cache.Usage{}, err
	}
	all, err := s.list(ctx, "measure store", "")
	if err != nil {
		return cache.Usage{}, err
	}
	var u cache.Usage
	for _, o := range all {
		if t := tallyOf(&u, o.Name); t != nil {
			t.Add(o.Size)
		}
	}
	return u, nil
}

// tallyOf is where an object counts; nil for what is none of the store's.
func tallyOf(u *cache.Usage, name string) *cache.Tally {
	dir, _, _ := strings.Cut(name, "/")
	switch dir + "/" {
	case blobPrefix:
		if _, ok := digestOf(name); ok {
			return &u.Blobs
		}
	case recordPrefix:
		if _, ok := keyOf(name); ok {
			return &u.Records
		}
	case pinPrefix, sessionPrefix, usePrefix, gcPrefix:
		return &u.States
	}
	if name == versionObject {
		return &u.States
	}
	return nil
}

// digestOf is the digest that an object is named by.
func digestOf(name string) (cache.Digest, bool) {
	d, err := cache.ParseDigest(name[strings.LastIndexByte(name, '/')+1:])
	return d, err == nil && blobName(d) == name
}

// keyOf is the key that an object is named by.
func keyOf(name string) (cache.Key, bool) {
	k, err := cache.ParseKey(name[strings.LastIndexByte(name, '/')+1:])
	return k, err == nil && recordName(k) == name
}

// Verify reads everything back: each blob against its digest, each record against its checksum and
// for its outputs. What is damaged is reported, and removed by a writer. All the store's bytes are
// transferred.
func (s *Store) Verify(ctx context.Context) (cache.VerifyReport, error) {
	v := verification{s: s}
	if err := s.Check(ctx); err != nil {
		return cache.VerifyReport{}, err
	}
	// Records come after the blobs: an output found damaged is missing by then.
	if err := v.each(ctx, blobPrefix, v.blob); err != nil {
		return cache.VerifyReport{}, err
	}
	if err := v.each(ctx, recordPrefix, v.record); err != nil {
		return cache.VerifyReport{}, err
	}
	slices.SortFunc(v.report.Bad, func(a, b *cache.CorruptError) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(v.report.Incomplete, func(a, b cache.Key) int { return strings.Compare(a.String(), b.String()) })
	return v.report, nil
}

type verification struct {
	s      *Store
	mu     sync.Mutex // guards report
	report cache.VerifyReport
}

// verifyReaders is how many objects are read at once.
const verifyReaders = 4

func (v *verification) each(ctx context.Context, prefix string, check func(context.Context, Object) error) error {
	all, err := v.s.list(ctx, "verify store", prefix)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyReaders)
	for _, o := range all {
		g.Go(func() error { return check(ctx, o) })
	}
	return g.Wait()
}

// note counts one thing that was read, or keeps what was wrong with it. What is not there any more
// needs no verifying.
func (v *verification) note(t *cache.Tally, size int64, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var damage *cache.CorruptError
	switch {
	case errors.As(err, &damage):
		v.report.Bad = append(v.report.Bad, damage)
	case errors.Is(err, cache.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	t.Add(size)
	return nil
}

func (v *verification) blob(ctx context.Context, o Object) error {
	d, ok := digestOf(o.Name)
	if !ok {
		return nil
	}
	size := int64(0)
	r, err := v.s.Open(ctx, d)
	if err == nil {
		size, err = io.Copy(io.Discard, r)
		_ = r.Close() // it was read only
	}
	return v.note(&v.report.Blobs, size, err)
}

func (v *verification) record(ctx context.Context, o Object) error {
	k, ok := keyOf(o.Name)
	if !ok {
		return nil
	}
	// Not Get: to be looked at is not to be used.
	r, _, err := v.s.record(ctx, "verify record "+k.Short(), k)
	if err == nil {
		missing, statErr := v.s.firstMissing(ctx, r)
		if statErr != nil {
			return statErr
		}
		if missing.Name != "" {
			v.mu.Lock()
			v.report.Incomplete = append(v.report.Incomplete, k)
			v.mu.Unlock()
		}
	}
	return v.note(&v.report.Records, o.Size, err)
}
