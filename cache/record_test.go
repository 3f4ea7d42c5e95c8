package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sampleRecord() *Record {
	return &Record{
		Key: keyOf("sample"),
		Outputs: []Blob{
			{Name: "chunks", Digest: DigestOf([]byte("chunks")), Size: 6},
			{Name: "статистика", Digest: DigestOf(nil), Size: 0},
		},
		Manifest:     json.RawMessage(`{"kind":"chunk","tokens":256}`),
		Measurements: json.RawMessage(`{"wall":0.25}`),
	}
}

func genRecord() *rapid.Generator[*Record] {
	digest := rapid.Custom(func(t *rapid.T) Digest {
		return Digest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	})
	raw := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(`[1, "два"]`)})
	return rapid.Custom(func(t *rapid.T) *Record {
		r := &Record{Key: Key(digest.Draw(t, "key"))}
		r.Key[0] |= 1
		for _, name := range rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 0, 5, rapid.ID).Draw(t, "names") {
			size := rapid.Int64Min(0).Draw(t, "size")
			r.Outputs = append(r.Outputs, Blob{Name: name, Digest: digest.Draw(t, "output"), Size: size})
		}
		r.Manifest, r.Measurements, r.Provenance = raw.Draw(t, "m"), raw.Draw(t, "n"), raw.Draw(t, "p")
		return r
	})
}

func TestRecord_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord().Draw(t, "record")
		got, err := decodeRecord(encodeRecord(r))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestRecord_layout fails when the layout changes: then the magic, or the store's format, must too.
func TestRecord_layout(t *testing.T) {
	t.Parallel()
	const want = "219df4e7"
	sum := sha256.Sum256(encodeRecord(sampleRecord()))
	if got := hex.EncodeToString(sum[:4]); got != want {
		t.Errorf("the sample's encoding has the digest %s, want %s", got, want)
	}
}

func TestRecord_everyTruncationAndFlipIsDamage(t *testing.T) {
	t.Parallel()
	whole := encodeRecord(sampleRecord())
	for n := range len(whole) {
		if _, err := decodeRecord(whole[:n]); err == nil {
			t.Errorf("cut to %d bytes it still decodes", n)
		}
	}
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			if _, err := decodeRecord(b); err == nil {
				t.Errorf("with bit %d of byte %d flipped it still decodes", bit, i)
			}
		}
	}
}

// TestStore_everyDamageConverges damages a record, a blob and a memo segment on disk at every length
// and every byte. The loss is noticed once, and after the work was done again nothing is left of it.
func TestStore_everyDamageConverges(t *testing.T) {
	t.Parallel()
	found := 0
	l := openTest(t, t.TempDir(), Options{NoSync: true, OnCorrupt: func(*CorruptError) { found++ }})
	r := store(t, l, "k")
	remake := func() { store(t, l, "k") }
	t.Run("record", func(t *testing.T) {
		everyDamage(t, l.path(recordRel(r.Key)), &found, func() { wantMiss(t, l, r.Key) }, func() {
			remake()
			wantHit(t, l, r.Key)
		})
	})
	t.Run("blob", func(t *testing.T) {
		d := r.Outputs[0].Digest
		everyDamage(t, l.Path(d), &found, func() {
			if _, err := l.ReadAll(t.Context(), d); !errors.As(err, new(*CorruptError)) {
				t.Errorf("read: %v", err)
			}
			wantMiss(t, l, r.Key)
		}, func() {
			remake()
			wantHit(t, l, r.Key)
		})
	})
	t.Run("state", func(t *testing.T) {
		s := l.State("experiment")
		again := func() {
			if err := s.Replace("last", []byte("some state")); err != nil {
				t.Fatal(err)
			}
		}
		again()
		everyDamage(t, l.path(stateDir+"/experiment/last"), &found, func() {
			if b, err := s.Read("last"); !errors.Is(err, ErrNotFound) {
				t.Errorf("read %q, %v", b, err)
			}
		}, again)
	})
	t.Run("memo", func(t *testing.T) { memoDamage(t, l, &found) })
}

func memoDamage(t *testing.T, l *Local, found *int) {
	hashes, vectors := []Digest{{2}, {1}}, [][]float32{{1, 2, 3}, {4, 5, 6}}
	again := func() {
		m, err := l.Memo(Digest{7})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.Put(t.Context(), hashes, vectors); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Get(t.Context(), hashes); err != nil || !cmp.Equal(got, vectors) {
			t.Errorf("Get: %v, %v", got, err)
		}
	}
	again()
	everyDamage(t, l.path(memoDir+"/"+Digest{7}.String()+"/"+segmentName(1, 1)), found, func() {
		m, err := l.Memo(Digest{7})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		got, err := m.Get(t.Context(), hashes)
		if err != nil || !cmp.Equal(got, [][]float32{nil, nil}) {
			t.Errorf("Get: %v, %v", got, err)
		}
	}, again)
}

// everyDamage truncates a file to every length and flips every byte of it; use must find it damaged
// exactly once, and again makes it as it was.
func everyDamage(t *testing.T, path string, found *int, use, again func()) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var damaged [][]byte
	for i := range whole {
		damaged = append(damaged, whole[:i])
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x10
		damaged = append(damaged, flipped)
	}
	for i, b := range damaged {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o444); err != nil {
			t.Fatal(err)
		}
		before := *found
		use()
		if *found != before+1 {
			t.Errorf("damage %d: reported %d times, want once", i, *found-before)
		}
		again()
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("damage %d: not made again as it was: %v", i, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(encodeRecord(sampleRecord()))
	f.Add(encodeRecord(&Record{Key: Key{1}}))
	f.Add([]byte(recordMagic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, checksummed(b)} {
			r, err := decodeRecord(in)
			if err != nil {
				continue
			}
			if again := encodeRecord(r); !bytes.Equal(again, in) {
				t.Errorf("decodes to what encodes otherwise:\n%x\n%x", in, again)
			}
		}
	})
}

// checksummed puts the right checksum at the end, so that the fuzzer gets past it.
func checksummed(b []byte) []byte {
	if len(b) < sha256.Size {
		return b
	}
	body := b[:len(b)-sha256.Size]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}
