package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// VerifyReport says what [Local.Verify] read and what of it was damaged.
type VerifyReport struct {
	Blobs    Tally `json:"blobs"`
	Records  Tally `json:"records"`
	Segments Tally `json:"segments"`
	// Bad is what was damaged, sorted by path; unless the store is read-only it was set aside.
	Bad []*CorruptError `json:"bad"`
	// Incomplete are records that name an output that is not there: they count as misses, and
	// their work will be done again when it is needed.
	Incomplete []Key `json:"incomplete"`
}

// verifyReaders is how many blobs are hashed at once: hashing is as fast as most disks, so more
// readers add little.
const verifyReaders = 2

// Verify reads everything back: each blob against its digest, each record and memo segment against
// its checksum. What is damaged is set aside. It may run beside anything else.
func (l *Local) Verify(ctx context.Context) (VerifyReport, error) {
	v := verification{l: l}
	err := errors.Join(v.blobs(ctx), v.records(ctx), v.segments(ctx), v.pins(ctx))
	if err != nil {
		return VerifyReport{}, fmt.Errorf("verify cache: %w", err)
	}
	slices.SortFunc(v.report.Bad, func(a, b *CorruptError) int { return strings.Compare(a.Path, b.Path) })
	return v.report, nil
}

type verification struct {
	l      *Local
	mu     sync.Mutex // guards report
	report VerifyReport
}

// note counts one thing that was read, or keeps what was wrong with it. What is not there any more
// needs no verifying; every other error is returned.
func (v *verification) note(t *Tally, size int64, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var damage *CorruptError
	switch {
	case errors.As(err, &damage):
		t.Add(size)
		v.report.Bad = append(v.report.Bad, damage)
		return nil
	case errors.Is(err, ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		t.Add(size)
	}
	return err
}

func (v *verification) blobs(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyReaders)
	err := v.l.eachEntry(ctx, casDir, "", func(name string) error {
		d, err := ParseDigest(name)
		if err != nil {
			return err
		}
		g.Go(func() error {
			size, err := v.l.drain(ctx, d)
			return v.note(&v.report.Blobs, size, err)
		})
		return nil
	})
	return errors.Join(err, g.Wait())
}

func (l *Local) drain(ctx context.Context, d Digest) (int64, error) {
	r, err := l.Open(ctx, d)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.CopyBuffer(io.Discard, struct{ io.Reader }{r}, make([]byte, 256<<10))
}

// records come after the blobs: an output found damaged is missing by now.
func (v *verification) records(ctx context.Context) error {
	return v.l.eachEntry(ctx, acDir, "", func(name string) error {
		k, err := ParseKey(name)
		if err != nil {
			return err
		}
		r, err := v.l.readRecord(k)
		if err == nil {
			missing, statErr := firstMissing(ctx, v.l, r.Record)
			if statErr != nil {
				return statErr
			}
			if missing.Name != "" {
				v.report.Incomplete = append(v.report.Incomplete, k)
			}
			return v.note(&v.report.Records, r.info.Size(), nil)
		}
		return v.note(&v.report.Records, 0, err)
	})
}

func (v *verification) segments(ctx context.Context) error {
	spaces, err := v.l.memoSpaces()
	if err != nil {
		return err
	}
	for _, space := range spaces {
		if err := v.space(ctx, space); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) space(ctx context.Context, space Digest) error {
	m := &Memo{l: v.l, dir: memoDir + "/" + space.String(), onDamage: func(e *CorruptError) {
		_ = v.note(&v.report.Segments, 0, e) // a *CorruptError is noted, never returned
	}}
	defer m.Close()
	if err := m.refresh(ctx, true); err != nil {
		return err
	}
	for _, s := range slices.Clone(m.segments) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.verify()
		if errors.Is(err, errDamaged) {
			m.drop(&segmentError{s, err})
			continue
		}
		if err := v.note(&v.report.Segments, s.bytes(), err); err != nil {
			return err
		}
	}
	return nil
}

// memoSpaces lists the spaces that have a folder, in order.
func (l *Local) memoSpaces() ([]Digest, error) {
	entries, err := os.ReadDir(l.path(memoDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var spaces []Digest
	for _, e := range entries {
		if d, err := ParseDigest(e.Name()); err == nil {
			spaces = append(spaces, d)
		}
	}
	return spaces, nil
}

// pins are not set aside when damaged: see [Local.Pins].
func (v *verification) pins(ctx context.Context) error {
	var uncounted Tally
	_, err := v.l.Pins(ctx)
	return v.note(&uncounted, 0, err)
}
