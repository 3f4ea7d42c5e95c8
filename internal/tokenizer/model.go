package tokenizer

import "unicode/utf8"

// piece is one token of a word. It begins where the piece before it ended.
type piece struct {
	id  int32
	end int32 // byte in the word at which the piece ends
}

// model cuts a word, which is never empty and is valid UTF-8, into pieces.
type model interface {
	// tokenize appends the pieces of word to dst. The workspace is the caller's
	// alone for the time of the call.
	tokenize(dst []piece, w *workspace, word []byte) []piece
	// find returns the id of a token of the vocabulary, noToken for none.
	find(token string) int32
	// size returns how many different tokens the vocabulary has.
	size() int
}

// workspace is the scratch memory of models.
type workspace struct {
	runes []rune
	ends  []int32 // ends[i]: byte at which runes[i] ends
	paths []path
}

// decode spreads word into w.runes and w.ends.
func (w *workspace) decode(word []byte) {
	w.runes, w.ends = w.runes[:0], w.ends[:0]
	for i := 0; i < len(word); {
		r, size := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(word[i:])
		}
		i += size
		w.runes = append(w.runes, r)
		w.ends = append(w.ends, int32(i))
	}
}

// start returns the byte at which rune i of the decoded word begins.
func (w *workspace) start(i int) int32 {
	if i == 0 {
		return 0
	}
	return w.ends[i-1]
}
