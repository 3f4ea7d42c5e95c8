package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"time"
)

// Memo remembers vectors of one dimension by the hash of what they were computed from, over all
// runs and experiments. Vectors are kept in segment files that never change: readers take no lock.
// The first writer of a hash wins, for good and for everybody. Safe for concurrent use, by several
// processes too.
type Memo struct {
	l   *Local
	dir string // slash path
	// onDamage is told of segments set aside, besides Options.OnCorrupt; nil tells nobody.
	onDamage func(*CorruptError)

	mu       sync.RWMutex  // held for reading while segments are in use, for writing to exchange them
	segments []*segment    // in the order of writing
	damaged  []fs.FileInfo // files found damaged that could not be moved away
	listed   bool
	closed   bool
}

const usedName = ".used"

// Memo opens the memo of a space: a digest of everything that, besides the text, decides what the
// vector is. Nothing is read before it is needed and nothing made before something is written. It
// should be closed, and before the store is.
func (l *Local) Memo(space Digest) (*Memo, error) {
	if space.IsZero() {
		return nil, errors.New("open memo: the space has no digest")
	}
	return &Memo{l: l, dir: memoDir + "/" + space.String()}, nil
}

// Close closes the memo's files. Idempotent.
func (m *Memo) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.segments {
		errs = append(errs, s.close())
	}
	m.segments, m.closed = nil, true
	return errors.Join(errs...)
}

