package cachetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/cache"
)

func keyOf(s string) cache.Key { return cache.Key(cache.DigestOf([]byte(s))) }

// record is a record of two outputs, which are stored.
func record(t testing.TB, s cache.Store, k cache.Key, text string) *cache.Record {
	t.Helper()
	return &cache.Record{
		Key:          k,
		Outputs:      []cache.Blob{Write(t, s, "zeta", []byte(text)), Write(t, s, "alpha", []byte(text+" more"))},
		Manifest:     json.RawMessage(`{"tokens": 256}`),
		Measurements: json.RawMessage(`{"wall": 0.5}`),
		Provenance:   json.RawMessage(`{"host": "h"}`),
	}
}

func put(t testing.TB, s cache.Store, r *cache.Record) *cache.Record {
	t.Helper()
	got, err := s.Put(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantRecord(t testing.TB, s cache.Store, want *cache.Record) {
	t.Helper()
	got, err := s.Get(t.Context(), want.Key)
	if err != nil {
		t.Errorf("Get: %v", err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Get (-want +got):\n%s", diff)
	}
}

func wantMiss(t testing.TB, s cache.Store, k cache.Key, want cache.MissReason) {
	t.Helper()
	if _, miss, err := cache.Lookup(t.Context(), s, k); err != nil || miss.Reason != want {
		t.Errorf("Lookup: %q, %v; want %q", miss.Reason, err, want)
	}
}

func recordRoundTrip(t *testing.T, sub Subject) {
	s := sub.New(t)
	full := record(t, s, keyOf("full"), "some text")
	bare := &cache.Record{Key: keyOf("bare")}
	for _, r := range []*cache.Record{full, bare} {
		if got := put(t, s, r); !cmp.Equal(got, r) {
			t.Errorf("Put returned %+v, want %+v", got, r)
		}
		wantRecord(t, s, r)
	}
}

func missingRecord(t *testing.T, sub Subject) {
	s := sub.New(t)
	_, err := s.Get(t.Context(), keyOf("none"))
	if !errors.Is(err, cache.ErrNotFound) || errors.As(err, new(*cache.CorruptError)) {
		t.Errorf("Get: %v, want ErrNotFound alone", err)
	}
	wantMiss(t, s, keyOf("none"), cache.MissNoRecord)
}

func firstRecordWins(t *testing.T, sub Subject) {
	s := sub.New(t)
	first := record(t, s, keyOf("k"), "first")
	put(t, s, first)
	if got := put(t, s, record(t, s, keyOf("k"), "second")); !cmp.Equal(got, first) {
		t.Errorf("the second Put returned %+v, want the first record", got)
	}
	wantRecord(t, s, first)
}

func oneWinner(t *testing.T, sub Subject) {
	s := sub.New(t)
	handles := []cache.Store{s, sub.Reopen(t, s), sub.Reopen(t, s)}
	const writers, keys = 12, 8
	winners := make([][writers]*cache.Record, keys)
	var all sync.WaitGroup
	for i := range writers {
		h := handles[i%len(handles)]
		all.Go(func() {
			for k := range keys {
				r := record(t, h, keyOf(fmt.Sprint(k)), fmt.Sprintf("writer %d", i))
				got, err := h.Put(t.Context(), r)
				if err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				winners[k][i] = got
			}
		})
	}
	all.Wait()
	for k := range winners {
		for i, w := range winners[k] {
			if !cmp.Equal(w, winners[k][0]) {
				t.Errorf("key %d: writers 0 and %d were told of different records", k, i)
			}
		}
		wantRecord(t, s, winners[k][0])
	}
}

func recordNeedsOutputs(t *testing.T, sub Subject) {
	s := sub.New(t)
	r := record(t, s, keyOf("k"), "text")
	for name, missing := range map[string]cache.Blob{
		"never written": {Name: "chunks", Digest: cache.DigestOf([]byte("never")), Size: 5},
		"other size":    {Name: "chunks", Digest: r.Outputs[1].Digest, Size: r.Outputs[1].Size + 1},
	} {
		bad := *r
		bad.Outputs = []cache.Blob{r.Outputs[0], missing}
		_, err := s.Put(t.Context(), &bad)
		var want *cache.OutputMissingError
		if !errors.As(err, &want) || want.Output != missing {
			t.Errorf("%s: %v, want an *OutputMissingError for %q", name, err, missing.Name)
		}
		wantMiss(t, s, r.Key, cache.MissNoRecord)
	}
}

func incompleteRecordReplaced(t *testing.T, sub Subject) {
	s := sub.New(t)
	first := record(t, s, keyOf("k"), "first")
	put(t, s, first)
	sub.RewriteBlob(t, s, first.Outputs[1].Digest, func([]byte) []byte { return nil })
	wantMiss(t, s, first.Key, cache.MissOutputMissing)
	second := record(t, s, keyOf("k"), "second")
	if got := put(t, s, second); !cmp.Equal(got, second) {
		t.Errorf("Put returned the record whose output is gone")
	}
	wantRecord(t, s, second)
	wantMiss(t, s, second.Key, cache.Hit)
}

func damagedRecord(t *testing.T, sub Subject) {
	for name, damage := range damages {
		s := sub.New(t)
		r := record(t, s, keyOf("k"), "text")
		put(t, s, r)
		sub.RewriteRecord(t, s, r.Key, damage)
		_, miss, err := cache.Lookup(t.Context(), s, r.Key)
		if err != nil || miss.Reason != cache.MissRecordCorrupt || miss.Corrupt == nil {
			t.Errorf("%s: %+v, %v; want a corrupt record", name, miss, err)
		}
		wantMiss(t, s, r.Key, cache.MissNoRecord) // the second time there is no trace of it
		put(t, s, r)
		wantRecord(t, s, r)
	}
}

func misplacedRecord(t *testing.T, sub Subject) {
	s := sub.New(t)
	a, b := record(t, s, keyOf("a"), "text of a"), record(t, s, keyOf("b"), "text of b")
	put(t, s, a)
	put(t, s, b)
	var raw []byte
	sub.RewriteRecord(t, s, a.Key, func(bytes []byte) []byte { raw = bytes; return bytes })
	sub.RewriteRecord(t, s, b.Key, func([]byte) []byte { return raw })
	wantMiss(t, s, b.Key, cache.MissRecordCorrupt)
	wantRecord(t, s, a)
}

func malformedRecord(t *testing.T, sub Subject) {
	s := sub.New(t)
	blob := Write(t, s, "a", []byte("a"))
	for name, r := range map[string]*cache.Record{
		"no key":        {},
		"unnamed":       {Key: keyOf("k"), Outputs: []cache.Blob{{Digest: blob.Digest, Size: 1}}},
		"named twice":   {Key: keyOf("k"), Outputs: []cache.Blob{blob, blob}},
		"negative size": {Key: keyOf("k"), Outputs: []cache.Blob{{Name: "a", Digest: blob.Digest, Size: -1}}},
		"no JSON":       {Key: keyOf("k"), Manifest: json.RawMessage(`{`)},
	} {
		if _, err := s.Put(t.Context(), r); err == nil {
			t.Errorf("%s: stored", name)
		}
		wantMiss(t, s, keyOf("k"), cache.MissNoRecord)
	}
}

func deletedRecord(t *testing.T, sub Subject) {
	s := sub.New(t)
	r := record(t, s, keyOf("k"), "text")
	put(t, s, r)
	for range 2 {
		if err := s.Delete(t.Context(), r.Key); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	wantMiss(t, s, r.Key, cache.MissNoRecord)
	wantBlob(t, s, []byte("text")) // blobs are for collection to take
}

func lookup(t *testing.T, sub Subject) {
	s := sub.New(t)
	r := record(t, s, keyOf("k"), "text")
	put(t, s, r)
	got, miss, err := cache.Lookup(t.Context(), s, r.Key)
	if err != nil || miss != (cache.Miss{}) || !cmp.Equal(got, r) {
		t.Errorf("Lookup: %+v, %+v, %v; want a hit", got, miss, err)
	}
	sub.RewriteBlob(t, s, r.Outputs[1].Digest, damages["cut"])
	got, miss, err = cache.Lookup(t.Context(), s, r.Key)
	if err != nil || miss.Reason != cache.MissOutputMissing || miss.Output != r.Outputs[1] || !cmp.Equal(got, r) {
		t.Errorf("Lookup: %+v, %+v, %v; want the output of another size missing", got, miss, err)
	}
}

func otherHandle(t *testing.T, sub Subject) {
	a := sub.New(t)
	b := sub.Reopen(t, a)
	r := record(t, a, keyOf("k"), "text")
	put(t, a, r)
	wantRecord(t, b, r)
	wantBlob(t, b, []byte("text"))
	if err := b.Delete(t.Context(), r.Key); err != nil {
		t.Fatal(err)
	}
	wantMiss(t, a, r.Key, cache.MissNoRecord)
}

// lossConverges takes a chain of actions, removes or damages any part of what they left, and makes
// again what is missing as an engine would: the results must come out as before.
func lossConverges(t *testing.T, sub Subject) {
	s := sub.New(t)
	c := chain{t: t, s: s, length: 6}
	want := c.build()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		for i, r := range want {
			if random.IntN(3) == 0 {
				sub.RewriteRecord(t, s, r.Key, anyDamage(random))
			}
			if random.IntN(3) == 0 {
				sub.RewriteBlob(t, s, r.Outputs[i%2].Digest, anyDamage(random))
			}
		}
		if got := c.build(); !cmp.Equal(got, want) {
			t.Fatalf("round %d: %v", round, cmp.Diff(want, got))
		}
		c.executed = 0
		if c.build(); c.executed != 0 {
			t.Fatalf("round %d: %d actions ran again although nothing was lost", round, c.executed)
		}
	}
}

func anyDamage(random *rand.Rand) func([]byte) []byte {
	names := []string{"", "first byte", "last byte", "cut", "halved", "emptied", "longer"}
	damage, ok := damages[names[random.IntN(len(names))]]
	if !ok {
		return func([]byte) []byte { return nil }
	}
	return damage
}

// chain is a row of actions, each reading the first output of the one before.
type chain struct {
	t        *testing.T
	s        cache.Store
	length   int
	executed int
}

// build returns the records of all actions, with every output readable. It begins again whenever
// something that was there turns out damaged.
func (c *chain) build() []*cache.Record {
	c.t.Helper()
	for range 1 + 4*c.length {
		if records, ok := c.attempt(); ok {
			return records
		}
	}
	c.t.Fatal("damaged outputs keep coming back")
	return nil
}

func (c *chain) attempt() (records []*cache.Record, ok bool) {
	var input []byte
	for i := range c.length {
		k := keyOf(fmt.Sprintf("%d of %s", i, cache.DigestOf(input)))
		r, miss, err := cache.Lookup(c.t.Context(), c.s, k)
		if err != nil {
			c.t.Fatal(err)
		}
		if miss.Reason != cache.Hit {
			c.executed++
			r, err = c.s.Put(c.t.Context(), record(c.t, c.s, k, fmt.Sprintf("%d after %.12s", i, cache.DigestOf(input))))
			if errors.As(err, new(*cache.OutputMissingError)) {
				// A tier that reads its outputs when it passes them on finds that what was there
				// already is damaged.
				return nil, false
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}
		for _, out := range r.Outputs {
			if _, err := c.s.ReadAll(c.t.Context(), out.Digest); err != nil {
				if !errors.As(err, new(*cache.CorruptError)) && !errors.Is(err, cache.ErrNotFound) {
					c.t.Fatal(err)
				}
				return nil, false
			}
		}
		if input, err = c.s.ReadAll(c.t.Context(), r.Outputs[0].Digest); err != nil {
			c.t.Fatal(err)
		}
		records = append(records, r)
	}
	return records, true
}
