package text

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmers are Snowball's algorithms by primary language tag.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem, "ta": tamil.Stem, "tr": turkish.Stem,
}

const (
	// longestStemmed is the letters of the longest word that is stemmed. No
	// language has longer ones, and the time of some algorithms grows with the
	// square of the length.
	longestStemmed = 100
	// rememberedStems is how many words one call at a time remembers: more than
	// the distinct words of most corpora.
	rememberedStems = 1 << 17
)

// stemmer is the analyzer behind the kind snowball.
type stemmer struct {
	words    *words
	language string
	stem     func(*snowballstem.Env) bool

	mu   sync.Mutex
	idle []*stemming
}

// stemming is what one call of Terms uses. It outlives the call: a stem that is
// remembered costs a quarter of one that is found again.
type stemming struct {
	s     *stemmer
	env   *snowballstem.Env
	stems map[string][]byte // nil where the word is its own stem
	arena []byte            // what stems lie in
	take  func(word []byte) // the method word
	emit  func(term []byte)
}

func newStemmer(w *words, language string) *stemmer {
	return &stemmer{words: w, language: language, stem: stemmers[language]}
}

// Terms implements [Analyzer].
func (s *stemmer) Terms(text string, emit func(term []byte)) {
	k := s.borrow()
	k.emit = emit
	s.words.Terms(text, k.take)
	k.emit = nil
	s.mu.Lock()
	s.idle = append(s.idle, k)
	s.mu.Unlock()
}

// borrow returns memory that no other call uses. There is as much of it as there
// were calls at once.
func (s *stemmer) borrow() *stemming {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		k := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return k
	}
	k := &stemming{s: s, env: snowballstem.NewEnv(""), stems: map[string][]byte{}}
	k.take = k.word
	return k
}

// word hands on the stem of a word.
func (k *stemming) word(word []byte) {
	stem, known := k.stems[string(word)]
	if !known {
		stem = k.find(word)
	}
	if stem == nil {
		stem = word
	}
	k.emit(stem)
}

// stems reports whether a word is stemmed at all. The Danish and the Finnish
// algorithm make one of two equal consonants at the end, and in this port take
// digits for such.
func (s *stemmer) stems(word []byte) bool {
	if (s.language == "da" || s.language == "fi") && bytes.ContainsAny(word, "0123456789") {
		return false
	}
	return len(word) <= longestStemmed || utf8.RuneCount(word) <= longestStemmed
}

// find stems a word and remembers the result.
func (k *stemming) find(word []byte) []byte {
	if !k.s.stems(word) {
		return nil
	}
	if len(k.stems) == rememberedStems {
		clear(k.stems)
		k.arena = nil
	}
	key := string(word)
	read := key
	if k.s.language == "ro" {
		read = string(withCedilla(word))
	}
	k.env.SetCurrent(read)
	k.s.stem(k.env)
	var stem []byte
	if found := k.env.Current(); found != "" && found != key {
		stem = k.keep(found)
	}
	k.stems[key] = stem
	return stem
}

// keep copies a stem to where it may stay.
func (k *stemming) keep(stem string) []byte {
	const block = 1 << 14
	if cap(k.arena)-len(k.arena) < len(stem) {
		k.arena = make([]byte, 0, max(block, len(stem)))
	}
	start := len(k.arena)
	k.arena = append(k.arena, stem...)
	return k.arena[start:len(k.arena):len(k.arena)]
}

// withCedilla returns a Romanian word with the letters that its stemmer knows.
func withCedilla(word []byte) []byte {
	word = bytes.ReplaceAll(word, []byte("ș"), []byte("ş"))
	return bytes.ReplaceAll(word, []byte("ț"), []byte("ţ"))
}
