package tokenizer

import (
	"bytes"
	"unicode/utf8"
)

// readPreTokenizers reads the field "pre_tokenizer": the passes to run, in order.
func readPreTokenizers(r *jsonReader) []preTokenizer {
	if r.null() {
		return nil
	}
	switch kind := r.typeName(); kind {
	case "Sequence":
		var all []preTokenizer
		r.list("pretokenizers", func() { all = append(all, readPreTokenizers(r)...) })
		return all
	case "BertPreTokenizer":
		r.skip()
		return []preTokenizer{&bertPreTokenizer{whitespace(), punctuation()}}
	case "CharDelimiterSplit":
		return []preTokenizer{readDelimiter(r)}
	case "Digits":
		return []preTokenizer{readDigits(r)}
	case "Metaspace":
		return []preTokenizer{readMetaspace(r)}
	case "Punctuation":
		return []preTokenizer{readPunctuation(r)}
	case "Split":
		return []preTokenizer{readSplit(r)}
	case "Whitespace":
		r.skip()
		return []preTokenizer{&words{whitespace(), wordRunes()}}
	case "WhitespaceSplit":
		r.skip()
		return []preTokenizer{&whitespaceSplit{whitespace()}}
	default:
		r.fail("pre-tokenizer %q is not supported", shorten(kind))
		return nil
	}
}

// whitespaceSplit cuts at white space, which it drops.
type whitespaceSplit struct{ space *runeSet }

func (p *whitespaceSplit) preTokenize(d *draft, from, to int) {
	start := from
	for i := from; i < to; {
		r, size := rune(d.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(d.text[i:to])
		}
		if p.space.has(r) {
			d.emit(start, i)
			start = i + size
		}
		i += size
	}
	d.emit(start, to)
}

// words keeps runs of word characters and runs of other characters that are not
// white space: the expression \w+|[^\w\s]+.
type words struct{ space, word *runeSet }

func (p *words) preTokenize(d *draft, from, to int) {
	const gap, word, other = 0, 1, 2
	start, run := from, gap
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		kind := other
		switch {
		case p.word.has(r):
			kind = word
		case p.space.has(r):
			kind = gap
		}
		if kind != run {
			if run != gap {
				d.emit(start, i)
			}
			start, run = i, kind
		}
		i += size
	}
	if run != gap {
		d.emit(start, to)
	}
}

// metaspace writes spaces as a mark, "▁", puts one before a segment that does
// not begin with one, and cuts before each.
type metaspace struct {
	mark    []byte
	prepend prependScheme
	split   bool
}

// prependScheme says before which segments metaspace puts its mark.
type prependScheme int

const (
	prependAlways prependScheme = iota
	prependFirst                // only where the text begins
	prependNever
)

func (p *metaspace) preTokenize(d *draft, from, to int) {
	start := d.at(from)
	text := d.text[:to]
	marked := text[from] == ' ' || bytes.HasPrefix(text[from:], p.mark)
	if !marked && (p.prepend == prependAlways || p.prepend == prependFirst && d.beginsText(from)) {
		d.replace(from, from, p.mark)
	}
	for i := from; i < to; i++ {
		plain := text[i] != ' '
		if plain && (text[i] != p.mark[0] || !bytes.HasPrefix(text[i:], p.mark)) {
			continue
		}
		if p.split {
			here := d.at(i)
			d.emit(start, here)
			start = here
		}
		if !plain {
			d.replace(i, i+1, p.mark)
		}
	}
	d.emit(start, d.at(to))
}

func readMetaspace(r *jsonReader) preTokenizer {
	p := &metaspace{split: true}
	prefix := true
	r.object(func(field string) {
		switch field {
		case "replacement":
			p.mark = []byte(r.text())
			if r.err == nil && utf8.RuneCount(p.mark) != 1 {
				r.fail("expected one character")
			}
		case "prepend_scheme":
			p.prepend = readPrependScheme(r)
		case "add_prefix_space":
			prefix = r.null() || r.boolean()
		case "split":
			p.split = r.null() || r.boolean()
		default:
			r.skip()
		}
	})
	r.require(p.mark != nil, "replacement")
	if !prefix && p.prepend != prependNever {
		r.fail("add_prefix_space and prepend_scheme contradict each other")
	}
	return p
}

func readPrependScheme(r *jsonReader) prependScheme {
	switch name := r.text(); name {
	case "always":
		return prependAlways
	case "first":
		return prependFirst
	case "never":
		return prependNever
	default:
		r.fail("expected always, first or never, found %q", shorten(name))
		return 0
	}
}
