package lemma

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
)

// MaxWord is the longest form or lemma, in bytes of UTF-8.
const MaxWord = math.MaxUint8

// Bounds of a dictionary. They leave ten times the room that the largest known
// one takes.
const (
	maxForms  = 256 << 20     // bytes of all forms
	maxLemmas = 1<<idBits - 1 // distinct lemmas
	idBits    = 24
)

// Dictionary maps forms to lemmas. It does not change and may be used by many
// goroutines.
type Dictionary struct {
	seed maphash.Seed
	n    int

	// forms holds, one after the other, a header of four bytes (the length of
	// the form, never 0, in the lowest, the number of its lemma above) and the
	// form.
	forms []byte

	// The table has as many slots as a power of two, probed one after the
	// other: slots is where an entry of forms begins, tags is 0 for a free slot
	// and else some bits of the hash, so that a form that is not there is
	// mostly told by reading tags alone.
	tags  []uint8
	slots []uint32

	lemmas []byte
	ends   []uint32 // of each lemma
}

// Len returns how many forms the dictionary has.
func (d *Dictionary) Len() int { return d.n }

// Lemmas returns how many distinct lemmas the dictionary has. They are numbered
// from 0.
func (d *Dictionary) Lemmas() int { return len(d.ends) }

// Bytes returns the memory that the dictionary takes.
func (d *Dictionary) Bytes() int {
	return cap(d.forms) + cap(d.tags) + 4*cap(d.slots) + cap(d.lemmas) + 4*cap(d.ends)
}

// Lemma returns the lemma of that number. The slice must not be changed.
func (d *Dictionary) Lemma(id int) []byte {
	start := uint32(0)
	if id > 0 {
		start = d.ends[id-1]
	}
	return d.lemmas[start:d.ends[id]:d.ends[id]]
}

// Lookup returns the number of the form's lemma. It does not allocate.
func (d *Dictionary) Lookup(form []byte) (id int, ok bool) {
	header, _ := d.find(maphash.Bytes(d.seed, form), form)
	return int(header >> 8), header != 0
}

// find returns the header of the form's entry, or 0 and the free slot where it
// belongs.
func (d *Dictionary) find(hash uint64, form []byte) (header uint32, free int) {
	tag, mask := tagOf(hash), uint64(len(d.tags)-1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		switch d.tags[slot] {
		case 0:
			return 0, int(slot)
		case tag:
			entry := d.forms[d.slots[slot]:]
			header = binary.LittleEndian.Uint32(entry)
			if string(entry[4:4+header&MaxWord]) == string(form) {
				return header, 0
			}
		}
	}
}

// tagOf takes the bits of a hash that do not choose the slot; 0 is taken by free
// slots.
func tagOf(hash uint64) uint8 { return uint8(hash>>56) | 1 }

// builder makes a dictionary, form by form.
type builder struct {
	d    *Dictionary
	ids  map[string]uint32 // of lemmas
	last uint32            // the lemma added last
	room int               // for forms, in bytes
}

// newBuilder expects n forms that take size bytes with their headers; more, up to
// room, can be added.
func newBuilder(n, size, room int) *builder {
	d := &Dictionary{seed: maphash.MakeSeed(), forms: make([]byte, 0, min(size, room))}
	d.resize(n)
	return &builder{d: d, ids: make(map[string]uint32), room: room}
}

// add adds a form. When the form is there already, added is false and the lemma
// stays what it was. Form and lemma are copied.
func (b *builder) add(form, lemma []byte) (added bool, err error) {
	switch {
	case len(form) == 0:
		return false, fmt.Errorf("empty form")
	case len(form) > MaxWord:
		return false, fmt.Errorf("form of %d bytes, at most %d are possible", len(form), MaxWord)
	case len(b.d.forms)+4+len(form) > b.room:
		return false, fmt.Errorf("more than %d MB of forms", b.room>>20)
	}
	hash := maphash.Bytes(b.d.seed, form)
	header, slot := b.d.find(hash, form)
	if header != 0 {
		return false, nil
	}
	id, err := b.lemma(lemma)
	if err != nil {
		return false, err
	}
	if 4*(b.d.n+1) > 3*len(b.d.tags) {
		b.d.resize(2 * b.d.n)
		_, slot = b.d.find(hash, form)
	}
	b.d.tags[slot], b.d.slots[slot] = tagOf(hash), uint32(len(b.d.forms))
	b.d.forms = binary.LittleEndian.AppendUint32(b.d.forms, uint32(len(form))|id<<8)
	b.d.forms = append(b.d.forms, form...)
	b.d.n++
	return true, nil
}

// lemma returns the number of a lemma, a new one for one never seen.
func (b *builder) lemma(lemma []byte) (uint32, error) {
	if len(b.d.ends) > 0 && string(b.d.Lemma(int(b.last))) == string(lemma) {
		return b.last, nil
	}
	id, known := b.ids[string(lemma)]
	if !known {
		if err := checkLemma(lemma); err != nil {
			return 0, err
		}
		if len(b.d.ends) == maxLemmas {
			return 0, fmt.Errorf("more than %d lemmas", maxLemmas)
		}
		id = uint32(len(b.d.ends))
		b.ids[string(lemma)] = id
		b.d.lemmas = append(b.d.lemmas, lemma...)
		b.d.ends = append(b.d.ends, uint32(len(b.d.lemmas)))
	}
	b.last = id
	return id, nil
}

// finish gives back room that is left and returns the dictionary.
func (b *builder) finish() *Dictionary {
	if spare := cap(b.d.forms) - len(b.d.forms); spare > len(b.d.forms)/8 {
		b.d.forms = bytes.Clone(b.d.forms)
	}
	return b.d
}

// resize makes a table that holds n forms with a quarter of it free, at least,
// and puts the forms of now into it.
func (d *Dictionary) resize(n int) {
	size := 1 << bits.Len(uint(max(n, 8)*4/3))
	d.tags, d.slots = make([]uint8, size), make([]uint32, size)
	for at := 0; at < len(d.forms); {
		form := d.forms[at+4 : at+4+int(d.forms[at])]
		hash := maphash.Bytes(d.seed, form)
		_, slot := d.find(hash, form)
		d.tags[slot], d.slots[slot] = tagOf(hash), uint32(at)
		at += 4 + len(form)
	}
}
