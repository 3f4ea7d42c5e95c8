package text

import (
	"encoding/binary"
	"sync"
	"unicode/utf8"

	"raglab/internal/param"
)

// options are what the kinds of this factor let a user choose.
type options struct {
	characters, letters, joiners string
	stop                         []string
	minLength, cut               int
}

// words is the analyzer behind every kind of this factor. Characters are looked
// up in a table; where one cannot be judged alone, the piece of text between
// white space around it takes the long way by [rules.fold].
type words struct {
	rules     rules
	table     func() *entryTable // made at first use: many analyzers are only checked
	stop      map[string]struct{}
	minLength int
	cut       int  // letters kept of a word; 0 means all
	all       bool // every word is kept whole
	scratch   sync.Pool
}

// scratch is the memory that one call of Terms uses.
type scratch struct {
	term   []byte // room for at least four more bytes than the term
	folded []byte
	spare  [2][]byte
}

// grow doubles the room for a term, keeping what is written.
func (sc *scratch) grow() []byte {
	sc.term = append(sc.term, make([]byte, len(sc.term))...)
	return sc.term
}

func newScratch() *scratch { return &scratch{term: make([]byte, 64)} }

func newWords(r rules, o options) (*words, error) {
	r.makesWord, r.joiners = wordCharacters(o.characters, o.letters), o.joiners
	if err := r.checkLetters(o.letters); err != nil {
		return nil, err
	}
	for _, c := range o.joiners {
		if c <= ' ' || r.makesWord(c) {
			return nil, param.Errorf("joiners", "%q cannot join words: it makes them or is white space", c)
		}
	}
	w := &words{rules: r, table: sync.OnceValue(r.table)}
	w.scratch.New = func() any { return newScratch() }
	stop, err := r.stopWords(o.stop)
	if err != nil {
		return nil, err
	}
	w.stop, w.minLength, w.cut = stop, o.minLength, o.cut
	w.all = len(stop) == 0 && o.minLength <= 1 && o.cut == 0
	return w, nil
}

// checkLetters refuses characters that no folded text holds.
func (r *rules) checkLetters(letters string) error {
	var spare [2][]byte
	for _, c := range letters {
		if c <= ' ' {
			return param.Errorf("letters", "%q is white space", c)
		}
		if folded := string(r.fold(nil, string(c), &spare)); folded != string(c) {
			return param.Errorf("letters", "%q never occurs: it is read as %q", c, folded)
		}
	}
	return nil
}

// stopWords folds a stop list as text is folded.
func (r *rules) stopWords(list []string) (map[string]struct{}, error) {
	stop, sc := make(map[string]struct{}, len(list)), newScratch()
	w := words{rules: *r, all: true}
	for _, s := range list {
		n := 0
		w.foldedTerms(s, 0, sc, func(term []byte) {
			stop[string(term)] = struct{}{}
			n++
		})
		if n != 1 {
			return nil, param.Errorf("stop", "%q is %d words, not one", s, n)
		}
	}
	return stop, nil
}

// Terms implements [Analyzer].
func (w *words) Terms(s string, emit func(term []byte)) {
	sc := w.scratch.Get().(*scratch)
	defer w.scratch.Put(sc)
	var (
		table = w.table()
		buf   = sc.term
		n     = 0  // length of the term so far
		mark  = -1 // its length before a joiner that awaits a letter, or -1
		start = 0  // where the piece between white space began
		done  = 0  // words found in that piece
	)
	for i := 0; i < len(s); {
		var e entry
		c := s[i]
		switch {
		case c < utf8.RuneSelf:
			e = table[c]
			i++
		case c < 0xE0 && c >= 0xC2 && i+1 < len(s) && s[i+1]&0xC0 == 0x80:
			e = table[uint32(c&0x1F)<<6|uint32(s[i+1]&0x3F)]
			i += 2
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			e = w.entry(table, r, sc)
			i += size
		}
		switch class := e.class(); {
		case class == word:
			if n+4 > len(buf) {
				buf = sc.grow()
			}
			binary.LittleEndian.PutUint32(buf[n:], uint32(e))
			n += e.size()
			mark = -1
			continue
		case class == joiner && n > 0 && mark < 0:
			if n+4 > len(buf) {
				buf = sc.grow()
			}
			binary.LittleEndian.PutUint32(buf[n:], uint32(e))
			mark = n
			n += e.size()
			continue
		case class == special:
			end := pieceEnd(s, i)
			w.foldedTerms(s[start:end], done, sc, emit)
			buf = sc.term
			i, start, n, mark, done = end, end, 0, -1, 0
			continue
		}
		if mark >= 0 {
			n, mark = mark, -1
		}
		if n > 0 {
			w.keep(buf[:n], emit)
			n = 0
			done++
		}
		if c <= ' ' {
			start, done = i, 0
		}
	}
	if mark >= 0 {
		n = mark
	}
	if n > 0 {
		w.keep(buf[:n], emit)
	}
}

// entry looks up a character of three or four bytes.
func (w *words) entry(table *entryTable, r rune, sc *scratch) entry {
	switch {
	case r < tableSize:
		return table[r]
	case r == utf8.RuneError:
		return newEntry(separator, nil)
	}
	return w.rules.entry(r, &sc.spare)
}

// pieceEnd returns where the piece of text that reaches to at ends: before the
// next white space in ASCII, which nothing composes with and at which the
// search for the context of a sigma stops.
func pieceEnd(s string, at int) int {
	for at < len(s) && s[at] > ' ' {
		at++
	}
	return at
}

// foldedTerms finds the words of one piece the long way and keeps those after
// the first skip, which have been kept before.
func (w *words) foldedTerms(piece string, skip int, sc *scratch, emit func([]byte)) {
	sc.folded = w.rules.fold(sc.folded[:0], piece, &sc.spare)
	term, mark := sc.term[:0], -1
	end := func() {
		if mark >= 0 {
			term, mark = term[:mark], -1
		}
		if len(term) == 0 {
			return
		}
		if skip--; skip < 0 {
			w.keep(term, emit)
		}
		term = term[:0]
	}
	for s := sc.folded; len(s) > 0; {
		r, size := utf8.DecodeRune(s)
		switch class := w.rules.class(r); {
		case class == word:
			term, mark = append(term, s[:size]...), -1
		case class == joiner && len(term) > 0 && mark < 0:
			mark = len(term)
			if !w.rules.dropped(r) {
				term = append(term, s[:size]...)
			}
		default:
			end()
		}
		s = s[size:]
	}
	end()
	if cap(term) > len(sc.term) {
		sc.term = term[:cap(term)]
	}
}

// keep hands a word on unless it is filtered out, cut as the options say.
func (w *words) keep(term []byte, emit func([]byte)) {
	if w.all {
		emit(term)
		return
	}
	if !w.wanted(term) {
		return
	}
	if w.cut > 0 {
		term = firstRunes(term, w.cut)
	}
	emit(term)
}

// wanted reports whether neither the stop list nor the shortest length keeps a
// word out.
func (w *words) wanted(term []byte) bool {
	if _, stopped := w.stop[string(term)]; stopped {
		return false
	}
	return w.minLength <= 1 || utf8.RuneCount(term) >= w.minLength
}
