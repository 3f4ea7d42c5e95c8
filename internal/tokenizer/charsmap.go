package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"unicode"
	"unicode/utf8"

	"github.com/apparentlymart/go-textseg/v17/textseg"
	"golang.org/x/text/unicode/norm"
)

// maxCluster is the size in bytes from which on a grapheme cluster is no longer
// looked up as a whole, as in the Rust crate spm_precompiled.
const maxCluster = 6

// charsmap is the normalizer of sentencepiece models ("Precompiled"): a table of
// replacements for single code points and for sequences of a letter and its
// marks. A short grapheme cluster is looked up as a whole and replaced by what
// the shortest entry it begins with says, the rest of it being lost; the code
// points of any other cluster are looked up one by one. This is what the Rust
// library does, and models were trained with what it does.
type charsmap struct {
	rules replacements
	lone  *runeSet // code points that are a cluster of their own beside one another
	plain *runeSet // those of lone that no rule replaces
}

// replacements is a table of rules.
type replacements interface {
	// lookup returns the replacement of the shortest entry that text, which is
	// one grapheme cluster or one code point, begins with. It may use the scratch
	// memory of d, for the replacement too.
	lookup(d *draft, text []byte) ([]byte, bool)
}

func newCharsmap(rules replacements) *charsmap {
	n := &charsmap{rules: rules, lone: loneRunes()}
	plain := *n.lone
	n.plain = &plain
	d, buf := new(draft), make([]byte, utf8.UTFMax)
	for c := rune(0); c < 1<<16; c++ {
		if !plain.has(c) {
			continue
		}
		if _, ruled := rules.lookup(d, buf[:utf8.EncodeRune(buf, c)]); ruled {
			n.plain.put(c, false)
		}
	}
	return n
}

// loneRunes returns code points of the basic plane that cannot share a grapheme
// cluster with one another (UAX #29): letters, digits, punctuation and symbols,
// but for those that extend or are extended by a neighbour. A set too small costs
// time, not correctness.
func loneRunes() *runeSet {
	joining := ranges("D 1100-11FF A960-A97F D7B0-D7FF") // CR before LF; conjoining jamo
	// Letters that count as spacing marks (Thai and Lao am) or as prefixes.
	for _, letters := range []string{"D4E", "E33", "EB3"} {
		joining.R16 = append(joining.R16, ranges(letters).R16...)
	}
	lone := newRuneSet(joining, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Zs, unicode.Cc)
	lone.set(unicode.Other_Grapheme_Extend, false)
	lone.astral = nil
	return lone
}

func (n *charsmap) normalize(d *draft, from, to int) {
	text := d.text[:to]
	r, size := utf8.DecodeRune(text[from:])
	for i := from; i < to; {
		next := i + size
		r2, size2 := rune(' '), 0
		if next < to {
			if r2, size2 = rune(text[next]), 1; r2 >= utf8.RuneSelf {
				r2, size2 = utf8.DecodeRune(text[next:])
			}
		}
		switch {
		case !n.lone.has(r) || !n.lone.has(r2):
			next = i + clusterSize(text[i:])
			n.rewrite(d, i, next)
			r2, size2 = utf8.DecodeRune(text[next:])
		case !n.plain.has(r):
			n.rewrite(d, i, next)
		}
		i, r, size = next, r2, size2
	}
}

// clusterSize returns the length in bytes of the grapheme cluster text begins
// with.
func clusterSize(text []byte) int {
	size, _, err := textseg.ScanGraphemeClusters(text, true)
	if err != nil || size <= 0 {
		return len(text)
	}
	return size
}

// rewrite applies the rules to the grapheme cluster text[from:to].
func (n *charsmap) rewrite(d *draft, from, to int) {
	if to-from < maxCluster && n.apply(d, from, to) {
		return
	}
	for i := from; i < to; {
		_, size := utf8.DecodeRune(d.text[i:])
		n.apply(d, i, i+size)
		i += size
	}
}

