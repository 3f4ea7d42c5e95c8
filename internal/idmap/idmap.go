// Package idmap maps very many strings to numbers in little memory: some 22 bytes each,
// however long they are, without a pointer that a collector would follow.
//
// It keeps 79 bits of a hash in place of a string. The hash is another one in each map,
// so that nobody can choose strings that it takes for the same; among a hundred million
// that chance does it once in a hundred million times.
package idmap

import (
	"hash/maphash"
	"math/bits"
)

// Most is the greatest number that a [Map] can hold.
const Most = 1<<48 - 1

// Map is a map from strings to numbers. Make one with [New]; it is not safe for
// concurrent use.
type Map struct {
	seeds [2]maphash.Seed
	// tables grow one by one, so that little is there twice when they do.
	tables [256]table
	n      int
}

// table is open to linear probing.
type table struct {
	slots []slot
	used  int
}

// slot is a hash, whose last bit is set where the slot is used, and 16 more bits of it
// above a number.
type slot struct{ hash, rest uint64 }

// New returns an empty map.
func New() *Map { return &Map{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}} }

// Len is how many strings are in the map.
func (m *Map) Len() int { return m.n }

// Add maps a string to a number of at most [Most], unless it is mapped already: then it
// returns to what, and true.
func (m *Map) Add(key string, value uint64) (before uint64, known bool) {
	if value > Most {
		panic("idmap: a number above the most")
	}
	s := m.slot(key)
	t := &m.tables[s.hash>>56]
	if 5*t.used >= 4*len(t.slots) {
		t.grow()
	}
	at := t.find(s)
	if at.hash != 0 {
		return at.rest & Most, true
	}
	s.rest |= value
	*at = s
	t.used++
	m.n++
	return 0, false
}

// Get returns the number of a string, and false where it has none.
func (m *Map) Get(key string) (value uint64, known bool) {
	s := m.slot(key)
	t := &m.tables[s.hash>>56]
	if len(t.slots) == 0 {
		return 0, false
	}
	at := t.find(s)
	return at.rest & Most, at.hash != 0
}

// slot is the one of a string, without its number.
func (m *Map) slot(key string) slot {
	return slot{maphash.String(m.seeds[0], key) | 1, maphash.String(m.seeds[1], key) &^ Most}
}

// find returns the place of a slot, or the free one where it belongs. Some are free.
func (t *table) find(s slot) *slot {
	// The first bits of the hash chose the table.
	first, _ := bits.Mul64(s.hash<<8, uint64(len(t.slots)))
	for i := int(first); ; i++ {
		if i == len(t.slots) {
			i = 0
		}
		if at := &t.slots[i]; at.hash == 0 || at.hash == s.hash && at.rest&^Most == s.rest&^Most {
			return at
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 8+len(old)+len(old)/4)
	for _, s := range old {
		if s.hash != 0 {
			*t.find(s) = s
		}
	}
}
