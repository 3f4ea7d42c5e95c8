package cloudtest

import (
	"testing"
	"time"

	"raglab/cache"
	"raglab/cache/cachetest"
	"raglab/cache/shared"
	"raglab/cache/shared/sharedtest"
)

// collection follows an unused result over weeks: its record is condemned and removed, then its blob.
// What it shared with a result that is pinned stays.
func collection(t *testing.T, p Provider) {
	at := p.newPlace(t, p.Server())
	weeks := &sharedtest.Calendar{}
	writer := func() *shared.Store {
		b := &sharedtest.Dated{Bucket: p.at(t, at), Calendar: weeks}
		return shared.New(b, quick(shared.Options{Mode: shared.Write, Name: at.url, Now: weeks.Now}))
	}
	result := func(s *shared.Store, k cache.Key, own string) {
		t.Helper()
		r := &cache.Record{Key: k, Outputs: []cache.Blob{
			cachetest.Write(t, s, "own", []byte(own)), cachetest.Write(t, s, "common", []byte("what both share")),
		}}
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	end := func(s *shared.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}

	s := writer()
	result(s, cache.Key{1}, "of the old result")
	result(s, cache.Key{2}, "of the pinned result")
	if err := s.Pin(t.Context(), "keep", []cache.Key{{2}}); err != nil {
		t.Fatal(err)
	}
	end(s)
	weeks.Pass(100 * 24 * time.Hour)
	for i, want := range []struct{ condemned, removed [2]int }{ // records and blobs
		{condemned: [2]int{1, 0}},
		{removed: [2]int{1, 0}},
		{condemned: [2]int{0, 1}},
		{removed: [2]int{0, 1}},
		{},
	} {
		weeks.Pass(8 * 24 * time.Hour)
		s := writer()
		got, err := s.GC(t.Context(), shared.GCOptions{MaxAge: 60 * 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		end(s)
		condemned := [2]int{got.Condemned.Records.Count, got.Condemned.Blobs.Count}
		removed := [2]int{got.Removed.Records.Count, got.Removed.Blobs.Count}
		if condemned != want.condemned || removed != want.removed {
			t.Errorf("collection %d: condemned %v, removed %v, want %v", i+1, condemned, removed, want)
		}
	}
	s = writer()
	defer end(s)
	for k, want := range map[cache.Key]cache.MissReason{{1}: cache.MissNoRecord, {2}: cache.Hit} {
		if _, miss, err := cache.Lookup(t.Context(), s, k); err != nil || miss.Reason != want {
			t.Errorf("Lookup %s: %+v, %v, want %v", k.Short(), miss, err, want)
		}
	}
	if got := names(t, p.at(t, at), "cas/"); len(got) != 2 {
		t.Errorf("blobs that are left: %v", got)
	}
}
