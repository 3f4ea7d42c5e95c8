package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const runExt = ".jsonl"

// RunLog is the log of one run, written line by line: one JSON value each, in one write, so that
// a process killed between two lines leaves whole lines. It is locked while it is open, which is
// how others see that the run is going on. Safe for concurrent use.
type RunLog struct {
	mu   sync.Mutex
	lock *fileLock
	l    *Local
	id   string
}

// RunInfo is one entry of [Local.Runs].
type RunInfo struct {
	Experiment string
	ID         string
	Bytes      int64
	// Active says that the process that writes the log is alive.
	Active bool
}

// NewRunID names a run so that names sort by time: UTC to the microsecond, then four digits
// against a second run in the same one.
func NewRunID(now time.Time) string {
	return fmt.Sprintf("%s-%04x", now.UTC().Format("20060102t150405.000000"), rand.Uint32N(1<<16))
}

// CreateRun begins the log of a run; the id must be new, and ids must sort by time, as those of
// NewRunID do.
func (l *Local) CreateRun(experiment, id string) (*RunLog, error) {
	if l.opts.ReadOnly {
		return nil, fmt.Errorf("create run log: %w", ErrReadOnly)
	}
	rel, err := runRel(experiment, id)
	if err != nil {
		return nil, fmt.Errorf("create run log: %w", err)
	}
	path := l.path(rel)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("create run log %s of %s: %w", id, experiment, fs.ErrExist)
	}
	lock, err := tryLock(path, lockExclusive)
	if errors.Is(err, errWouldBlock) {
		err = fs.ErrExist
	}
	if err != nil {
		return nil, l.explain("create run log "+id+" of "+experiment, err)
	}
	return &RunLog{lock: lock, l: l, id: id}, nil
}

func runRel(experiment, id string) (string, error) {
	folder, err := escapeName(experiment)
	if err != nil {
		return "", err
	}
	file, err := escapeName(id)
	if err != nil {
		return "", err
	}
	return runDir + "/" + folder + "/" + file + runExt, nil
}

// ID is the run's.
func (r *RunLog) ID() string { return r.id }

// Append writes v as one line of JSON.
func (r *RunLog) Append(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("append to run log %s: %w", r.id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return fmt.Errorf("append to run log %s: %w", r.id, fs.ErrClosed)
	}
	_, err = r.lock.f.Write(append(b, '\n'))
	return r.l.explain("append to run log "+r.id, err)
}

// Close makes the log durable and says that the run is over. Idempotent.
func (r *RunLog) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil
	}
	var err error
	if !r.l.opts.NoSync {
		err = r.lock.f.Sync()
	}
	err = errors.Join(err, r.lock.unlock())
	r.lock = nil
	return r.l.explain("close run log "+r.id, err)
}

// Runs lists the runs of an experiment, the latest first: by id, in which file systems' time
// stamps have no say.
func (l *Local) Runs(experiment string) ([]RunInfo, error) {
	folder, err := escapeName(experiment)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	entries, err := os.ReadDir(l.path(runDir + "/" + folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs of %s: %w", experiment, err)
	}
	var runs []RunInfo
	for _, e := range entries {
		file, isLog := strings.CutSuffix(e.Name(), runExt)
		id, ok := unescapeName(file)
		if !isLog || !ok {
			continue
		}
		path := l.path(runDir + "/" + folder + "/" + e.Name())
		size, err := statSize(path)
		if err != nil {
			return nil, fmt.Errorf("list runs of %s: %w", experiment, err)
		}
		active, _, err := l.probe(path)
		if err != nil {
			return nil, fmt.Errorf("list runs of %s: %w", experiment, err)
		}
		runs = append(runs, RunInfo{Experiment: experiment, ID: id, Bytes: size, Active: active})
	}
	slices.SortFunc(runs, func(a, b RunInfo) int { return strings.Compare(b.ID, a.ID) })
	return runs, nil
}

// Experiments are the names of those that left runs, in order.
func (l *Local) Experiments() ([]string, error) {
	entries, err := os.ReadDir(l.path(runDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list experiments: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := unescapeName(e.Name()); ok && e.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// OpenRun reads the log of a run, also while it is written: the whole lines it has now. ErrNotFound
// when there is no such run.
func (l *Local) OpenRun(experiment, id string) (io.ReadCloser, error) {
	rel, err := runRel(experiment, id)
	if err != nil {
		return nil, fmt.Errorf("open run log: %w", err)
	}
	f, err := os.Open(l.path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open run log %s of %s: %w", id, experiment, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open run log %s of %s: %w", id, experiment, err)
	}
	end, err := endOfLines(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open run log %s of %s: %w", id, experiment, err), f.Close())
	}
	return &wholeLines{Reader: io.NewSectionReader(f, 0, end), Closer: f}, nil
}

type wholeLines struct {
	io.Reader
	io.Closer
}

// endOfLines is the offset after the last newline: a power cut can leave half a line behind it.
func endOfLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		start := max(0, end-int64(len(buf)))
		n, err := f.ReadAt(buf[:end-start], start)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// RemoveRuns removes the logs of an experiment but for the latest keep ones and those of runs
// going on, and returns how many went.
func (l *Local) RemoveRuns(ctx context.Context, experiment string, keep int) (int, error) {
	if l.opts.ReadOnly {
		return 0, fmt.Errorf("remove runs: %w", ErrReadOnly)
	}
	runs, err := l.Runs(experiment)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, r := range runs[min(max(keep, 0), len(runs)):] {
		if err := context.Cause(ctx); err != nil {
			return removed, fmt.Errorf("remove runs: %w", err)
		}
		rel, err := runRel(experiment, r.ID)
		if err != nil {
			return removed, fmt.Errorf("remove runs: %w", err)
		}
		gone, err := removeDead(l.path(rel))
		if err != nil {
			return removed, l.explain("remove run "+r.ID, err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}
