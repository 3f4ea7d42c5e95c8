package tokenizer

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readBertNormalizer reads a normalizer of type BertNormalizer: which of BERT's
// four passes are wanted.
func readBertNormalizer(r *jsonReader) []normalizer {
	clean, chinese, lower := true, true, true
	var strip *bool
	r.object(func(field string) {
		switch field {
		case "clean_text":
			clean = r.boolean()
		case "handle_chinese_chars":
			chinese = r.boolean()
		case "strip_accents":
			if !r.null() {
				b := r.boolean()
				strip = &b
			}
		case "lowercase":
			lower = r.boolean()
		default:
			r.skip()
		}
	})
	if strip == nil {
		strip = &lower // as the original BERT: accents go with case
	}
	return bertPasses(clean, chinese, *strip, lower)
}

func bertPasses(clean, chinese, strip, lower bool) []normalizer {
	var passes []normalizer
	if clean {
		passes = append(passes, &remove{controls()}, &blank{whitespace()})
	}
	if chinese {
		passes = append(passes, &spaceHan{newRuneSet(nil, ranges(hanRunes))})
	}
	if strip {
		passes = append(passes, newUnicodeForm(norm.NFD), &remove{nonspacing()})
	}
	if lower {
		passes = append(passes, newLowercase())
	}
	return passes
}

// hanRunes are the blocks BERT takes for Chinese, with the bounds that the Rust
// library has (it leaves out U+2B820–2B91F).
const hanRunes = `3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B81F 2B920-2CEAF 2F800-2FA1F`

// spaceHan puts a space on either side of each Chinese character.
type spaceHan struct{ han *runeSet }

func (n *spaceHan) normalize(d *draft, from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		if n.han.has(r) {
			d.replace(i, i, space)
			d.replace(i+size, i+size, space)
		}
		i += size
	}
}

// bertPreTokenizer cuts at white space, which it drops, and around punctuation.
type bertPreTokenizer struct {
	space, punctuation *runeSet
}

func (p *bertPreTokenizer) preTokenize(d *draft, from, to int) {
	start := from
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		switch {
		case p.space.has(r):
			d.emit(start, i)
			start = i + size
		case p.punctuation.has(r):
			d.emit(start, i)
			d.emit(i, i+size)
			start = i + size
		}
		i += size
	}
	d.emit(start, to)
}
