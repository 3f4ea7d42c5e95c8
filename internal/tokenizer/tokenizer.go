package tokenizer

import (
	"math"
	"sync"
)

// Tokenizer turns text into token ids. Make one with [Open], [Parse] or
// [NewUnigram]; it may be used by any number of goroutines at once.
type Tokenizer struct {
	plain, normal *addedSet // looked for in the text as it is and as normalized
	normalizers   []normalizer
	splitters     []preTokenizer
	model         model
	templates     templates
	added         map[string]int32
	padID         int32
	track         bool // a splitter asks where in the original it stands
	cache         *wordCache
	pool          sync.Pool // of *scratch
}

// scratch is the memory of one call.
type scratch struct {
	draft     draft
	workspace workspace
	pieces    []piece
	a, b      []int32
}

// maxKeptText is the longest text whose scratch memory is kept for the next.
const maxKeptText = 1 << 20

func (t *Tokenizer) acquire() *scratch { return t.pool.Get().(*scratch) }

func (t *Tokenizer) release(s *scratch) {
	if cap(s.draft.text) <= maxKeptText {
		t.pool.Put(s)
	}
}

// Encode appends the ids of text, with the special tokens of the model around
// them, to dst.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	dst, _ = t.EncodeTruncated(dst, text, math.MaxInt)
	return dst
}

// EncodeTruncated is Encode with at most limit ids: the text's last tokens are
// dropped, the special tokens stay, even when they alone are more than limit. It
// reports whether any token was dropped.
func (t *Tokenizer) EncodeTruncated(dst []int32, text string, limit int) (ids []int32, truncated bool) {
	s := t.acquire()
	defer t.release(s)
	t.prepare(&s.draft, text, t.track)
	room := max(0, limit-t.templates.single.specials())
	for _, part := range t.templates.single {
		dst = append(dst, part.special...)
		if part.text == textA {
			var cut bool
			dst, cut = t.content(dst, s, room)
			truncated = truncated || cut
		}
	}
	return dst, truncated
}

// EncodePair appends the ids of two texts, such as a question and a passage for
// a cross-encoder, to dst, and the type of each id to types.
func (t *Tokenizer) EncodePair(dst, types []int32, a, b string) (ids, typeIDs []int32) {
	ids, typeIDs, _ = t.EncodePairTruncated(dst, types, a, b, math.MaxInt)
	return ids, typeIDs
}

// EncodePairTruncated is EncodePair with at most limit ids: tokens are dropped
// from the end of the longer text until both are of one length, then from both.
// It reports whether any token was dropped.
func (t *Tokenizer) EncodePairTruncated(dst, types []int32, a, b string, limit int) (ids, typeIDs []int32, truncated bool) {
	return t.encodePair(dst, types, a, b, limit, share)
}

// EncodePairSecond is EncodePairTruncated but that tokens are dropped from the end
// of the second text, and from the first only when nothing of the second is left
// (where the Rust library's strategy only_second gives up).
func (t *Tokenizer) EncodePairSecond(dst, types []int32, a, b string, limit int) (ids, typeIDs []int32, truncated bool) {
	return t.encodePair(dst, types, a, b, limit, func(a, b, limit int) (keepA, keepB int) {
		keepA = min(a, limit)
		return keepA, min(b, limit-keepA)
	})
}

// encodePair encodes two texts of which a function says how many tokens to keep.
func (t *Tokenizer) encodePair(dst, types []int32, a, b string, limit int, keep func(a, b, limit int) (int, int)) (ids, typeIDs []int32, truncated bool) {
	s := t.acquire()
	defer t.release(s)
	pair := t.templates.pair
	t.prepare(&s.draft, a, t.track)
	s.a, _ = t.content(s.a[:0], s, math.MaxInt)
	t.prepare(&s.draft, b, t.track)
	s.b, _ = t.content(s.b[:0], s, math.MaxInt)
	keepA, keepB := keep(len(s.a), len(s.b), max(0, limit-pair.specials()))
	for _, part := range pair {
		n := len(dst)
		dst = append(dst, part.special...)
		switch part.text {
		case textA:
			dst = append(dst, s.a[:keepA]...)
		case textB:
			dst = append(dst, s.b[:keepB]...)
		}
		for range dst[n:] {
			types = append(types, part.typeID)
		}
	}
	return dst, types, keepA < len(s.a) || keepB < len(s.b)
}

