package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options of a local store. The zero value is what a command that writes wants.
type Options struct {
	// ReadOnly opens the store without writing a byte, not even a lock or a time stamp: nothing
	// is created, marked as used or set aside. A folder that does not exist reads as empty.
	ReadOnly bool
	// NoSync leaves out every fsync. A killed process still loses nothing, a power cut may; what
	// it damages is detected and made again. For tests and caches that are thrown away.
	NoSync bool
	// Command is what others are told while they wait for this process.
	Command string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// OnCorrupt is told of everything found damaged, once per finding, from the goroutine that
	// found it; nil tells nobody. It must not call the store.
	OnCorrupt func(*CorruptError)
	// Failpoint is called after each step of a write (before a removal), with the slash path
	// relative to the folder that it works on; an error is taken as that step's own. For tests;
	// nil does nothing.
	Failpoint func(step Step, path string) error
}

// Step is a point in a write at which a test can stop, fail or kill it.
type Step string

// The steps of a write, in their order. StepRemove comes before anything is removed.
const (
	StepCreate  Step = "create"
	StepWrite   Step = "write"
	StepSync    Step = "sync"
	StepClose   Step = "close"
	StepPlace   Step = "place"
	StepSyncDir Step = "syncdir"
	StepRemove  Step = "remove"
)

// The folders of a store; see the package comment.
const (
	casDir        = "cas"
	acDir         = "ac"
	leaseDir      = "leases"
	memoDir       = "memo"
	runDir        = "runs"
	stateDir      = "state"
	pinDir        = "pins"
	quarantineDir = "quarantine"
	versionFile   = "VERSION"
)

// formatVersion is the format of what this package writes. It is raised when an older binary
// would misread what a newer one wrote.
const formatVersion = 1

// versionPrefix begins the one line of the VERSION file; the number follows.
const versionPrefix = "raglab cache format "

const (
	// touchEvery is how old the mark of last use may get before a use renews it. All processes
	// that share a store must agree on it: collection relies on it.
	touchEvery = time.Hour
	// clockSkew is how far the clocks of machines that share a store may differ.
	clockSkew = 5 * time.Minute
	// watchEvery is how often a lease looks whether it is still held.
	watchEvery = 2 * time.Second
)

// Local is a [Store] in a folder of this machine. Any number of processes may have the same
// folder open. All methods are safe for concurrent use.
type Local struct {
	dir  string
	opts Options
	now  func() time.Time
	dirs dirtyFolders

	closing sync.Mutex
	session *fileLock // nil when read-only or closed

	touchEvery, watchEvery time.Duration
}

var _ Store = (*Local)(nil)

// OpenLocal opens the store in the folder dir, or makes it. It fails in one sentence when the
// folder holds a newer format. A store that is not read-only registers a session: what it uses or
// writes until Close, or until the process ends in whatever way, is safe from collection.
func OpenLocal(dir string, opts Options) (*Local, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	l := &Local{dir: abs, opts: opts, now: opts.Now, touchEvery: touchEvery, watchEvery: watchEvery}
	if l.now == nil {
		l.now = time.Now
	}
	l.dirs = dirtyFolders{root: abs, off: opts.NoSync, failpoint: l.failpoint}
	found, err := l.checkVersion()
	if err != nil || opts.ReadOnly {
		return l, err
	}
	if !found {
		if err := l.create(); err != nil {
			return nil, l.explain("make cache", err)
		}
	}
	if err := l.openSession(); err != nil {
		return nil, l.explain("open cache", err)
	}
	return l, nil
}

// Close ends the session and makes durable what is not yet. The store must not be used after it.
// It may be called more than once.
func (l *Local) Close() error {
	l.closing.Lock()
	defer l.closing.Unlock()
	err := l.dirs.flushAll()
	if l.session != nil {
		err = errors.Join(err, l.session.remove())
		l.session = nil
	}
	return l.explain("close cache", err)
}

// Dir is the folder, absolute.
func (l *Local) Dir() string { return l.dir }

// ReadOnly reports whether the store was opened to be read only.
func (l *Local) ReadOnly() bool { return l.opts.ReadOnly }

// DefaultDir is the cache folder of the current user: raglab in the operating system's cache
// folder. Flags and environment variables are the caller's to look at first.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w; name one with --cache or RAGLAB_CACHE", err)
	}
	return filepath.Join(dir, "raglab"), nil
}

// checkVersion reports whether the folder has a format this package reads; false when there is
// no store yet.
func (l *Local) checkVersion() (bool, error) {
	b, err := os.ReadFile(l.path(versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open cache: %w", err)
	}
	text, ok := strings.CutPrefix(string(b), versionPrefix)
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if !ok || err != nil || v < 1 {
		return false, fmt.Errorf("open cache %s: its VERSION file says %.40q, which is no format of a raglab cache: name another folder with --cache or RAGLAB_CACHE", l.dir, b)
	}
	if v > formatVersion {
		return false, fmt.Errorf("open cache %s: it has format %d and this raglab reads up to %d: use a newer raglab, or another folder with --cache or RAGLAB_CACHE", l.dir, v, formatVersion)
	}
	return true, nil
}

func (l *Local) create() error {
	return l.writeFile(versionFile, fmt.Appendf(nil, "%s%d\n", versionPrefix, formatVersion), replace)
}

// path is the operating system's path of a slash path relative to the folder. The parts come from
// this package, so there is nothing to clean.
func (l *Local) path(rel string) string {
	if filepath.Separator != '/' {
		rel = filepath.FromSlash(rel)
	}
	return l.dir + string(filepath.Separator) + rel
}

func (l *Local) failpoint(step Step, rel string) error {
	if l.opts.Failpoint == nil {
		return nil
	}
	return l.opts.Failpoint(step, rel)
}

// explain says what was being done, and what the user can do about it when the world refused.
func (l *Local) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, explainWrite(l.dir, err))
}

// blobRel and recordRel shard by the first byte, so that no folder grows too large to list.
func blobRel(d Digest) string { return shardRel(casDir, d.String()) }

func recordRel(k Key) string { return shardRel(acDir, k.String()) }

func shardRel(dir, name string) string { return dir + "/" + name[:2] + "/" + name }

// relDir is the folder part of a slash path, without a cleaning of what is clean.
func relDir(rel string) string {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return ""
	}
	return rel[:i]
}
