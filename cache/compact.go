package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	segmentExt = ".seg"
	// mergeWidth is how many neighbouring segments of one size class become one. In batches of
	// like size each vector is rewritten once per class: a million vectors in batches of 256 end
	// in under 35 files after four rewrites each.
	mergeWidth = 8
	// mergeLimit is how many neighbouring segments become one where sizes alternate and no class
	// ever has mergeWidth neighbours.
	mergeLimit = 2 * mergeWidth
	// smallestClass is the count of vectors below which segments are of the lowest class.
	smallestClass = 256
)

// segmentName says which places in the order of writing a segment covers. A merged one covers
// those of all it was made of, and supersedes them.
func segmentName(lo, hi int64) string { return fmt.Sprintf("%08d-%08d%s", lo, hi, segmentExt) }

func parseSegmentName(name string) (lo, hi int64, ok bool) {
	if !strings.HasSuffix(name, segmentExt) {
		return 0, 0, false
	}
	if _, err := fmt.Sscanf(name, "%d-%d"+segmentExt, &lo, &hi); err != nil {
		return 0, 0, false
	}
	return lo, hi, 1 <= lo && lo <= hi && segmentName(lo, hi) == name
}

// refresh makes the open segments those on disk: on first use, or when fresh. A compaction may
// remove a segment between listing and opening; what replaced it is then in the next listing.
func (m *Memo) refresh(ctx context.Context, fresh bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fs.ErrClosed
	}
	if m.listed && !fresh {
		return nil
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := m.load()
		if !errors.Is(err, fs.ErrNotExist) {
			m.listed = err == nil
			return err
		}
	}
}

// span is a segment file as listed.
type span struct {
	name   string
	lo, hi int64
	info   fs.FileInfo
}

