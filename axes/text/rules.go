package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// rules say what becomes of a character, alone and in its neighbourhood. They
// are the definition; [entryTable] is the same precomputed.
type rules struct {
	turkic bool // I and İ are the capitals of ı and i
	strip  bool // without nonspacing marks, ґ as г, apostrophes dropped
	cased  bool // words are what they are without, but keep their capitals

	makesWord func(rune) bool
	joiners   string
}

// turkic reports whether a BCP 47 tag names a language with dotted and dotless i.
func turkic(language string) bool {
	primary, _, _ := strings.Cut(strings.ToLower(language), "-")
	return primary == "tr" || primary == "az"
}

// wordCharacters returns the predicate that a value of the parameter characters
// and further letters stand for.
func wordCharacters(characters, letters string) func(rune) bool {
	var base func(rune) bool
	switch characters {
	case "ascii":
		base = func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }
	case "alnum":
		base = func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	default:
		base = func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
	}
	if letters == "" {
		return base
	}
	return func(r rune) bool { return base(r) || strings.ContainsRune(letters, r) }
}

// class is the part that a folded character plays in the search for words.
type class uint32

const (
	separator class = iota
	word            // makes words
	joiner          // belongs to a word when it stands alone between two of word
	special         // cannot be judged alone
)

// class returns the part that the folded character c plays.
func (r *rules) class(c rune) class {
	if r.cased {
		c = r.lowerRune(c)
	}
	switch {
	case r.strip && strings.ContainsRune(apostrophes, c):
		return joiner
	case r.makesWord(c):
		return word
	case c != utf8.RuneError && strings.ContainsRune(r.joiners, c):
		return joiner
	}
	return separator
}

// dropped reports whether the folded character c, a joiner, leaves no trace in
// the word that it joins.
func (r *rules) dropped(c rune) bool {
	return r.strip && strings.ContainsRune(apostrophes, c)
}

// fold appends s in form C, in lower case and, if the rules say so, without
// marks. The spare buffers are used for what lies between and returned grown.
func (r *rules) fold(dst []byte, s string, spare *[2][]byte) []byte {
	composed := norm.NFC.AppendString(spare[0][:0], s)
	spare[0] = composed
	if !r.strip {
		return r.lower(dst, composed)
	}
	lowered := r.lower(spare[1][:0], composed)
	spare[1] = lowered
	return stripMarks(dst, lowered, spare)
}

// lower appends s in lower case: the full mapping of the Unicode Standard,
// section 3.13, with the condition Final_Sigma, after the language's own pairs.
// If the rules keep capitals, only what the mapping does beyond single
// characters is done, so that words begin and end where they would.
func (r *rules) lower(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			dst = append(dst, s[i])
		case c == 'Σ' && finalSigma(s[:i], s[i+size:]):
			dst = append(dst, "ς"...)
		case c == 'İ' && !r.turkic && r.cased:
			dst = append(dst, "I\u0307"...)
		case c == 'İ' && !r.turkic:
			dst = append(dst, "i\u0307"...)
		case r.cased:
			dst = append(dst, s[i:i+size]...)
		default:
			dst = utf8.AppendRune(dst, r.lowerRune(c))
		}
		i += size
	}
	return dst
}

// lowerRune is the part of lower that looks at one character alone.
func (r *rules) lowerRune(c rune) rune {
	if r.turkic {
		switch c {
		case 'I':
			return 'ı'
		case 'İ':
			return 'i'
		}
	}
	return unicode.ToLower(c)
}

// finalSigma reports whether a capital sigma between before and after ends a
// word: a cased letter precedes it and none follows, not counting characters
// that case ignores.
func finalSigma(before, after []byte) bool {
	for {
		c, size := utf8.DecodeLastRune(before)
		if size == 0 {
			return false
		}
		before = before[:len(before)-size]
		if !caseIgnorable(c) {
			if !cased(c) {
				return false
			}
			break
		}
	}
	for len(after) > 0 {
		c, size := utf8.DecodeRune(after)
		if !caseIgnorable(c) {
			return !cased(c)
		}
		after = after[size:]
	}
	return true
}

// cased is the derived property Cased.
func cased(c rune) bool {
	return unicode.In(c, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is the derived property Case_Ignorable: marks, format
// characters, modifiers, and what Unicode's word breaking calls MidLetter,
// MidNumLet and Single_Quote.
func caseIgnorable(c rune) bool {
	return unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune(":·\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"+".‘’\u2024\ufe52\uff07\uff0e"+"'", c)
}

// stripMarks appends s without nonspacing marks, in form C again, ґ as г.
func stripMarks(dst, s []byte, spare *[2][]byte) []byte {
	decomposed := norm.NFD.Append(spare[0][:0], s...)
	spare[0] = decomposed
	kept := decomposed[:0]
	for i := 0; i < len(decomposed); {
		c, size := utf8.DecodeRune(decomposed[i:])
		switch {
		case c == 'ґ':
			kept = append(kept, "г"...)
		case !unicode.Is(unicode.Mn, c):
			kept = append(kept, decomposed[i:i+size]...)
		}
		i += size
	}
	return norm.NFC.Append(dst, kept...)
}
