package lemma

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/ulikunitz/xz"
	"pgregory.net/rapid"
)

// record is one of a front-coded stream, as stored.
type record struct {
	shared       int
	suffix, rest string
	trim         int
}

// stream writes a front-coded stream.
func stream(flags byte, count int, records ...record) []byte {
	out := append([]byte(magic), flags)
	out = binary.AppendUvarint(out, uint64(count))
	for _, r := range records {
		out = binary.AppendUvarint(out, uint64(r.shared))
		out = binary.AppendUvarint(out, uint64(len(r.suffix)))
		out = append(append(out, r.suffix...), byte(r.trim))
		if r.trim != trimSame {
			out = binary.AppendUvarint(out, uint64(len(r.rest)))
			out = append(out, r.rest...)
		}
	}
	return out
}

// encode writes a dictionary; literal lemmas are written by the way if plain.
func encode(dictionary map[string]string, reversed, plain bool) []byte {
	turn := func(s string) string { return s }
	flags := byte(0)
	if reversed {
		flags = flagReversed
		turn = func(s string) string {
			b := []byte(s)
			slices.Reverse(b)
			return string(b)
		}
	}
	stored := make(map[string]string, len(dictionary))
	for form, lemma := range dictionary {
		stored[turn(form)] = turn(lemma)
	}
	var records []record
	form, lemma := "", ""
	for _, next := range slices.Sorted(maps.Keys(stored)) {
		r := record{shared: common(form, next), trim: trimLiteral, rest: stored[next]}
		r.suffix = next[r.shared:]
		if kept := common(next, stored[next]); !plain && len(next)-kept < trimSame {
			r.trim, r.rest = len(next)-kept, stored[next][kept:]
		}
		if !plain && lemma == stored[next] {
			r.trim = trimSame
		}
		records = append(records, r)
		form, lemma = next, stored[next]
	}
	return stream(flags, len(records), records...)
}

// common returns how many bytes a and b begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// pack compresses a stream.
func pack(tb testing.TB, stream []byte, c xz.WriterConfig) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := c.NewWriter(&out)
	if err == nil {
		_, err = w.Write(stream)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// dictionaries draws dictionaries whose forms and lemmas have much in common.
func dictionaries() *rapid.Generator[map[string]string] {
	word := rapid.OneOf(
		rapid.StringMatching(`[абв]{1,5}`), rapid.StringMatching(`[a-c]{1,3}[а-яіїєґ']{0,8}`),
		rapid.StringN(1, 12, MaxWord), rapid.StringOfN(rapid.Just('ж'), 120, 127, MaxWord),
	)
	return rapid.MapOfN(word, word, 0, 60)
}

// entries returns the forms of a dictionary in their order, with their lemmas.
func entries(d *Dictionary) (forms, lemmas []string) {
	for at := 0; at < len(d.forms); {
		header := binary.LittleEndian.Uint32(d.forms[at:])
		at += 4
		forms = append(forms, string(d.forms[at:at+int(header&MaxWord)]))
		lemmas = append(lemmas, string(d.Lemma(int(header>>8))))
		at += int(header & MaxWord)
	}
	return forms, lemmas
}

// lookup looks a form up.
func lookup(d *Dictionary, form string) (string, bool) {
	id, ok := d.Lookup([]byte(form))
	if !ok {
		return "", false
	}
	return string(d.Lemma(id)), true
}
