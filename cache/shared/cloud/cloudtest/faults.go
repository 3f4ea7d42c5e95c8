package cloudtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// slowDown refuses every third request: everything works all the same.
func slowDown(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	proxy.Refuse = func(n int64, _ *http.Request) int {
		switch n % 6 {
		case 0:
			return http.StatusServiceUnavailable
		case 3:
			return http.StatusInternalServerError
		}
		return 0
	}
	s := p.writer(t, p.newPlace(t, proxy.URL))
	for i := range 3 {
		r := &cache.Record{Key: cache.Key{byte(i + 1)}}
		for _, n := range []int{100 + i, 9<<20 + i} {
			r.Outputs = append(r.Outputs, cachetest.Write(t, s, fmt.Sprint(n), sharedtest.Bytes(n)))
		}
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, miss, err := cache.Lookup(t.Context(), s, r.Key); err != nil || miss.Reason != cache.Hit {
			t.Errorf("Lookup: %+v, %v", miss, err)
		}
	}
	if r, err := s.Verify(t.Context()); err != nil || r.Blobs.Count != 6 || len(r.Bad)+len(r.Incomplete) > 0 {
		t.Errorf("Verify: %+v, %v", r, err)
	}
}

// refusals: a server that refuses everything is not available, one that refuses the credentials will
// not pass, and neither error shows them.
func refusals(t *testing.T, p Provider) {
	proxy := p.proxy(t)
	at := p.newPlace(t, proxy.URL)
	seldom(t, p, proxy, at)
	for _, tt := range []struct {
		status      int
		unavailable bool
	}{
		{http.StatusServiceUnavailable, true},
		{http.StatusTooManyRequests, true},
		{http.StatusUnauthorized, false},
		{http.StatusForbidden, false},
	} {
		proxy.Refuse = func(int64, *http.Request) int { return tt.status }
		_, err := p.writer(t, at).Get(t.Context(), cache.Key{1})
		if errors.Is(err, cache.ErrUnavailable) != tt.unavailable || errors.Is(err, shared.ErrPermanent) == tt.unavailable || errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%d: %v", tt.status, err)
		}
		wantNoSecret(t, p, fmt.Sprint(tt.status), fmt.Sprint(err))
	}
	proxy.Refuse = nil
	for _, mode := range []shared.Mode{shared.Read, shared.Write} {
		s := p.store(t, place{proxy.URL, p.NoBucket(proxy.URL)}, shared.Options{Mode: mode})
		_, err := s.Get(t.Context(), cache.Key{1})
		if !errors.Is(err, shared.ErrPermanent) || !strings.Contains(err.Error(), "no such ") {
			t.Errorf("no bucket, to %s: %v", mode, err)
		}
		wantNoSecret(t, p, "no bucket", fmt.Sprint(err))
	}
}

// seldom makes requests that are refused: a driver makes each a few times at most, for it is the store
// that tries again.
func seldom(t *testing.T, p Provider, proxy *proxied, at place) {
	t.Helper()
	proxy.Refuse = func(int64, *http.Request) int { return http.StatusServiceUnavailable }
	b := p.at(t, at)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it was tried for a minute"))
	defer cancel()
	for op, request := range map[string]func() error{
		"Stat":   func() error { return second(b.Stat(ctx, "ac/00/x")) },
		"Create": func() error { return b.Create(ctx, "ac/00/x", 1, strings.NewReader("x")) },
		"Delete": func() error { return b.Delete(ctx, "ac/00/x") },
	} {
		before := proxy.Requests()
		err := request()
		if n := proxy.Requests() - before; err == nil || n < 1 || n > 3 {
			t.Fatalf("%s: %v after %d requests, want at most 3", op, err, n)
		}
	}
}

// serverAway: a request to a server that is not there is given up soon, and may pass. It is the store
// that tries again.
func serverAway(t *testing.T, p Provider) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	server := "http://127.0.0.1:" + port
	b := p.bucket(t, server, p.NoBucket(server))
	// Drivers pause for a second or two. Whoever takes a minute never gives up.
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it was tried for a minute"))
	defer cancel()
	for op, err := range map[string]error{
		"Stat":   second(b.Stat(ctx, "ac/00/x")),
		"Create": b.Create(ctx, "ac/00/x", 1, strings.NewReader("x")),
		"Delete": b.Delete(ctx, "ac/00/x"),
	} {
		if ctx.Err() != nil || err == nil || errors.Is(err, shared.ErrPermanent) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v (%v)", op, err, context.Cause(ctx))
		}
		wantNoSecret(t, p, op, fmt.Sprint(err))
	}
}

func second(_ shared.Object, err error) error { return err }

// credentialsInObjects looks at all that a writer left, names and bytes.
func credentialsInObjects(t *testing.T, p Provider) {
	at := p.newPlace(t, p.Server())
	s := p.writer(t, at)
	blob := cachetest.Write(t, s, "x", []byte("text"))
	if _, err := s.Put(t.Context(), &cache.Record{Key: cache.Key{1}, Outputs: []cache.Blob{blob}}); err != nil {
		t.Fatal(err)
	}
	b := p.at(t, at)
	all := names(t, b, "")
	if len(all) < 4 { // VERSION, blob, record, session
		t.Errorf("objects: %v", all)
	}
	for _, name := range all {
		content, err := readAll(t.Context(), b, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range p.Secrets {
			if strings.Contains(name, secret) || bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds a credential", name)
			}
		}
	}
}
