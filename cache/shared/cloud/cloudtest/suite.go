package cloudtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// Provider is a driver under test and the server behind it. All fields must be set.
type Provider struct {
	// Driver opens stores of the server at a URL: the server's own, or a proxy's before it.
	Driver func(server string) shared.Driver
	// Server is the server's URL; it is asked for once the server runs.
	Server func() string
	// NewStore makes an empty bucket and returns the URL of a store in it, as a user writes it, at a
	// server's URL.
	NewStore func(t testing.TB, server string) string
	// NoBucket is the URL of a store in a bucket that is not there.
	NoBucket func(server string) string
	// Secrets show in no error and no object.
	Secrets []string
	// Uploads reports whether a request brings a part of an object with more than one.
	Uploads func(r *http.Request) bool
	// LosesAnswers says that the server stands an upload whose answer is lost, and which comes again.
	LosesAnswers bool
}

// Run checks that a driver keeps what [shared.Bucket] promises, and that a store, a cache with such a
// store behind it, and a collection work through it: against the server, and over a bad way to it.
func Run(t *testing.T, p Provider) {
	t.Helper()
	Need(t)
	tests := []struct {
		name string
		run  func(*testing.T, Provider)
	}{
		{"bucket", bucketConformance},
		{"store", storeConformance},
		{"cache with a store behind it", tieredConformance},
		{"race of writers in parts", partsRace},
		{"race of stores", storesRace},
		{"large blob over cut connections", largeBlob},
		{"upload that is cut", cutUpload},
		{"upload that is given up", givenUp},
		{"lost answers", lostAnswers},
		{"server that slows down", slowDown},
		{"refusals", refusals},
		{"server that is away", serverAway},
		{"wrong bytes up", wrongBytesUp},
		{"wrong bytes down", wrongBytesDown},
		{"credentials in objects", credentialsInObjects},
		{"collection", collection},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, p)
		})
	}
}

// proxied is a proxy before the server, at a URL.
type proxied struct {
	*Proxy
	URL string
}

func (p Provider) proxy(t testing.TB) *proxied {
	t.Helper()
	proxy, err := NewProxy(p.Server())
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(proxy)
	t.Cleanup(at.Close)
	return &proxied{proxy, at.URL}
}

// bucket opens the bucket of a store at a server's URL.
func (p Provider) bucket(t testing.TB, server, store string) shared.Bucket {
	t.Helper()
	b, err := shared.OpenBucket(t.Context(), []shared.Driver{p.Driver(server)}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// place is a store's URL at a server's.
type place struct{ server, url string }

func (p Provider) newPlace(t testing.TB, server string) place {
	t.Helper()
	return place{server, p.NewStore(t, server)}
}

func (p Provider) at(t testing.TB, at place) shared.Bucket {
	t.Helper()
	return p.bucket(t, at.server, at.url)
}

// quick makes a store's attempts follow each other soon.
func quick(o shared.Options) shared.Options {
	o.Pause = func(int) time.Duration { return time.Millisecond }
	return o
}

// store opens a store.
func (p Provider) store(t testing.TB, at place, o shared.Options) *shared.Store {
	t.Helper()
	s, err := shared.Open(context.Background(), []shared.Driver{p.Driver(at.server)}, at.url, quick(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// writer opens a store to write to.
func (p Provider) writer(t testing.TB, at place) *shared.Store {
	t.Helper()
	return p.store(t, at, shared.Options{Mode: shared.Write})
}

func blobObject(d cache.Digest) string { return "cas/" + d.String()[:2] + "/" + d.String() }

func recordObject(k cache.Key) string { return "ac/" + k.String()[:2] + "/" + k.String() }

func readAll(ctx context.Context, b shared.Bucket, name string) ([]byte, error) {
	r, _, err := b.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// rewrite changes an object behind a store's back; nil removes it. What is not there, or empty, stays
// so.
func rewrite(t testing.TB, b shared.Bucket, name string, change func([]byte) []byte) {
	t.Helper()
	old, err := readAll(t.Context(), b, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(old) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if changed := change(old); changed == nil {
		err = b.Delete(t.Context(), name)
	} else {
		err = b.Replace(t.Context(), name, int64(len(changed)), bytes.NewReader(changed))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names are all objects below a prefix.
func names(t testing.TB, b shared.Bucket, prefix string) []string {
	t.Helper()
	var all []string
	for o, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Name)
	}
	return all
}

func wantNone(t testing.TB, b shared.Bucket, name string) {
	t.Helper()
	if _, err := b.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat %s: %v, want fs.ErrNotExist", name, err)
	}
	if got := names(t, b, name); len(got) > 0 {
		t.Errorf("listed: %v", got)
	}
}

func wantNoSecret(t testing.TB, p Provider, what, text string) {
	t.Helper()
	for _, secret := range p.Secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows a secret: %s", what, text)
		}
	}
}

func bucketConformance(t *testing.T, p Provider) {
	var places sync.Map
	sharedtest.RunBucket(t,
		func(t *testing.T) shared.Bucket {
			at := p.newPlace(t, p.Server())
			b := p.at(t, at)
			places.Store(b, at)
			return b
		},
		func(t *testing.T, b shared.Bucket) shared.Bucket {
			at, _ := places.Load(b)
			return p.at(t, at.(place))
		})
}

// placed is a store under test, and where it is.
type placed struct {
	cache.Store
	at place
	// local is the folder in front of it, if there is one.
	local *cache.Local
}

func storeConformance(t *testing.T, p Provider) {
	open := func(t *testing.T, at place) cache.Store { return placed{Store: p.writer(t, at), at: at} }
	cachetest.Run(t, cachetest.Subject{
		New:    func(t *testing.T) cache.Store { return open(t, p.newPlace(t, p.Server())) },
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return open(t, s.(placed).at) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			rewrite(t, p.at(t, s.(placed).at), blobObject(d), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			rewrite(t, p.at(t, s.(placed).at), recordObject(k), change)
		},
	})
}

// machine is the cache of a machine with a store behind it.
func (p Provider) machine(t testing.TB, dir string, at place) *shared.Tiered {
	t.Helper()
	l, err := cache.OpenLocal(dir, cache.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return shared.NewTiered(l, p.writer(t, at), shared.TieredOptions{Strict: true})
}

// tieredConformance damages both tiers at once: what only one lost the other has.
func tieredConformance(t *testing.T, p Provider) {
	open := func(t *testing.T, dir string, at place) cache.Store {
		m := p.machine(t, dir, at)
		return placed{m, at, m.Local()}
	}
	cachetest.Run(t, cachetest.Subject{
		New:    func(t *testing.T) cache.Store { return open(t, t.TempDir(), p.newPlace(t, p.Server())) },
		Reopen: func(t *testing.T, s cache.Store) cache.Store { return open(t, s.(placed).local.Dir(), s.(placed).at) },
		RewriteBlob: func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte) {
			rewrite(t, p.at(t, s.(placed).at), blobObject(d), change)
			sharedtest.RewriteFile(t, s.(placed).local.Path(d), change)
		},
		RewriteRecord: func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte) {
			rewrite(t, p.at(t, s.(placed).at), recordObject(k), change)
			sharedtest.RewriteFile(t, s.(placed).local.Dir()+"/"+recordObject(k), change)
		},
	})
}