// list is the segment files of the space in the order of writing, without those superseded.
func (m *Memo) list() (live, superseded []span, err error) {
	entries, err := os.ReadDir(m.l.path(m.dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var all []span
	for _, e := range entries {
		lo, hi, ok := parseSegmentName(e.Name())
		if !ok {
			continue
		}
		info, err := e.Info()
		if err != nil { // fs.ErrNotExist: superseded and removed since it was listed
			return nil, nil, err
		}
		all = append(all, span{e.Name(), lo, hi, info})
	}
	slices.SortFunc(all, func(a, b span) int {
		if a.lo != b.lo {
			return int(a.lo - b.lo)
		}
		return int(b.hi - a.hi)
	})
	end := int64(0)
	for _, s := range all {
		if s.hi <= end {
			superseded = append(superseded, s)
			continue
		}
		end = s.hi
		live = append(live, s)
	}
	return live, superseded, nil
}

// load replaces m.segments by what is listed, keeping those already open. The caller holds m.mu.
func (m *Memo) load() error {
	live, _, err := m.list()
	if err != nil {
		return err
	}
	old := m.segments
	segments := make([]*segment, 0, len(live))
	var opened []*segment
	for _, at := range live {
		s := stillOpen(old, at)
		if s == nil {
			if s, err = m.open(at, segments); err != nil {
				closeSegments(opened)
				return err
			}
			if s == nil { // damaged
				continue
			}
			opened = append(opened, s)
		}
		segments = append(segments, s)
	}
	m.segments = segments
	closeSegments(slices.DeleteFunc(slices.Clone(old), func(s *segment) bool { return slices.Contains(segments, s) }))
	return nil
}

// stillOpen is the segment already open that is this very file: a place whose segment was set
// aside may have been taken by another one of the same name.
func stillOpen(open []*segment, at span) *segment {
	for _, s := range open {
		if s.lo == at.lo && s.hi == at.hi && os.SameFile(s.info, at.info) {
			return s
		}
	}
	return nil
}

// closeSegments closes files opened for reading: nothing can be lost.
func closeSegments(segments []*segment) {
	for _, s := range segments {
		s.close()
	}
}

// open opens one segment; nil when it was found damaged. All segments of a space have one
// dimension, the first one's.
func (m *Memo) open(at span, before []*segment) (*segment, error) {
	if slices.ContainsFunc(m.damaged, func(d fs.FileInfo) bool { return os.SameFile(d, at.info) }) {
		return nil, nil
	}
	f, err := os.Open(m.l.path(m.dir + "/" + at.name))
	if err != nil {
		return nil, err
	}
	s, err := openSegment(f)
	if err == nil && len(before) > 0 && s.dim != before[0].dim {
		err = fmt.Errorf("%w: its vectors have %d components, those before it %d", errDamaged, s.dim, before[0].dim)
	}
	if err == nil {
		s.lo, s.hi = at.lo, at.hi
		return s, nil
	}
	defer f.Close()
	if !errors.Is(err, errDamaged) {
		return nil, err
	}
	m.setAside(at.info, at.name, err)
	return nil, nil
}

// setAside remembers the file, too: a read-only store leaves it where it is. The caller holds m.mu.
func (m *Memo) setAside(info fs.FileInfo, name string, why error) {
	damage := &CorruptError{What: "memo segment", Name: name, Path: m.l.path(m.dir + "/" + name), Detail: why.Error()}
	m.l.setAside(info, damage)
	if damage.MovedTo == "" {
		m.damaged = append(m.damaged, info)
	}
	if m.onDamage != nil {
		m.onDamage(damage)
	}
}

// drop sets a segment aside that turned out damaged.
func (m *Memo) drop(bad *segmentError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := bad.segment
	i := slices.Index(m.segments, s)
	if i < 0 { // another reader was quicker
		return
	}
	m.setAside(s.info, segmentName(s.lo, s.hi), bad.err)
	m.segments = slices.Delete(slices.Clone(m.segments), i, i+1)
	s.close()
}

// compact merges the latest segments while enough neighbours are of one size class, and removes
// what was superseded. The caller holds the write lock. Readers that have the old segments open go
// on reading them; those that come between see both, and pass over the superseded.
func (m *Memo) compact(ctx context.Context) error {
	for {
		run := m.mergeable()
		if len(run) == 0 {
			return m.removeSuperseded()
		}
		err := m.merge(run)
		var bad *segmentError
		switch {
		case errors.As(err, &bad) && errors.Is(err, errDamaged):
			m.drop(bad)
		case errors.Is(err, fs.ErrClosed):
			// A reader found one of them damaged and closed it: begin again without it.
		case err != nil:
			return err
		}
		if err := m.refresh(ctx, true); err != nil {
			return err
		}
	}
}

// mergeable is the run of segments at the end to become one; none when there are too few.
func (m *Memo) mergeable() []*segment {
	m.mu.RLock()
	defer m.mu.RUnlock()
	counts := make([]int, len(m.segments))
	for i, s := range m.segments {
		counts[i] = s.count()
	}
	return slices.Clone(m.segments[len(counts)-mergeableTail(counts):])
}

// mergeableTail is how many of the latest segments, with so many vectors each, should become one:
// those up to the lowest class that has mergeWidth of them, or, with those below, mergeLimit.
func mergeableTail(counts []int) int {
	highest := 0
	for _, n := range counts {
		highest = max(highest, sizeClass(n))
	}
	for class := range highest + 1 {
		tail, same := 0, 0
		for _, n := range slices.Backward(counts) {
			if sizeClass(n) > class {
				break
			}
			tail++
			if sizeClass(n) == class {
				same++
			}
		}
		if same >= mergeWidth || tail >= mergeLimit {
			return tail
		}
	}
	return 0
}

func sizeClass(count int) int {
	class := 0
	for limit := smallestClass; count >= limit; limit *= mergeWidth {
		class++
	}
	return class
}

func (m *Memo) merge(run []*segment) (err error) {
	d, err := m.l.newDraft(m.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.discard()) }()
	w := bufio.NewWriterSize(d, 1<<20)
	if err := mergeSegments(w, run); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	if err := d.place(m.dir+"/"+segmentName(run[0].lo, run[len(run)-1].hi), keepFirst); err != nil {
		return err
	}
	return m.l.dirs.flush(m.dir)
}

// removeSuperseded removes what a merged segment covers, also what a killed compaction left.
func (m *Memo) removeSuperseded() error {
	_, superseded, err := m.list()
	if err != nil {
		return err
	}
	for _, s := range superseded {
		rel := m.dir + "/" + s.name
		if err := m.l.failpoint(StepRemove, rel); err != nil {
			return err
		}
		err := os.Remove(m.l.path(rel))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && canRemoveOpen {
			return err
		} // where readers are in the way, the next compaction finds it again
	}
	return nil
}