// apply replaces text[from:to] if there is a rule for it.
func (n *charsmap) apply(d *draft, from, to int) bool {
	with, ok := n.rules.lookup(d, d.text[from:to])
	if !ok {
		return false
	}
	if len(with) == 0 {
		d.dropped(from, to)
	}
	d.replace(from, to, with)
	return true
}

// doubleArray is a table as sentencepiece stores it: a trie of bytes in the
// Darts-clone layout, whose values are offsets of zero-terminated replacements.
type doubleArray struct {
	units []uint32
	text  []byte
}

// parseCharsmap decodes a table: its trie's size in bytes (32 bits, little
// endian), the trie, the replacements.
func parseCharsmap(encoded string) (*doubleArray, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, errors.New("the table is cut short")
	}
	size := binary.LittleEndian.Uint32(data) / 4
	data = data[4:]
	if size == 0 || uint64(size)*4 > uint64(len(data)) {
		return nil, errors.New("the table's trie is larger than the table, or empty")
	}
	t := &doubleArray{units: make([]uint32, size), text: data[size*4:]}
	for i := range t.units {
		t.units[i] = binary.LittleEndian.Uint32(data[i*4:])
	}
	if !utf8.Valid(t.text) {
		return nil, errors.New("the table's replacements are not valid UTF-8")
	}
	return t, nil
}

// A unit of the array holds, from the low bits up: the label of the edge into
// it (8 bits), whether a value hangs below (1), how its offset is scaled (1) and
// its offset (22); a unit with a value has the top bit set.
func unitOffset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

func (t *doubleArray) lookup(_ *draft, key []byte) ([]byte, bool) {
	node := unitOffset(t.units[0])
	for _, c := range key {
		if c == 0 {
			break
		}
		node ^= uint32(c)
		if uint64(node) >= uint64(len(t.units)) {
			break
		}
		unit := t.units[node]
		if unit&(1<<31|0xFF) != uint32(c) {
			break
		}
		node ^= unitOffset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if uint64(node) >= uint64(len(t.units)) {
			break
		}
		return t.replacement(t.units[node] &^ (1 << 31))
	}
	return nil, false
}

func (t *doubleArray) replacement(at uint32) ([]byte, bool) {
	if uint64(at) > uint64(len(t.text)) || int(at) < len(t.text) && !utf8.RuneStart(t.text[at]) {
		return nil, false
	}
	end := int(at)
	for end < len(t.text) && t.text[end] != 0 {
		end++
	}
	return t.text[at:end], true
}

// ruleTable is a table of replacements for single code points. The sequences
// that sentencepiece's tables hold beside them are the ones Unicode composes
// into one code point, so they need not be listed.
type ruleTable map[rune][]byte

func (t ruleTable) lookup(d *draft, text []byte) ([]byte, bool) {
	r, size := utf8.DecodeRune(text)
	if with, ok := t[r]; ok {
		return with, true
	}
	for end := size; end < len(text); {
		_, size := utf8.DecodeRune(text[end:])
		end += size
		composed := d.inForm(norm.NFC, text[:end])
		if r, size := utf8.DecodeRune(composed); size == len(composed) {
			if with, ok := t[r]; ok {
				return with, true
			}
			return composed, true
		}
	}
	return nil, false
}

// readCharsmap reads the fields of a normalizer of type Precompiled.
func readCharsmap(r *jsonReader) normalizer {
	var table *doubleArray
	r.object(func(field string) {
		if field != "precompiled_charsmap" {
			r.skip()
			return
		}
		text := r.text()
		if r.err != nil {
			return
		}
		var err error
		if table, err = parseCharsmap(text); err != nil {
			r.fail("%v", err)
		}
	})
	r.require(table != nil, "precompiled_charsmap")
	if r.err != nil {
		return nil
	}
	return newCharsmap(table)
}
