package tokenizer

import (
	"strconv"
	"strings"
	"unicode"
)

// runeSet is a set of code points with a bit for each one of the basic
// multilingual plane; the unicode package's own tables are searched by halving,
// which is too slow to ask several times for each rune of a text.
type runeSet struct {
	basic  [1 << 16 / 64]uint64
	astral []*unicode.RangeTable // what lies above the plane
	except *unicode.RangeTable   // code points above the plane that are not in
}

// newRuneSet returns the union of the tables without what is in except, which
// may be nil.
func newRuneSet(except *unicode.RangeTable, tables ...*unicode.RangeTable) *runeSet {
	s := &runeSet{astral: tables, except: except}
	for _, t := range tables {
		s.set(t, true)
	}
	if except != nil {
		s.set(except, false)
	}
	return s
}

func (s *runeSet) set(t *unicode.RangeTable, in bool) {
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			s.put(c, in)
		}
	}
}

// put adds or removes a code point of the basic plane.
func (s *runeSet) put(c rune, in bool) {
	if in {
		s.basic[c>>6] |= 1 << (c & 63)
	} else {
		s.basic[c>>6] &^= 1 << (c & 63)
	}
}

func (s *runeSet) has(c rune) bool {
	if uint32(c) < 1<<16 {
		return s.basic[c>>6]>>(c&63)&1 != 0
	}
	return s.hasAstral(c)
}

func (s *runeSet) hasAstral(c rune) bool {
	return unicode.In(c, s.astral...) && (s.except == nil || !unicode.Is(s.except, c))
}

// ranges makes a table of a list like "61D 2E43-2E4F", in ascending order.
func ranges(list string) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, item := range strings.Fields(list) {
		first, last, ok := strings.Cut(item, "-")
		if !ok {
			last = first
		}
		lo, err := strconv.ParseUint(first, 16, 32)
		hi, err2 := strconv.ParseUint(last, 16, 32)
		if err != nil || err2 != nil {
			panic("tokenizer: bad list of code points: " + item)
		}
		if hi < 1<<16 {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(lo), Hi: uint16(hi), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
		}
	}
	return t
}
