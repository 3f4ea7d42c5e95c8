package shared

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"raglab/cache"
)

const (
	// renewEvery is how often a writer says that it is still at work, writes down what it used, and
	// reads what the last collection condemned.
	renewEvery = time.Hour
	// sessionLife is how long a writer is believed to be at work after it last said so.
	sessionLife = 4 * renewEvery
	// closeTimeout bounds what a writer does at its end.
	closeTimeout = 20 * time.Second
)

// sessionText is the content of an object in sessions/.
type sessionText struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Renewed time.Time `json:"renewed"`
}

// session is a writer at work. A nil session uses nothing and knows of nothing condemned.
type session struct {
	s    *Store
	id   string
	stop context.CancelCauseFunc
	over chan struct{} // closed when the goroutine that renews has ended

	mu    sync.Mutex
	text  sessionText
	day   string // of used
	used  map[cache.Key]bool
	dirty bool
	doom  condemned
	read  time.Time // when doom was
}

func (s *Store) beginSession(ctx context.Context) (*session, error) {
	now := s.opts.Now().UTC().Round(0)
	host, _ := os.Hostname() // a session without a host is as good
	ss := &session{
		s: s, id: strconv.FormatUint(rand.Uint64(), 36), over: make(chan struct{}),
		text: sessionText{Host: host, PID: os.Getpid(), Since: now, Renewed: now},
		day:  dayOf(now), used: map[cache.Key]bool{},
	}
	if err := ss.sign(ctx); err != nil {
		if errors.Is(err, ErrPermanent) {
			err = fmt.Errorf("%w; to read what it has, open it with -store-mode read or RAGLAB_STORE_MODE=read", err)
		}
		return nil, err
	}
	if err := ss.readCondemned(ctx); err != nil {
		return nil, err
	}
	life, stop := context.WithCancelCause(context.Background())
	ss.stop = stop
	go ss.renewals(life)
	return ss, nil
}

// sign says in the store that the session is at work.
func (ss *session) sign(ctx context.Context) error {
	ss.mu.Lock()
	b, err := json.Marshal(ss.text)
	ss.mu.Unlock()
	if err != nil {
		return err
	}
	return ss.s.put(ctx, "register writer", sessionPrefix+ss.id, b)
}

// renewals runs until the session ends. What fails is tried again the next time: a session lives for
// several.
func (ss *session) renewals(ctx context.Context) {
	defer close(ss.over)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = ss.renew(ctx)
		}
	}
}

func (ss *session) renew(ctx context.Context) error {
	ss.mu.Lock()
	ss.text.Renewed = ss.s.opts.Now().UTC().Round(0)
	ss.mu.Unlock()
	return errors.Join(ss.sign(ctx), ss.flush(ctx), ss.readCondemned(ctx))
}

// endSession writes down what was used, and that the session is over.
func (s *Store) endSession() error {
	ss := s.session
	ss.stop(errSessionOver)
	<-ss.over
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeTimeout, context.DeadlineExceeded)
	defer cancel()
	return errors.Join(ss.flush(ctx), s.try(ctx, "unregister writer", func(ctx context.Context) error {
		return s.bucket.Delete(ctx, sessionPrefix+ss.id)
	}))
}

var errSessionOver = errors.New("the store was closed")

// use notes that a record was used. A key that the last collection condemned is written down before
// anybody relies on it.
func (ss *session) use(ctx context.Context, k cache.Key) error {
	if ss == nil {
		return nil
	}
	doom, err := ss.condemned(ctx)
	if err != nil {
		return err
	}
	ss.mu.Lock()
	news := !ss.used[k]
	if news {
		ss.used[k], ss.dirty = true, true
	}
	ss.mu.Unlock()
	if news && doom.record(k) {
		return ss.flush(ctx)
	}
	return nil
}

// condemned is what the last collection saw no use for: read at most renewEvery ago, so that no
// collection, which waits for the grace period, acts on it before it is known here.
func (ss *session) condemned(ctx context.Context) (condemned, error) {
	if ss == nil {
		return condemned{}, nil
	}
	ss.mu.Lock()
	doom, fresh := ss.doom, ss.s.opts.Now().Sub(ss.read) < 2*renewEvery
	ss.mu.Unlock()
	if fresh {
		return doom, nil
	}
	if err := ss.readCondemned(ctx); err != nil {
		return condemned{}, err
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.doom, nil
}

func (ss *session) readCondemned(ctx context.Context) error {
	when := ss.s.opts.Now()
	doom, err := ss.s.readCondemned(ctx)
	if err != nil {
		return err
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.doom, ss.read = doom, when
	return nil
}

// flush writes the day's list of what was used, if it grew.
func (ss *session) flush(ctx context.Context) error {
	ss.mu.Lock()
	if !ss.dirty {
		ss.mu.Unlock()
		return nil
	}
	name, b := usePrefix+ss.day+"/"+ss.id, encodeKeys(slices.Collect(maps.Keys(ss.used)))
	ss.dirty = false
	// What is used from tomorrow on goes to tomorrow's list. What was used since midnight is on both.
	if today := dayOf(ss.s.opts.Now()); today != ss.day {
		ss.day, ss.dirty = today, true
	}
	ss.mu.Unlock()
	err := ss.s.put(ctx, "note what was used", name, b)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if err != nil {
		ss.dirty = true
	}
	return err
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// keysMagic begins a list of keys.
const keysMagic = "raglab keys 1\n"

// encodeKeys is keys in order, 32 bytes each, and a checksum.
func encodeKeys(keys []cache.Key) []byte {
	slices.SortFunc(keys, func(a, b cache.Key) int { return bytes.Compare(a[:], b[:]) })
	b := make([]byte, 0, len(keysMagic)+(len(keys)+1)*sha256.Size)
	b = append(b, keysMagic...)
	for _, k := range keys {
		b = append(b, k[:]...)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func decodeKeys(b []byte) ([]cache.Key, error) {
	end := len(b) - sha256.Size
	if end < len(keysMagic) || string(b[:len(keysMagic)]) != keysMagic || (end-len(keysMagic))%sha256.Size != 0 {
		return nil, errors.New("it is no list of keys")
	}
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return nil, errors.New("its checksum does not fit")
	}
	var keys []cache.Key
	for rest := b[len(keysMagic):end]; len(rest) > 0; rest = rest[sha256.Size:] {
		keys = append(keys, cache.Key(rest[:sha256.Size]))
	}
	return keys, nil
}

// keyList reads a list of keys; nil when there is none.
func (s *Store) keyList(ctx context.Context, doing, name string) ([]cache.Key, error) {
	b, err := s.object(ctx, doing, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := decodeKeys(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", doing, s.place(name), err)
	}
	return keys, nil
}

// isUse reports whether an object in uses/ is a list for a day.
func isUse(name string) bool {
	day, _, ok := strings.Cut(strings.TrimPrefix(name, usePrefix), "/")
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}
