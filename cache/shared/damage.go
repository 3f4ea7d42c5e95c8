package shared

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"raglab/cache"
)

// errOnTheWay says that an object is whole and what came of it was not.
var errOnTheWay = errors.New("it was damaged on the way")

// damagedBlob asks for a blob again that came with another digest: a writer must not remove what
// only the way damaged. The error is a *cache.CorruptError when it is damaged in the store.
func (s *Store) damagedBlob(ctx context.Context, d cache.Digest, o Object, got cache.Digest) error {
	doing := "read blob " + d.Short()
	r := &download{ctx: ctx, s: s, doing: doing, name: o.Name, sum: sha256.New()}
	defer r.Close()
	_, err := io.Copy(io.Discard, r)
	switch {
	case errors.Is(err, fs.ErrNotExist): // another writer removed it
	case err != nil:
		return err
	case cache.Digest(r.sum.Sum(nil)) == d:
		return &UnavailableError{Store: s.name, Doing: doing, Err: errOnTheWay}
	default:
		o = r.object
	}
	e := &cache.CorruptError{
		What: "blob", Name: d.String(), Path: s.place(o.Name),
		Detail: fmt.Sprintf("its bytes have the digest %s", got),
	}
	if err := s.remove(ctx, o, e); err != nil {
		return errors.Join(e, err)
	}
	return e
}

// remove removes a damaged object that was seen, unless it was replaced meanwhile; a reader, and one
// who may not, takes it for missing from now on. It reports what it did.
func (s *Store) remove(ctx context.Context, seen Object, e *cache.CorruptError) error {
	err := error(nil)
	if s.opts.Mode == Write {
		err = s.removeSame(ctx, seen)
	}
	if s.opts.Mode != Write || errors.Is(err, ErrPermanent) {
		if err != nil {
			e.Detail += "; it could not be removed: " + err.Error()
		}
		s.mu.Lock()
		s.bad[seen.Name] = seen.Modified
		s.mu.Unlock()
		err = nil
	}
	if s.opts.OnCorrupt != nil {
		s.opts.OnCorrupt(e)
	}
	return err
}

// removeSame removes an object if it is still the one that was seen. Another writer may come between
// the look and the removal; what is then lost is found missing, and made again.
func (s *Store) removeSame(ctx context.Context, seen Object) error {
	const doing = "remove damaged object"
	return s.try(ctx, doing, func(ctx context.Context) error {
		now, err := s.bucket.Stat(ctx, seen.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || now.Size != seen.Size || !now.Modified.Equal(seen.Modified) {
			return err
		}
		return s.bucket.Delete(ctx, seen.Name)
	})
}

// isBad reports whether an object is one that was found damaged, and not one made in its place.
func (s *Store) isBad(o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	when, bad := s.bad[o.Name]
	if bad && !when.Equal(o.Modified) {
		delete(s.bad, o.Name)
		return false
	}
	return bad
}
