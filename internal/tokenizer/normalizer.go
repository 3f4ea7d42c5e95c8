package tokenizer

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readNormalizers reads the field "normalizer": the passes to run, in order.
func readNormalizers(r *jsonReader) []normalizer {
	if r.null() {
		return nil
	}
	switch kind := r.typeName(); kind {
	case "Sequence":
		var all []normalizer
		r.list("normalizers", func() { all = append(all, readNormalizers(r)...) })
		return all
	case "BertNormalizer":
		return readBertNormalizer(r)
	case "Precompiled":
		return []normalizer{readCharsmap(r)}
	case "Prepend":
		return []normalizer{readPrepend(r)}
	case "Replace":
		return []normalizer{readReplace(r)}
	case "Strip":
		return []normalizer{readStrip(r)}
	default:
		if n := plainNormalizer(kind); n != nil {
			r.skip()
			return []normalizer{n}
		}
		r.fail("normalizer %q is not supported", shorten(kind))
		return nil
	}
}

// plainNormalizer returns a normalizer that has no settings, nil for other names.
func plainNormalizer(kind string) normalizer {
	switch kind {
	case "Lowercase":
		return newLowercase()
	case "NFC":
		return newUnicodeForm(norm.NFC)
	case "NFD":
		return newUnicodeForm(norm.NFD)
	case "NFKC":
		return newUnicodeForm(norm.NFKC)
	case "NFKD":
		return newUnicodeForm(norm.NFKD)
	case "Nmt":
		return newNMT()
	case "StripAccents":
		return &remove{marks()}
	default:
		return nil
	}
}

// remove drops code points.
type remove struct{ what *runeSet }

func (n *remove) normalize(d *draft, from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		if n.what.has(r) {
			d.replace(i, i+size, nil)
		}
		i += size
	}
}

// blank turns code points into spaces.
type blank struct{ what *runeSet }

func (n *blank) normalize(d *draft, from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		if n.what.has(r) {
			d.replace(i, i+size, space)
		}
		i += size
	}
}

var space = []byte{' '}

// lowercase maps each code point to lower case by itself: no final sigma, no
// language's own rules.
type lowercase struct{ cased *runeSet }

func newLowercase() *lowercase {
	n := &lowercase{&runeSet{astral: []*unicode.RangeTable{unicode.Lu, unicode.Lt, unicode.Lo}}}
	for c := rune(0); c < 1<<16; c++ {
		n.cased.put(c, unicode.ToLower(c) != c)
	}
	return n
}

func (n *lowercase) normalize(d *draft, from, to int) {
	var buf [utf8.UTFMax]byte
	for i := from; i < to; {
		r, size := utf8.DecodeRune(d.text[i:to])
		switch {
		case !n.cased.has(r):
		case r == 'İ': // the one code point whose lower case is two
			d.replace(i, i+size, []byte("i̇"))
		default:
			d.form = append(d.form[:0], buf[:utf8.EncodeRune(buf[:], unicode.ToLower(r))]...)
			d.replace(i, i+size, d.form)
		}
		i += size
	}
}

// unicodeForm brings text into a Unicode normalization form.
type unicodeForm struct {
	form  norm.Form
	newer *unicode.RangeTable // left as they are
}

func newUnicodeForm(form norm.Form) *unicodeForm {
	return &unicodeForm{form, ranges(newerForms)}
}

func (n *unicodeForm) normalize(d *draft, from, to int) {
	for i := from; i < to; {
		i += n.form.QuickSpan(d.text[i:to])
		if i >= to {
			return
		}
		end := i + max(1, n.form.NextBoundary(d.text[i:to], true))
		form := d.inForm(n.form, d.text[i:end])
		if !bytes.Equal(form, d.text[i:end]) && !n.hasNewer(d.text[i:end]) {
			d.replace(i, end, form)
		}
		i = end
	}
}

// inForm returns text in a normalization form, until the next call. It goes by
// an Iter because Form.Append allocates.
func (d *draft) inForm(form norm.Form, text []byte) []byte {
	d.form = d.form[:0]
	for d.forms.Init(form, text); !d.forms.Done(); {
		d.form = append(d.form, d.forms.Next()...)
	}
	return d.form
}

func (n *unicodeForm) hasNewer(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool { return unicode.Is(n.newer, r) })
}

// prepend puts text before a segment.
type prepend struct{ text []byte }

func (n *prepend) normalize(d *draft, from, _ int) { d.replace(from, from, n.text) }

func readPrepend(r *jsonReader) normalizer {
	n := &prepend{}
	seen := false
	r.object(func(field string) {
		if field != "prepend" {
			r.skip()
			return
		}
		n.text, seen = []byte(r.text()), true
	})
	r.require(seen, "prepend")
	return n
}

// strip removes white space at the ends of a segment.
type strip struct {
	left, right bool
}

func (n *strip) normalize(d *draft, from, to int) {
	text := d.text[from:to]
	if n.left {
		text = bytes.TrimLeftFunc(text, unicode.IsSpace)
		start := to - len(text)
		if from < start {
			d.replace(from, start, nil)
		}
		from = start
	}
	if n.right {
		text = bytes.TrimRightFunc(text, unicode.IsSpace)
		if end := from + len(text); end < to {
			d.replace(end, to, nil)
		}
	}
}

func readStrip(r *jsonReader) normalizer {
	n := &strip{}
	left, right := false, false
	r.object(func(field string) {
		switch field {
		case "strip_left":
			n.left, left = r.boolean(), true
		case "strip_right":
			n.right, right = r.boolean(), true
		default:
			r.skip()
		}
	})
	r.require(left, "strip_left")
	r.require(right, "strip_right")
	return n
}

// replace puts content in the place of every match of a pattern.
type replace struct {
	pattern matcher
	content []byte
}

func (n *replace) normalize(d *draft, from, to int) {
	d.matches = n.pattern.find(d.matches[:0], d.text[from:to])
	for _, m := range d.matches {
		d.replace(from+m.from, from+m.to, n.content)
	}
}

func readReplace(r *jsonReader) normalizer {
	n := &replace{}
	seen := false
	r.object(func(field string) {
		switch field {
		case "pattern":
			n.pattern = readPattern(r)
		case "content":
			n.content, seen = []byte(r.text()), true
		default:
			r.skip()
		}
	})
	r.require(n.pattern != nil, "pattern")
	r.require(seen, "content")
	return n
}
