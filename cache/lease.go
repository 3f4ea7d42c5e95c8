package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Holder says who holds a lease, for those who wait. It is information only: whether a lease is
// held is decided by the lock on its file, which dies with its process.
type Holder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	User    string    `json:"user"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// String reads as in "waiting for process 123 on host (user, `raglab apply`)".
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s (%s, `%s`)", h.PID, h.Host, h.User, h.Command)
}

// LeaseRequest says how to wait for a lease.
type LeaseRequest struct {
	// Command is what others are told while they wait; empty is Options.Command.
	Command string
	// Timeout bounds the wait; 0 waits until ctx is done, a negative one does not wait.
	Timeout time.Duration
	// OnWait is called when waiting begins and again whenever the holder changes. Nil tells
	// nobody.
	OnWait func(Holder)
}

// LockedError says that somebody else held the lease for all the time there was to wait. It is an
// ErrLocked.
type LockedError struct {
	Key    Key
	Holder Holder
	Waited time.Duration
	// Age is how long the holder has had it; 0 when unknown.
	Age time.Duration
}

// Error names the holder and the age of the lease.
func (e *LockedError) Error() string {
	held := ""
	if e.Age > 0 {
		held = " for " + e.Age.Round(time.Second).String()
	}
	return fmt.Sprintf("lease %s is held%s by %s; waited %s", e.Key.Short(), held, e.Holder, e.Waited.Round(time.Millisecond))
}

// Is makes the error an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// Lease is the right to be the one who makes the result of a key. It is advice among writers:
// readers never look at it, and two who write the same key all the same do no harm, for the first
// record wins. Its methods are safe for concurrent use.
type Lease struct {
	l      *Local
	key    Key
	lock   *fileLock
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	watch *time.Timer
	over  bool
}

const (
	leasePrefix   = "k-"
	sessionPrefix = "s-"
)

func leaseRel(k Key) string { return leaseDir + "/" + leasePrefix + k.String() }

// Acquire takes the lease of a key, waiting for whoever has it. A holder that died holds nothing:
// the lock went with its process. The error is a *LockedError when the time ran out, and wraps the
// cause when ctx ended.
func (l *Local) Acquire(ctx context.Context, k Key, req LeaseRequest) (*Lease, error) {
	if l.opts.ReadOnly {
		return nil, fmt.Errorf("acquire lease %s: %w", k.Short(), ErrReadOnly)
	}
	lock, err := l.awaitLease(ctx, k, req)
	if err != nil {
		return nil, l.explain("acquire lease "+k.Short(), err)
	}
	if err := l.signLock(lock, req.Command); err != nil {
		return nil, l.explain("acquire lease "+k.Short(), errors.Join(err, lock.remove()))
	}
	le := &Lease{l: l, key: k, lock: lock}
	le.ctx, le.cancel = context.WithCancelCause(ctx)
	le.mu.Lock()
	defer le.mu.Unlock()
	le.watch = time.AfterFunc(l.watchEvery, le.look)
	return le, nil
}

// noWaitAttempts is how often a lease is tried by those who do not wait: collection locks the file
// of a dead holder for a moment when it looks whether it is one.
const noWaitAttempts = 3

func (l *Local) awaitLease(ctx context.Context, k Key, req LeaseRequest) (*fileLock, error) {
	path := l.path(leaseRel(k))
	began := time.Now() // measures a wait, so not the store's clock
	var told Holder
	pause := newBackoff(2*time.Millisecond, 200*time.Millisecond)
	for attempt := 1; ; attempt++ {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		lock, err := tryLock(path, lockExclusive)
		if !errors.Is(err, errWouldBlock) {
			return lock, err
		}
		holder := readHolder(path)
		waited := time.Since(began)
		if req.Timeout > 0 && waited >= req.Timeout || req.Timeout < 0 && attempt >= noWaitAttempts {
			return nil, l.lockedBy(k, holder, waited)
		}
		if req.OnWait != nil && req.Timeout >= 0 && holder != told {
			told = holder
			req.OnWait(holder)
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (l *Local) lockedBy(k Key, h Holder, waited time.Duration) *LockedError {
	e := &LockedError{Key: k, Holder: h, Waited: waited}
	if !h.Since.IsZero() {
		e.Age = max(0, l.now().Sub(h.Since))
	}
	return e
}

// signLock writes into a lock file who holds it.
func (l *Local) signLock(lock *fileLock, command string) error {
	h := Holder{PID: os.Getpid(), Command: cmp.Or(command, l.opts.Command), Since: l.now().UTC().Round(0)}
	h.Host, _ = os.Hostname() // a holder without a host is still worth knowing
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := lock.f.WriteAt(b, 0); err != nil {
		return err
	}
	// Cut what a longer, dead signature left. Not to zero before writing: ext4 takes that for a
	// file being replaced and puts it on disk at once.
	return lock.f.Truncate(int64(len(b)))
}

// readHolder reads who signed a lock; the zero Holder when that cannot be read, or not yet.
func readHolder(path string) Holder {
	b, err := os.ReadFile(path)
	if err != nil {
		return Holder{}
	}
	var h Holder
	if json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// Key is whose lease it is.
func (le *Lease) Key() Key { return le.key }

// Context is derived from Acquire's and ends with the lease: with ErrLeaseLost as its cause when
// somebody else may hold it, with ErrLeaseReleased after Release.
func (le *Lease) Context() context.Context { return le.ctx }

// Release gives the lease back. It needs no context, so that clean-up after a cancelled one works.
// It may be called more than once.
func (le *Lease) Release() error {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.cancel(ErrLeaseReleased)
	if le.over {
		return nil
	}
	le.over = true
	le.watch.Stop()
	if err := le.lock.remove(); err != nil {
		return fmt.Errorf("release lease %s: %w", le.key.Short(), err)
	}
	return nil
}

// look ends the lease when its file was taken away: others would then lock a new one.
func (le *Lease) look() {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.over {
		return
	}
	if held, err := le.lock.current(); err == nil && !held {
		le.over = true
		le.cancel(ErrLeaseLost)
		le.lock.unlock()
		return
	}
	le.watch.Reset(le.l.watchEvery)
}

// openSession registers this store as in use: a lock file like a lease's, under a name of its own.
func (l *Local) openSession() error {
	rel := leaseDir + "/" + sessionPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(rand.Uint64(), 36)
	lock, err := tryLock(l.path(rel), lockExclusive)
	if err != nil {
		return err
	}
	if err := l.signLock(lock, ""); err != nil {
		return errors.Join(err, lock.remove())
	}
	l.session = lock
	return nil
}

// activity is what is going on in a store.
type activity struct {
	// since is when the oldest session or lease alive now began; now when there is none.
	since time.Time
	// keys are those with a lease that is held.
	keys map[Key]bool
	// dead are lock files that nobody holds.
	dead []string
}

// activity looks at all sessions and leases.
func (l *Local) activity(ctx context.Context) (activity, error) {
	a := activity{since: l.now(), keys: map[Key]bool{}}
	entries, err := os.ReadDir(l.path(leaseDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return a, err
		}
		path := filepath.Join(l.path(leaseDir), e.Name())
		alive, since, err := l.probe(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return a, err
		case !alive:
			a.dead = append(a.dead, path)
		default:
			a.note(e.Name(), since)
		}
	}
	return a, nil
}

func (a *activity) note(name string, since time.Time) {
	if since.Before(a.since) {
		a.since = since
	}
	if k, err := ParseKey(name[min(len(leasePrefix), len(name)):]); err == nil {
		a.keys[k] = true
	}
}

// probe reports whether a lock file is held and since when. It never makes one.
func (l *Local) probe(path string) (alive bool, since time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, since, err
	}
	defer f.Close()
	err = flock(f, lockShared)
	if err == nil || !errors.Is(err, errWouldBlock) {
		return false, since, err
	}
	if since = readHolder(path).Since; since.IsZero() {
		info, err := f.Stat() // not signed yet: it was made just now
		if err != nil {
			return true, since, err
		}
		since = info.ModTime()
	}
	return true, since, nil
}

// removeDead removes a lock file if still nobody holds it.
func removeDead(path string) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	lock, err := tryLock(path, lockExclusive)
	if errors.Is(err, errWouldBlock) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.remove()
}
