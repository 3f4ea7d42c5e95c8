package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// Get reads the record of an action. A writer notes that it was used; see [Store.GC].
func (s *Store) Get(ctx context.Context, k cache.Key) (*cache.Record, error) {
	doing := "get record " + k.Short()
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	r, _, err := s.record(ctx, doing, k)
	var damage *cache.CorruptError
	switch {
	case errors.As(err, &damage):
		return nil, fmt.Errorf("%s: %w: %w", doing, cache.ErrNotFound, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("get record %s: %w", k, cache.ErrNotFound)
	case err != nil:
		return nil, err
	}
	if s.session != nil {
		if err := s.session.use(ctx, k); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// record reads a record, twice when it does not decode. A *cache.CorruptError says that it is
// damaged and was removed, or is taken for missing.
func (s *Store) record(ctx context.Context, doing string, k cache.Key) (*cache.Record, Object, error) {
	var o Object
	var bad error
	for range 2 {
		b, found, err := s.objectOf(ctx, doing, recordName(k))
		if err != nil {
			return nil, found, err
		}
		r, err := cache.DecodeRecord(k, b)
		if err == nil {
			return r, found, nil
		}
		o, bad = found, err
	}
	e := &cache.CorruptError{What: "record", Name: k.String(), Path: s.place(o.Name), Detail: bad.Error()}
	if err := s.remove(ctx, o, e); err != nil {
		return nil, o, err
	}
	return nil, o, e
}

// Put stores a record unless one is there that holds.
func (s *Store) Put(ctx context.Context, r *cache.Record) (*cache.Record, error) {
	doing := "put record " + r.Key.Short()
	if err := s.writable(ctx, doing); err != nil {
		return nil, err
	}
	b, err := cache.EncodeRecord(r)
	if err != nil {
		return nil, fmt.Errorf("put record: %w", err)
	}
	missing, err := s.firstMissing(ctx, r)
	if err != nil {
		return nil, err
	}
	if missing.Name != "" {
		return nil, fmt.Errorf("put record: %w", &cache.OutputMissingError{Key: r.Key, Output: missing})
	}
	for range placeAttempts {
		earlier, err := s.standing(ctx, r.Key)
		if err != nil || earlier != nil {
			return earlier, err
		}
		err = s.try(ctx, doing, func(ctx context.Context) error {
			return s.bucket.Create(ctx, recordName(r.Key), int64(len(b)), bytes.NewReader(b))
		})
		if !errors.Is(err, fs.ErrExist) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: %s is in the way and cannot be removed", doing, s.place(recordName(r.Key)))
}

// standing is the record that holds the key now: it decodes and its outputs are there. One that does
// not hold is removed; nil when there is room.
func (s *Store) standing(ctx context.Context, k cache.Key) (*cache.Record, error) {
	doing := "put record " + k.Short()
	r, o, err := s.record(ctx, doing, k)
	var damage *cache.CorruptError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.session.use(ctx, k); err != nil {
		return nil, err
	}
	missing, err := s.firstMissing(ctx, r)
	if err != nil {
		return nil, err
	}
	if missing.Name == "" {
		return r, nil
	}
	return nil, s.removeSame(ctx, o)
}

// statWorkers is how many objects are asked for at a time.
const statWorkers = 8

// firstMissing is the first output of r that is not there in its size; a Blob without a name when all
// are.
func (s *Store) firstMissing(ctx context.Context, r *cache.Record) (cache.Blob, error) {
	there := make([]bool, len(r.Outputs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statWorkers)
	for i, b := range r.Outputs {
		g.Go(func() error {
			o, err := s.stat(ctx, "look for output", blobName(b.Digest))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			there[i] = err == nil && o.Size == b.Size
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return cache.Blob{}, err
	}
	for i, ok := range there {
		if !ok {
			return r.Outputs[i], nil
		}
	}
	return cache.Blob{}, nil
}

// Delete removes the record of an action.
func (s *Store) Delete(ctx context.Context, k cache.Key) error {
	doing := "delete record " + k.Short()
	if err := s.writable(ctx, doing); err != nil {
		return err
	}
	return s.try(ctx, doing, func(ctx context.Context) error { return s.bucket.Delete(ctx, recordName(k)) })
}
