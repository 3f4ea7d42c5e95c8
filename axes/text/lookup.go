package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookup is what one call of a [lemmatizer] counts, and memory that calls share.
type lookup struct {
	l              *lemmatizer
	lexicon        *lexicon
	take           func(word []byte) // the method word
	emit           func(term []byte)
	words, unknown int

	lowered, name, spelled, key []byte
}

// word takes a word as it stands in the text. Most are found like that, and then
// need not be brought into lower case.
func (k *lookup) word(word []byte) {
	tried := k.l.plain.all && !k.l.lowerFirst
	id, found := 0, false
	if tried {
		if id, found = k.lexicon.Lookup(word); found && k.terms(id) {
			return
		}
	}
	lowered, apostrophe := k.l.lower(k.lowered[:0], word)
	k.lowered = lowered
	switch {
	case apostrophe:
		k.spellings(word)
	case tried:
		if !found {
			id, found = k.recased(word, lowered)
		}
		k.give(id, found)
	case k.l.plain.wanted(lowered):
		id, found = k.find(word, lowered)
		k.give(id, found)
	}
}

// spellings looks a word up under every apostrophe. One that is not found goes
// part by part.
func (k *lookup) spellings(word []byte) {
	id, found := k.find(word, k.lowered)
	for _, mark := range variants {
		if found {
			break
		}
		k.spelled = straighten(k.spelled[:0], word, mark)
		k.key = straighten(k.key[:0], k.lowered, mark)
		if !bytes.Equal(k.spelled, word) {
			id, found = k.find(k.spelled, k.key)
		}
	}
	if !found && k.parts(word) {
		return
	}
	k.key = straighten(k.key[:0], k.lowered, straight)
	if k.l.plain.wanted(k.key) {
		k.give(id, found)
	}
}

// parts takes the parts of a word between the apostrophes at which words part.
// False means that there are none.
func (k *lookup) parts(word []byte) bool {
	start := 0
	for i := 0; i < len(word); {
		c, size := utf8.DecodeRune(word[i:])
		if isApostrophe(c) && strings.ContainsRune(k.l.parted, c) {
			k.word(word[start:i])
			start = i + size
		}
		i += size
	}
	if start == 0 {
		return false
	}
	k.word(word[start:])
	return true
}

// find looks a word up in one spelling: as it is, in lower case, as a name.
func (k *lookup) find(word, lowered []byte) (id int, found bool) {
	if !k.l.lowerFirst {
		if id, found = k.lexicon.Lookup(word); found {
			return id, true
		}
	}
	return k.recased(word, lowered)
}

// recased looks a word up that is not found as it is.
func (k *lookup) recased(word, lowered []byte) (id int, found bool) {
	if k.l.lowerFirst || !bytes.Equal(word, lowered) {
		if id, found = k.lexicon.Lookup(lowered); found {
			return id, true
		}
	}
	first, size := utf8.DecodeRune(lowered)
	capital := k.l.capital(first)
	if capital == first {
		return 0, false
	}
	k.name = append(utf8.AppendRune(k.name[:0], capital), lowered[size:]...)
	return k.lexicon.Lookup(k.name)
}

// give hands on the terms of a lemma or, when there are none, the word itself in
// lower case.
func (k *lookup) give(id int, found bool) {
	switch {
	case found && k.terms(id):
		return
	case found:
		k.words++
	case hasLetter(k.lowered):
		k.words++
		k.unknown++
	}
	k.emit(k.lowered)
}

// terms hands on the terms of a lemma. False means that there are none.
func (k *lookup) terms(id int) bool {
	terms := k.lexicon.of(id)
	if len(terms) == 0 {
		return false
	}
	k.words++
	for len(terms) > 0 {
		end := bytes.IndexByte(terms, ' ')
		k.emit(terms[:end:end])
		terms = terms[end+1:]
	}
	return true
}

func hasLetter(word []byte) bool {
	c, _ := utf8.DecodeRune(word)
	return unicode.IsLetter(c) || bytes.ContainsFunc(word, unicode.IsLetter)
}

// capital returns the capital of a letter in the language's casing.
func (l *lemmatizer) capital(c rune) rune {
	if l.plain.rules.turkic && c == 'i' {
		return 'İ'
	}
	return unicode.ToTitle(c)
}
