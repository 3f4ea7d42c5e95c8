package tokenizer

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// AddedToken is a token that is looked for in the text itself, before the model
// sees it: "[SEP]", "<mask>".
type AddedToken struct {
	Content    string
	SingleWord bool // only where no word character stands next to it
	StripLeft  bool // takes the white space before it too
	StripRight bool // takes the white space after it too
	Normalized bool // looked for in the normalized text, by its normalized form
	Special    bool
}

// addedSet cuts added tokens out of segments: leftmost first, the longest of
// those that begin at one place.
type addedSet struct {
	tokens []addedPattern
	first  [256][]int32 // by first byte: the tokens that begin with it, longest first
	single int          // the one first byte all share, -1 when they differ
	word   *runeSet
}

type addedPattern struct {
	AddedToken
	pattern []byte
	id      int32
}

// newAddedSet returns nil for no tokens.
func newAddedSet(tokens []addedPattern) *addedSet {
	if len(tokens) == 0 {
		return nil
	}
	slices.SortStableFunc(tokens, func(a, b addedPattern) int { return len(b.pattern) - len(a.pattern) })
	s := &addedSet{tokens: tokens, single: int(tokens[0].pattern[0]), word: wordRunes()}
	for i, t := range tokens {
		first := t.pattern[0]
		s.first[first] = append(s.first[first], int32(i))
		if int(first) != s.single {
			s.single = -1
		}
	}
	return s
}

func (s *addedSet) preTokenize(d *draft, from, to int) {
	start := from // what lies before is dealt with
	for i := s.seek(d.text[:to], from); i < to; i = s.seek(d.text[:to], i) {
		t := s.match(d.text[i:to])
		if t == nil {
			i++
			continue
		}
		tokenFrom, tokenTo := i, i+len(t.pattern)
		i = tokenTo
		if t.SingleWord && !s.alone(d.text[from:tokenFrom], d.text[tokenTo:to]) {
			continue
		}
		if t.StripLeft {
			tokenFrom = from + len(bytes.TrimRightFunc(d.text[from:tokenFrom], unicode.IsSpace))
		}
		if t.StripRight {
			tokenTo = to - len(bytes.TrimLeftFunc(d.text[tokenTo:to], unicode.IsSpace))
		}
		tokenFrom = max(tokenFrom, start)
		if tokenFrom >= tokenTo {
			continue
		}
		d.emit(start, tokenFrom)
		d.nextSegments = append(d.nextSegments, segment{tokenFrom, tokenTo, t.id})
		start = tokenTo
	}
	d.emit(start, to)
}

// seek returns the next place from i on where a token may begin.
func (s *addedSet) seek(text []byte, i int) int {
	if s.single >= 0 {
		if at := bytes.IndexByte(text[i:], byte(s.single)); at >= 0 {
			return i + at
		}
		return len(text)
	}
	for i < len(text) && s.first[text[i]] == nil {
		i++
	}
	return i
}

// match returns the longest token that text begins with.
func (s *addedSet) match(text []byte) *addedPattern {
	for _, i := range s.first[text[0]] {
		if t := &s.tokens[i]; bytes.HasPrefix(text, t.pattern) {
			return t
		}
	}
	return nil
}

// alone reports whether no word character ends before or begins after.
func (s *addedSet) alone(before, after []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	next, _ := utf8.DecodeRune(after)
	return (len(before) == 0 || !s.word.has(last)) && (len(after) == 0 || !s.word.has(next))
}

// readAdded reads the field "added_tokens".
func readAdded(r *jsonReader) []AddedToken {
	var tokens []AddedToken
	if r.null() {
		return nil
	}
	r.array(func(int) {
		var t AddedToken
		seen := false
		r.object(func(field string) {
			switch field {
			case "content":
				t.Content, seen = r.text(), true
			case "single_word":
				t.SingleWord = r.boolean()
			case "lstrip":
				t.StripLeft = r.boolean()
			case "rstrip":
				t.StripRight = r.boolean()
			case "normalized":
				t.Normalized = r.boolean()
			case "special":
				t.Special = r.boolean()
			case "id":
				r.id()
			default:
				r.skip()
			}
		})
		r.require(seen, "content")
		tokens = append(tokens, t)
	})
	return tokens
}

// addTokens gives each added token its id: the model's own when it has one, else
// the next free one, as the Rust library does (which does not take the file's).
func (t *Tokenizer) addTokens(tokens []AddedToken) {
	t.added = make(map[string]int32, len(tokens))
	last := make(map[string]AddedToken, len(tokens))
	next := int32(t.model.size())
	var order []string
	for _, token := range tokens {
		if token.Content == "" {
			continue
		}
		last[token.Content] = token
		if _, ok := t.added[token.Content]; ok {
			continue
		}
		id := t.model.find(token.Content)
		if id == noToken {
			id = next
			next++
		}
		t.added[token.Content] = id
		order = append(order, token.Content)
	}
	var plain, normalized []addedPattern
	for _, content := range order {
		p := addedPattern{last[content], []byte(content), t.added[content]}
		if !p.Normalized {
			plain = append(plain, p)
			continue
		}
		if p.pattern = t.normalized(content); len(p.pattern) > 0 {
			normalized = append(normalized, p)
		}
	}
	t.plain, t.normal = newAddedSet(plain), newAddedSet(normalized)
}

// normalized returns text as the normalizer leaves it.
func (t *Tokenizer) normalized(text string) []byte {
	var d draft
	d.reset(text, false)
	for _, n := range t.normalizers {
		d.normalize(n)
	}
	return d.text
}