// Dim is the length of the vectors; 0 while there are none.
func (m *Memo) Dim(ctx context.Context) (int, error) {
	if err := m.refresh(ctx, false); err != nil {
		return 0, fmt.Errorf("open memo: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dim(), nil
}

func (m *Memo) dim() int {
	if len(m.segments) == 0 {
		return 0
	}
	return m.segments[0].dim
}

// Has reports for each hash whether there is a vector. It reads indexes only, and writes nothing.
func (m *Memo) Has(ctx context.Context, hashes []Digest) ([]bool, error) {
	has := make([]bool, len(hashes))
	err := m.search(ctx, hashes, func(i int, _ *segment, _ int) error {
		has[i] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search memo: %w", err)
	}
	return has, nil
}

// Get returns the vector of each hash, nil where there is none; the vectors are the caller's. A
// segment found damaged is set aside, and what it held is missing from then on.
func (m *Memo) Get(ctx context.Context, hashes []Digest) ([][]float32, error) {
	for {
		vectors := make([][]float32, len(hashes))
		var raw []byte
		err := m.search(ctx, hashes, func(i int, s *segment, at int) error {
			if len(raw) != s.dim*4 {
				raw = make([]byte, s.dim*4)
			}
			if err := s.rawVector(at, raw); err != nil {
				return &segmentError{s, err}
			}
			vectors[i] = decodeVector(raw)
			return nil
		})
		var bad *segmentError
		if errors.As(err, &bad) && errors.Is(err, errDamaged) {
			m.drop(bad)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read memo: %w", err)
		}
		m.touch()
		return vectors, nil
	}
}

// search calls found for each hash that some segment has. Those missing are looked for once more
// after a look at what others wrote since.
func (m *Memo) search(ctx context.Context, hashes []Digest, found func(i int, s *segment, at int) error) error {
	missing := make([]int, len(hashes))
	for i := range missing {
		missing[i] = i
	}
	for _, fresh := range []bool{false, true} {
		if err := m.refresh(ctx, fresh); err != nil {
			return err
		}
		var err error
		if missing, err = m.searchOnce(ctx, hashes, missing, found); err != nil || len(missing) == 0 {
			return err
		}
	}
	return nil
}

func (m *Memo) searchOnce(ctx context.Context, hashes []Digest, wanted []int, found func(i int, s *segment, at int) error) (missing []int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, fs.ErrClosed
	}
	for n, i := range wanted {
		if n%1024 == 0 {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
		}
		s, at, ok := m.find(hashes[i])
		if !ok {
			missing = append(missing, i)
			continue
		}
		if err := found(i, s, at); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// find looks in the earliest segment first: the first writer of a hash wins.
func (m *Memo) find(h Digest) (*segment, int, bool) {
	for _, s := range m.segments {
		if at, ok := s.find(h); ok {
			return s, at, true
		}
	}
	return nil, 0, false
}

// Put remembers vectors and returns those that stand now, in the same order: the caller's own, or
// an earlier writer's where one was first. All vectors must have the dimension of the space and
// finite components only. When Put returns the vectors are durable.
func (m *Memo) Put(ctx context.Context, hashes []Digest, vectors [][]float32) ([][]float32, error) {
	if m.l.opts.ReadOnly {
		return nil, fmt.Errorf("write memo: %w", ErrReadOnly)
	}
	if err := checkVectors(hashes, vectors); err != nil {
		return nil, fmt.Errorf("write memo: %w", err)
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	known, err := m.put(ctx, hashes, vectors)
	if err != nil {
		return nil, m.l.explain("write memo", err)
	}
	return m.standing(ctx, hashes, vectors, known)
}

// standing is vectors, but for those at the indices known: there it is what the memo holds.
func (m *Memo) standing(ctx context.Context, hashes []Digest, vectors [][]float32, known []int) ([][]float32, error) {
	stand := slices.Clone(vectors)
	if len(known) == 0 {
		return stand, nil
	}
	wanted := make([]Digest, len(known))
	for n, i := range known {
		wanted[n] = hashes[i]
	}
	held, err := m.Get(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for n, i := range known {
		if held[n] != nil { // else damaged or removed since: the caller's own is as good
			stand[i] = held[n]
		}
	}
	return stand, nil
}

func checkVectors(hashes []Digest, vectors [][]float32) error {
	if len(hashes) != len(vectors) {
		return fmt.Errorf("%d hashes for %d vectors", len(hashes), len(vectors))
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) > maxDim || len(v) != len(vectors[0]) {
			return fmt.Errorf("vector %d has %d components, the first has %d", i, len(v), len(vectors[0]))
		}
		for j, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("component %d of vector %d (%s) is %v", j, i, hashes[i].Short(), x)
			}
		}
	}
	return nil
}

// put writes what is new as one segment and returns the indices of what was known. Writers of a
// space take turns, so that none misses what another wrote; they hold the lock for the writing
// alone, never while vectors are computed.
func (m *Memo) put(ctx context.Context, hashes []Digest, vectors [][]float32) (known []int, err error) {
	lock, err := waitLock(ctx, m.l.path(m.dir+"/"+writeLockName), lockExclusive)
	if err != nil {
		return nil, err
	}
	defer lock.unlock()
	if err := m.refresh(ctx, true); err != nil {
		return nil, err
	}
	fresh, known, err := m.split(hashes, vectors)
	if err != nil || len(fresh) == 0 {
		return known, err
	}
	next := m.nextPlace()
	b := encodeSegment(fresh, len(vectors[0]))
	if err := m.l.writeFile(m.dir+"/"+segmentName(next, next), b, keepFirst); err != nil {
		return nil, err
	}
	m.touch()
	if err := m.refresh(ctx, true); err != nil {
		return nil, err
	}
	return known, m.compact(ctx)
}

// split parts a batch into what is new and the indices of what is known, here or earlier in the
// batch.
func (m *Memo) split(hashes []Digest, vectors [][]float32) (fresh []entry, known []int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, nil, fs.ErrClosed
	}
	if dim := m.dim(); dim != 0 && dim != len(vectors[0]) {
		return nil, nil, fmt.Errorf("the space holds vectors of %d components, not of %d", dim, len(vectors[0]))
	}
	seen := make(map[Digest]bool, len(hashes))
	for i, h := range hashes {
		if _, _, ok := m.find(h); ok || seen[h] {
			known = append(known, i)
			continue
		}
		seen[h] = true
		fresh = append(fresh, entry{h, vectors[i]})
	}
	return fresh, known, nil
}

func (m *Memo) nextPlace() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	next := int64(1)
	for _, s := range m.segments {
		next = max(next, s.hi+1)
	}
	return next
}

// touch notes, at most once in touchEvery, that the space is in use. That it could not be noted
// costs the space, at worst, its place in the next collection.
func (m *Memo) touch() {
	if m.l.opts.ReadOnly {
		return
	}
	path := m.l.path(m.dir + "/" + usedName)
	now := m.l.now()
	info, err := os.Lstat(path)
	if err == nil && now.Sub(info.ModTime()) < m.l.touchEvery {
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return
		}
		f.Close()
	}
	_ = os.Chtimes(path, time.Time{}, now)
}
