package tokenizer

import "unicode/utf8"

// wordPiece is BERT's model (Schuster and Nakajima, "Japanese and Korean Voice
// Search", 2012): a word is cut by taking, again and again, the longest piece of
// the vocabulary that the rest begins with; pieces inside a word carry a prefix.
// A word that cannot be cut so becomes one unknown token.
type wordPiece struct {
	pieces   *lexicon
	ids      []int32 // by index in pieces
	prefix   []byte  // of pieces inside a word
	hash     uint64  // of prefix
	unknown  int32
	maxRunes int // longer words are unknown
	tokens   int
}

func (m *wordPiece) find(token string) int32 {
	if index := m.pieces.find([]byte(token)); index != noToken {
		return m.ids[index]
	}
	return noToken
}

func (m *wordPiece) size() int { return m.tokens }

func (m *wordPiece) tokenize(dst []piece, w *workspace, word []byte) []piece {
	unknown := piece{m.unknown, int32(len(word))}
	if utf8.RuneCount(word) > m.maxRunes {
		return append(dst, unknown)
	}
	w.decode(word)
	first := len(dst)
	for i := 0; i < len(w.runes); {
		index, next := m.longest(w, word, i)
		if index == noToken {
			return append(dst[:first], unknown)
		}
		dst = append(dst, piece{m.ids[index], w.ends[next-1]})
		i = next
	}
	return dst
}

// longest returns the longest piece that the word begins with at rune i, and the
// rune it ends before.
func (m *wordPiece) longest(w *workspace, word []byte, i int) (index int32, next int) {
	index = noToken
	start, hash := w.start(i), uint64(0)
	var prefix []byte
	if i > 0 {
		prefix, hash = m.prefix, m.hash
	}
	for j := i; j < len(w.runes) && (j == 0 || m.pieces.begins(hash)); j++ {
		hash = extend(hash, w.runes[j])
		if found := m.pieces.exact(hash, prefix, word[start:w.ends[j]]); found != noToken {
			index, next = found, j+1
		}
	}
	return index, next
}

// readWordPiece reads the model of a tokenizer file.
func readWordPiece(r *jsonReader) model {
	m := &wordPiece{}
	var unknown string
	var hasUnknown, hasPrefix, hasMax bool
	r.object(func(field string) {
		switch field {
		case "unk_token":
			unknown, hasUnknown = r.text(), true
		case "continuing_subword_prefix":
			m.prefix, hasPrefix = []byte(r.text()), true
		case "max_input_chars_per_word":
			m.maxRunes, hasMax = int(r.id()), true
		case "vocab":
			m.pieces, m.ids, m.tokens = readVocab(r)
		default:
			r.skip()
		}
	})
	r.require(hasUnknown, "unk_token")
	r.require(hasPrefix, "continuing_subword_prefix")
	r.require(hasMax, "max_input_chars_per_word")
	r.require(m.pieces != nil, "vocab")
	if r.err != nil {
		return nil
	}
	if m.unknown = m.find(unknown); m.unknown == noToken {
		r.fail("unk_token %q is not in the vocabulary", shorten(unknown))
	}
	m.hash = hashOf(m.prefix)
	return m
}

// readVocab reads an object of tokens and ids; it counts a repeated token once.
func readVocab(r *jsonReader) (pieces *lexicon, ids []int32, tokens int) {
	pieces = newLexicon(min((len(r.data)-r.pos)/20, 1<<22))
	r.object(func(token string) {
		id := r.id()
		if r.err != nil {
			return
		}
		if pieces.add(token) {
			tokens++
		}
		ids = append(ids, id)
	})
	return pieces, ids, tokens
}
