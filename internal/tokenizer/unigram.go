package tokenizer

import (
	"fmt"
	"math"
	"slices"
)

// unknownPenalty is how far below the worst piece an unknown rune scores
// (sentencepiece's kUnkPenalty).
const unknownPenalty = 10

// unigram is the language model of Kudo, "Subword Regularization" (2018): of all
// ways to cut a word into pieces it takes the one with the greatest sum of
// scores (log probabilities), found by the Viterbi algorithm.
type unigram struct {
	pieces  *lexicon
	scores  []float64 // by id; summed in 64 bits, left to right, as the Rust library does
	unknown int32
	penalty float64 // score of an unknown rune
	bytes   []int32 // ids of <0x00>…<0xFF> when unknown text falls back to bytes, else nil
}

// path is the best way to cut the word up to some rune.
type path struct {
	score float64
	from  int32 // rune at which the last piece begins; noPath before any way is found
	id    int32
}

const noPath = -1

// init finishes a model once all its pieces are added.
func (m *unigram) init(unknown int32) error {
	if len(m.scores) == 0 || int(unknown) >= len(m.scores) {
		return fmt.Errorf("the unknown token %d is not one of the %d pieces", unknown, len(m.scores))
	}
	m.unknown = unknown
	m.penalty = slices.Min(m.scores) - unknownPenalty
	return nil
}

// add appends a piece to the vocabulary. Of two equal pieces the later counts.
func (m *unigram) add(piece string, score float64) {
	m.pieces.add(piece)
	m.scores = append(m.scores, score)
}

// fallBackToBytes makes unknown text come out as byte tokens, when there is one
// for each of its bytes.
func (m *unigram) fallBackToBytes() {
	m.bytes = make([]int32, 256)
	for b := range m.bytes {
		m.bytes[b] = m.find(fmt.Sprintf("<0x%02X>", b))
	}
}

func (m *unigram) find(token string) int32 { return m.pieces.find([]byte(token)) }

func (m *unigram) size() int { return len(m.scores) }

func (m *unigram) tokenize(dst []piece, w *workspace, word []byte) []piece {
	w.decode(word)
	first := len(dst)
	if !m.pieces.ambiguous {
		m.search(w, word, false)
		var ok bool
		if dst, ok = m.trace(dst, w, word); ok {
			return dst
		}
	}
	// Some candidate is not the text it was taken for, and the best way may go
	// elsewhere: search again among pieces that are what they seem.
	m.search(w, word, true)
	dst, _ = m.trace(dst[:first], w, word)
	return dst
}

// search fills w.paths: paths[i] is the best path to the end of rune i-1. Of two
// paths with one score the first found wins, the one whose last piece is longest.
// Unless exact, pieces of several runes are candidates not yet compared with the
// text. A best path without a false one among its pieces is the best of all.
func (m *unigram) search(w *workspace, word []byte, exact bool) {
	runes, pieces := w.runes, m.pieces
	w.paths = append(w.paths[:0], path{})
	for range runes {
		w.paths = append(w.paths, path{from: noPath})
	}
	for i, r := range runes {
		score, hash := w.paths[i].score, extend(0, r)
		if id := pieces.rune(r, hash); id != noToken {
			w.paths[i+1].offer(m.scores[id]+score, i, id)
		} else {
			w.paths[i+1].offer(m.penalty+score, i, m.unknown)
		}
		for j := i + 1; j < len(runes) && pieces.begins(hash); j++ {
			hash = extend(hash, runes[j])
			id := pieces.candidate(hash)
			if exact && id != noToken {
				id = pieces.exact(hash, nil, word[w.start(i):w.ends[j]])
			}
			if id != noToken {
				w.paths[j+1].offer(m.scores[id]+score, i, id)
			}
		}
	}
}

// trace appends the best path to the end of the word. It reports whether each
// piece is the text it stands for.
func (m *unigram) trace(dst []piece, w *workspace, word []byte) ([]piece, bool) {
	first, ok := len(dst), true
	for i := len(w.runes); i > 0; {
		from := int(w.paths[i].from)
		id := w.paths[i].id
		if id == m.unknown {
			// Neighbouring unknown pieces are one.
			for from > 0 && w.paths[from].id == m.unknown {
				from = int(w.paths[from].from)
			}
			dst = m.appendUnknown(dst, w, word, from, i)
		} else {
			ok = ok && m.pieces.is(id, word[w.start(from):w.ends[i-1]])
			dst = append(dst, piece{id, w.ends[i-1]})
		}
		i = from
	}
	slices.Reverse(dst[first:])
	return dst, ok
}

func (p *path) offer(score float64, from int, id int32) {
	if p.from == noPath || score > p.score {
		*p = path{score, int32(from), id}
	}
}

// appendUnknown appends, last piece first, what stands for runes[from:to], none
// of which the search could place.
func (m *unigram) appendUnknown(dst []piece, w *workspace, word []byte, from, to int) []piece {
	end := w.ends[to-1]
	text := word[w.start(from):end]
	if id := m.pieces.find(text); id != noToken {
		return append(dst, piece{id, end})
	}
	if m.bytes == nil || slices.ContainsFunc(text, func(b byte) bool { return m.bytes[b] == noToken }) {
		return append(dst, piece{m.unknown, end})
	}
	for _, b := range slices.Backward(text) {
		dst = append(dst, piece{m.bytes[b], end})
	}
	return dst
}

// readUnigram reads the model of a tokenizer file.
func readUnigram(r *jsonReader) model {
	m := &unigram{}
	unknown, known, fallback := int32(0), false, false
	r.object(func(field string) {
		switch field {
		case "unk_id":
			if known = !r.null(); known {
				unknown = r.id()
			}
		case "byte_fallback":
			fallback = r.boolean()
		case "vocab":
			m.readPieces(r)
		default:
			r.skip()
		}
	})
	r.require(m.pieces != nil, "vocab")
	if !known {
		r.fail("a Unigram model without unk_id is not supported")
	}
	if r.err != nil {
		return nil
	}
	if err := m.init(unknown); err != nil {
		r.fail("%v", err)
	}
	if fallback {
		m.fallBackToBytes()
	}
	return m
}

func (m *unigram) readPieces(r *jsonReader) {
	// A piece takes at least 6 bytes of the file, about 70 in real ones.
	m.pieces = newLexicon(min((len(r.data)-r.pos)/80, 1<<22))
	m.scores = nil
	r.array(func(i int) {
		if i == math.MaxInt32 {
			r.fail("too many pieces")
			return
		}
		var piece string
		fields := 0
		r.array(func(i int) {
			switch fields++; i {
			case 0:
				piece = r.text()
			case 1:
				m.add(piece, r.float())
			default:
				r.fail("a piece is a pair of text and score")
			}
		})
		if r.err == nil && fields != 2 {
			r.fail("a piece is a pair of text and score")
		}
	})
}
