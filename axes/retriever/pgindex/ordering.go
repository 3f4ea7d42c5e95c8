package pgindex

// ordering brings the terms of a text into the order of their bytes. Texts have
// some hundred terms, which are sorted by comparisons mostly in wrong guesses of the
// processor: so their bytes are sorted one after the other, eight at a time, from
// the last to the first, which needs none.
type ordering struct {
	keys, spare []key
}

// key is a term by its index, with eight of its bytes as a number that orders as
// they do.
type key struct {
	bytes uint64
	term  int32
}

// fewKeys are sorted faster by comparisons.
const fewKeys = 32

// sort returns the terms in order, until the next call.
func (o *ordering) sort(l *Lexemes) []key {
	o.keys = o.keys[:0]
	for i := range l.terms {
		o.keys = append(o.keys, key{l.terms[i].prefix, int32(i)})
	}
	if cap(o.spare) < len(o.keys) {
		o.spare = make([]key, cap(o.keys))
	}
	o.sortFrom(l, o.keys, 0)
	return o.keys
}

// sortFrom sorts keys of terms that are alike up to a byte, which the keys have from
// there on. Those that are alike in eight more are sorted by the bytes after these.
func (o *ordering) sortFrom(l *Lexemes, keys []key, from int) {
	if len(keys) > fewKeys {
		o.byBytes(keys)
	} else {
		insert(keys)
	}
	for start := 0; start < len(keys); {
		end := start + 1
		for end < len(keys) && keys[end].bytes == keys[start].bytes {
			end++
		}
		if alike := keys[start:end]; len(alike) > 1 {
			for i := range alike {
				// No two terms are the same, and none has a NUL: one that ends here
				// has zeros, and comes first.
				term := l.term(&l.terms[alike[i].term])
				alike[i].bytes = prefix(term[min(from+8, len(term)):])
			}
			o.sortFrom(l, alike, from+8)
		}
		start = end
	}
}

// insert sorts by comparisons.
func insert(keys []key) {
	for i := 1; i < len(keys); i++ {
		k, at := keys[i], i
		for ; at > 0 && keys[at-1].bytes > k.bytes; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = k
	}
}

// byBytes sorts byte by byte.
func (o *ordering) byBytes(keys []key) {
	var counts [8][256]int32
	for i := range keys {
		b := keys[i].bytes
		for digit := range counts {
			counts[digit][byte(b>>(8*digit))]++
		}
	}
	from, to := keys, o.spare[:len(keys)]
	for digit := range counts {
		places := &counts[digit]
		shift := 8 * digit
		if places[byte(keys[0].bytes>>shift)] == int32(len(keys)) {
			continue // all have the same byte there
		}
		at := int32(0)
		for i, n := range places {
			places[i] = at
			at += n
		}
		for _, k := range from {
			place := &places[byte(k.bytes>>shift)]
			to[*place] = k
			*place++
		}
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}
