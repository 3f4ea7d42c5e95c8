package inverted

import (
	"encoding/binary"
	"fmt"
	"math"
)

// list is a term's postings: the documents that have it, ascending, and how often.
type list struct {
	docs  []uint32
	tfs   []uint8
	first uint64            // the place of the first posting in often
	often map[uint64]uint32 // the frequency of postings whose tfs is manyTimes, by place
}

// tf returns the frequency of the i-th posting.
func (l *list) tf(i int) uint32 {
	if tf := l.tfs[i]; tf != manyTimes {
		return uint32(tf)
	}
	return l.often[l.first+uint64(i)]
}

// decode reads encoded postings into the list, as many as it has room for, of
// documents below n. It returns the sum of their frequencies.
func (l *list) decode(b []byte, n uint64) (uint64, error) {
	docs, tfs := l.docs, l.tfs[:len(l.docs)]
	next, sum := uint64(0), uint64(0)
	for i := range docs {
		// Most gaps take one or two bytes; binary.Uvarint is not inlined.
		var gap uint64
		switch {
		case len(b) > 0 && b[0] < 0x80:
			gap, b = uint64(b[0]), b[1:]
		case len(b) > 1 && b[1] < 0x80:
			gap, b = uint64(b[0]&0x7F)|uint64(b[1])<<7, b[2:]
		default:
			v, size := binary.Uvarint(b)
			if size <= 0 {
				return 0, damage("cut off")
			}
			gap, b = v, b[size:]
		}
		doc := next + gap>>1
		if doc >= n || gap>>1 >= n {
			return 0, damage("document %d of %d", doc, n)
		}
		docs[i], tfs[i], next = uint32(doc), 1, doc+1
		sum++
		if gap&1 == 0 {
			tf, rest, err := uvarint(b, math.MaxUint32-2)
			if err != nil {
				return 0, err
			}
			b = rest
			l.setTF(i, uint32(tf+2))
			sum += tf + 1
		}
	}
	if len(b) != 0 {
		return 0, damage("%d bytes too many", len(b))
	}
	return sum, nil
}

func (l *list) setTF(i int, tf uint32) {
	if tf < manyTimes {
		l.tfs[i] = uint8(tf)
		return
	}
	if l.often == nil {
		l.often = map[uint64]uint32{}
	}
	l.tfs[i], l.often[l.first+uint64(i)] = manyTimes, tf
}

// decodeList is the list of so many postings in b, of documents below n.
func decodeList(b []byte, df int, n uint64) (list, error) {
	l := list{docs: make([]uint32, df), tfs: make([]uint8, df)}
	if _, err := l.decode(b, n); err != nil {
		return l, fmt.Errorf("read postings: %w", err)
	}
	return l, nil
}