// share divides limit between texts of a and b tokens as the strategy
// longest_first does; when both are cut, an odd one goes to the longer.
func share(a, b, limit int) (keepA, keepB int) {
	if a > b {
		keepB, keepA = share(b, a, limit)
		return keepA, keepB
	}
	switch {
	case b <= limit-a:
		return a, b
	case a <= limit-a:
		return a, limit - a
	default:
		return limit / 2, limit - limit/2
	}
}

// Count returns how many tokens text has, special ones not counted.
func (t *Tokenizer) Count(text string) int {
	s := t.acquire()
	defer t.release(s)
	t.prepare(&s.draft, text, t.track)
	n := 0
	for _, seg := range s.draft.segments {
		if seg.token != noToken {
			n++
			continue
		}
		n += len(t.pieces(s, seg))
	}
	return n
}

// Offsets returns, for each token of text but the special ones, the bytes of text
// it stands for: as many spans as Count says, in order, not overlapping, on rune
// boundaries, some of them empty. Between them lies what no token stands for,
// white space above all.
func (t *Tokenizer) Offsets(text string) []Span {
	s := t.acquire()
	defer t.release(s)
	t.prepare(&s.draft, text, true)
	var spans []Span
	end := 0
	add := func(from, to int) {
		span := s.draft.originOf(from, to)
		span.Start = max(span.Start, end)
		span.End = max(span.End, span.Start)
		end = span.End
		spans = append(spans, span)
	}
	for _, seg := range s.draft.segments {
		if seg.token != noToken {
			add(seg.from, seg.to)
			continue
		}
		from := seg.from
		for _, p := range t.pieces(s, seg) {
			to := seg.from + int(p.end)
			add(from, to)
			from = to
		}
	}
	return spans
}

// PadID returns the id to fill short rows of a batch with: what the file says,
// else that of the token <pad> or [PAD], else 0.
func (t *Tokenizer) PadID() int32 { return t.padID }

// VocabSize returns how many tokens there are, added ones included.
func (t *Tokenizer) VocabSize() int {
	n := t.model.size()
	for token := range t.added {
		if t.model.find(token) == noToken {
			n++
		}
	}
	return n
}

// ID returns the id of a token as it is written in the vocabulary.
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	if id, ok := t.added[token]; ok {
		return id, true
	}
	id = t.model.find(token)
	return id, id != noToken
}

// prepare takes text through every step before the model.
func (t *Tokenizer) prepare(d *draft, text string, track bool) {
	d.reset(text, track)
	if t.plain != nil {
		d.preTokenize(t.plain)
	}
	for _, n := range t.normalizers {
		d.normalize(n)
	}
	if t.normal != nil {
		d.preTokenize(t.normal)
	}
	for _, p := range t.splitters {
		d.preTokenize(p)
	}
}

// content appends the ids of a prepared text, at most room of them, and reports
// whether there are more.
func (t *Tokenizer) content(dst []int32, s *scratch, room int) (ids []int32, cut bool) {
	limit := room
	if room > math.MaxInt-len(dst) {
		limit = math.MaxInt
	} else {
		limit += len(dst)
	}
	for _, seg := range s.draft.segments {
		if len(dst) > limit {
			break
		}
		if seg.token != noToken {
			dst = append(dst, seg.token)
			continue
		}
		for _, p := range t.pieces(s, seg) {
			dst = append(dst, p.id)
		}
	}
	if len(dst) > limit {
		return dst[:limit], true
	}
	return dst, false
}

// pieces returns the pieces of the word in a segment, until the next call.
func (t *Tokenizer) pieces(s *scratch, seg segment) []piece {
	word := s.draft.text[seg.from:seg.to]
	if t.cache == nil || len(word) > maxCachedWord {
		s.pieces = t.model.tokenize(s.pieces[:0], &s.workspace, word)
		return s.pieces
	}
	hash := t.cache.hash(word)
	if pieces, ok := t.cache.get(hash, word); ok {
		return pieces
	}
	s.pieces = t.model.tokenize(s.pieces[:0], &s.workspace, word)
	t.cache.put(hash, word, s.pieces)
	return s.pieces
}
