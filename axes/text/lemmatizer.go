package text

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"raglab/internal/lemma"
)

// lemmatizer is the analyzer behind the kind lemma. Words are found by two sets
// of rules that see the same words: one keeps their capitals, the other is for
// what they are in lower case.
type lemmatizer struct {
	cased, plain *words
	parted       string // apostrophes at which a word that is not found parts
	lowerFirst   bool   // words are looked up in lower case, not as typed

	load    func(context.Context) (*lemma.Dictionary, error)
	opening sync.Mutex
	lexicon atomic.Pointer[lexicon] // nil before Open
	lookups sync.Pool
}

// lexicon is a dictionary and what its lemmas become as terms.
type lexicon struct {
	*lemma.Dictionary
	terms []byte   // of all lemmas, each followed by a blank
	ends  []uint32 // of the terms of each lemma
}

// newLemmatizer makes an analyzer for rules and options of the kind simple. The
// dictionary is loaded when it is opened.
func newLemmatizer(r rules, o options, lowerFirst bool, load func(context.Context) (*lemma.Dictionary, error)) (Analyzer, error) {
	l := &lemmatizer{lowerFirst: lowerFirst, load: load}
	makesWord := wordCharacters(o.characters, o.letters)
	for _, c := range apostrophes {
		if !makesWord(c) && !strings.ContainsRune(o.joiners, c) {
			l.parted += string(c)
		}
	}
	stop := make([]string, len(o.stop))
	for i, s := range o.stop {
		stop[i] = string(straighten(nil, []byte(s), straight))
	}
	o.stop = stop
	o.joiners += l.parted
	var err error
	if l.plain, err = newWords(r, o); err != nil {
		return nil, err
	}
	r.cased = true
	o.stop, o.minLength = nil, 1
	if l.cased, err = newWords(r, o); err != nil {
		return nil, err
	}
	l.lookups.New = func() any {
		k := &lookup{l: l}
		k.take = k.word
		return k
	}
	return l, nil
}

// Open implements [Opener].
func (l *lemmatizer) Open(ctx context.Context) error {
	if l.lexicon.Load() != nil {
		return nil
	}
	l.opening.Lock()
	defer l.opening.Unlock()
	if l.lexicon.Load() != nil {
		return nil
	}
	d, err := l.load(ctx)
	if err != nil {
		return err
	}
	l.lexicon.Store(l.newLexicon(d))
	return nil
}

// newLexicon takes the lemmas apart by the rules that text is taken apart by.
func (l *lemmatizer) newLexicon(d *lemma.Dictionary) *lexicon {
	x := &lexicon{Dictionary: d, ends: make([]uint32, d.Lemmas())}
	var lowered []byte
	add := func(word []byte) {
		lowered, _ = l.lower(lowered[:0], word)
		x.terms = append(straighten(x.terms, lowered, straight), ' ')
	}
	for id := range x.ends {
		l.cased.Terms(string(d.Lemma(id)), add)
		x.ends[id] = uint32(len(x.terms))
	}
	return x
}

// of returns the terms of a lemma, each followed by a blank.
func (x *lexicon) of(id int) []byte {
	start := uint32(0)
	if id > 0 {
		start = x.ends[id-1]
	}
	return x.terms[start:x.ends[id]]
}

// Terms implements [Analyzer].
func (l *lemmatizer) Terms(s string, emit func(term []byte)) { l.run(s, emit) }

// Unknown implements [Counter].
func (l *lemmatizer) Unknown(s string) (words, unknown int) { return l.run(s, func([]byte) {}) }

// Memory implements [Counter].
func (l *lemmatizer) Memory() int {
	x := l.opened()
	return x.Bytes() + cap(x.terms) + 4*cap(x.ends)
}

func (l *lemmatizer) opened() *lexicon {
	x := l.lexicon.Load()
	if x != nil {
		return x
	}
	if err := l.Open(context.Background()); err != nil {
		panic(fmt.Sprintf("text: lemma is used without having been opened: %v", err))
	}
	return l.lexicon.Load()
}

func (l *lemmatizer) run(s string, emit func(term []byte)) (words, unknown int) {
	k := l.lookups.Get().(*lookup)
	k.lexicon, k.emit, k.words, k.unknown = l.opened(), emit, 0, 0
	l.cased.Terms(s, k.take)
	words, unknown = k.words, k.unknown
	k.emit = nil
	l.lookups.Put(k)
	return words, unknown
}

// lower appends a word in lower case and tells whether it holds an apostrophe.
func (l *lemmatizer) lower(dst, word []byte) (lowered []byte, apostrophe bool) {
	table := l.plain.table()
	for i := 0; i < len(word); {
		c, size := rune(word[i]), 1
		switch {
		case c < utf8.RuneSelf:
		case c < 0xE0: // words are valid UTF-8
			c, size = c&0x1F<<6|rune(word[i+1]&0x3F), 2
		default:
			c, size = utf8.DecodeRune(word[i:])
		}
		i += size
		if e := table[min(c, tableSize-1)]; c < tableSize && e.size() > 0 {
			dst = append(dst, byte(e), byte(e>>8), byte(e>>16))[:len(dst)+e.size()]
		} else {
			dst = utf8.AppendRune(dst, l.plain.rules.lowerRune(c))
		}
		apostrophe = apostrophe || isApostrophe(c)
	}
	return dst, apostrophe
}
