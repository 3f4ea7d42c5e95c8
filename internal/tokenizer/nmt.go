package tokenizer

import "unicode/utf8"

// nmt is the clean-up of sentencepiece's nmt rules: some control characters are
// dropped, other white space becomes a space.
type nmt struct {
	dropped, blanked *runeSet
}

func newNMT() *nmt {
	return &nmt{
		dropped: newRuneSet(nil, ranges("1-8 B E-1F 7F 8F 9F")),
		blanked: newRuneSet(nil, ranges("9-A C-D 1680 200B-200F 2028-2029 2581 FEFF FFFD")),
	}
}

func (n *nmt) normalize(d *draft, from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		switch {
		case n.dropped.has(r):
			d.replace(i, i+size, nil)
		case n.blanked.has(r):
			d.replace(i, i+size, space)
		}
		i += size
	}
}
