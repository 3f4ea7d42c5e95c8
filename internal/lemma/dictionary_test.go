package lemma

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
	"pgregory.net/rapid"

	"raglab/internal/assets"
	"raglab/internal/assets/assetstest"
)

// check compares a dictionary with the map it should be.
func check(t rapid.TB, d *Dictionary, want map[string]string) {
	t.Helper()
	if d.Len() != len(want) {
		t.Errorf("%d forms, want %d", d.Len(), len(want))
	}
	distinct := map[string]bool{}
	for form, lemma := range want {
		distinct[lemma] = true
		if got, ok := lookup(d, form); !ok || got != lemma {
			t.Errorf("lemma of %q is %q, %v, want %q", form, got, ok, lemma)
		}
		for _, other := range []string{form + "а", form[1:], "", strings.ToUpper(form)} {
			_, there := want[other]
			if _, ok := lookup(d, other); ok != there {
				t.Errorf("form %q: found is %v, want %v", other, ok, there)
			}
		}
	}
	if d.Lemmas() != len(distinct) {
		t.Errorf("%d lemmas, want %d", d.Lemmas(), len(distinct))
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := dictionaries().Draw(rt, "dictionary")
		s := encode(want, rapid.Bool().Draw(rt, "reversed"), rapid.Bool().Draw(rt, "plain"))
		sum := rapid.SampledFrom([]byte{xz.CRC32, xz.CRC64, xz.SHA256}).Draw(rt, "checksum")
		d, err := Read(pack(t, s, xz.WriterConfig{CheckSum: sum, DictCap: 1 << 16}))
		if err != nil {
			rt.Fatal(err)
		}
		check(rt, d, want)
	})
}

func TestDictionary_growsBeyondExpectation(t *testing.T) {
	t.Parallel()
	b, want := newBuilder(0, 0, maxForms), map[string]string{}
	for i := range 5000 {
		form, lemma := fmt.Sprint("form", i), fmt.Sprint("lemma", i%7)
		want[form] = lemma
		if added, err := b.add([]byte(form), []byte(lemma)); !added || err != nil {
			t.Fatal(added, err)
		}
		if added, err := b.add([]byte(form), []byte("other")); added || err != nil {
			t.Fatal(added, err)
		}
	}
	check(t, b.finish(), want)
}

func TestDictionary_lookupDoesNotAllocate(t *testing.T) {
	d, err := decode(encode(map[string]string{"міста": "місто", "міст": "міст"}, false, false), maxForms)
	if err != nil {
		t.Fatal(err)
	}
	form, other := []byte("міста"), []byte("села")
	if n := testing.AllocsPerRun(100, func() {
		id, _ := d.Lookup(form)
		d.Lemma(id)
		d.Lookup(other)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// published are the dictionaries that raglab gets, with what the Python package
// itself reads from them: the digest is over "form\tlemma\n" in the order of the
// forms' bytes.
var published = []struct {
	language      string
	forms, lemmas int
	digest        string
}{
	{"it", 358210, 28120, "5b7593456981f9f7"},
	{"tr", 1236297, 40165, "afb7788f94cfd3fa"},
	{"uk", 598687, 45154, "c5173d6c6281b3d4"},
}

// readPublished returns the file of a dictionary, which is had as
// [assetstest.Dir] has it.
func readPublished(tb testing.TB, language string) []byte {
	tb.Helper()
	dir := assetstest.Dir(tb, assets.SimplemmaName(language))
	file, err := os.ReadFile(filepath.Join(dir, assets.SimplemmaFile(language)))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestRead_published(t *testing.T) {
	t.Parallel()
	for _, p := range published {
		t.Run(p.language, func(t *testing.T) {
			t.Parallel()
			d, err := Read(readPublished(t, p.language))
			if err != nil {
				t.Fatal(err)
			}
			if d.Len() != p.forms || d.Lemmas() != p.lemmas {
				t.Errorf("%d forms, %d lemmas, want %d and %d", d.Len(), d.Lemmas(), p.forms, p.lemmas)
			}
			var lines []byte
			forms, lemmas := entries(d)
			for i, form := range forms {
				lines = append(append(append(append(lines, form...), '\t'), lemmas[i]...), '\n')
				if i%16 > 0 {
					continue
				}
				if got, ok := lookup(d, form); !ok || got != lemmas[i] {
					t.Fatalf("lemma of %q is %q, %v, want %q", form, got, ok, lemmas[i])
				}
			}
			sum := sha256.Sum256(lines)
			if got := fmt.Sprintf("%x", sum[:8]); got != p.digest {
				t.Errorf("digest %s, want %s", got, p.digest)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, p := range published {
		b.Run(p.language, func(b *testing.B) {
			file := readPublished(b, p.language)
			b.ReportAllocs()
			for b.Loop() {
				d, err := Read(file)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(d.Bytes())/1e6, "MB")
			}
		})
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
