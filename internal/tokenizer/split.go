package tokenizer

import "unicode/utf8"

// split cuts a segment around the matches of a pattern.
type split struct {
	pattern  matcher
	behavior splitBehavior
	invert   bool // the matches are what lies between the pattern's
}

// splitBehavior says what becomes of the matches, the delimiters.
type splitBehavior int

const (
	splitRemoved            splitBehavior = iota
	splitIsolated                         // a word each
	splitMergedWithPrevious               // the end of the word before
	splitMergedWithNext                   // the beginning of the word after
	splitContiguous                       // neighbouring ones together are a word
)

func (p *split) preTokenize(d *draft, from, to int) {
	d.matches = p.pattern.find(d.matches[:0], d.text[from:to])
	w := splitWriter{d: d, behavior: p.behavior, start: from, end: from}
	at := from
	for _, m := range d.matches {
		w.add(at, from+m.from, p.invert)
		w.add(from+m.from, from+m.to, !p.invert)
		at = from + m.to
	}
	w.add(at, to, p.invert)
	w.flush()
}

// splitWriter gathers parts of a segment, which are delimiters or not, into
// words.
type splitWriter struct {
	d          *draft
	behavior   splitBehavior
	start, end int  // the word being gathered
	delimiter  bool // whether the part gathered last is a delimiter
}

// add goes on with a part; an empty one is nothing.
func (w *splitWriter) add(from, to int, delimiter bool) {
	if from == to {
		return
	}
	if !w.joins(delimiter) {
		w.flush()
		w.start = from
	}
	w.end = to
	if delimiter && w.behavior == splitRemoved {
		w.start = to
	}
	w.delimiter = delimiter
}

// joins reports whether the next part belongs to the word being gathered.
func (w *splitWriter) joins(delimiter bool) bool {
	switch w.behavior {
	case splitMergedWithPrevious:
		return delimiter && !w.delimiter
	case splitMergedWithNext:
		return !delimiter && w.delimiter
	case splitContiguous:
		return delimiter == w.delimiter
	default:
		return false
	}
}

func (w *splitWriter) flush() { w.d.emit(w.start, w.end) }

// runeMatcher matches each code point of a set by itself.
type runeMatcher struct{ what *runeSet }

func (m runeMatcher) find(dst []match, text []byte) []match {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if m.what.has(r) {
			dst = append(dst, match{i, i + size})
		}
		i += size
	}
	return dst
}

func readBehavior(r *jsonReader) splitBehavior {
	switch name := r.text(); name {
	case "Removed":
		return splitRemoved
	case "Isolated":
		return splitIsolated
	case "MergedWithPrevious":
		return splitMergedWithPrevious
	case "MergedWithNext":
		return splitMergedWithNext
	case "Contiguous":
		return splitContiguous
	default:
		r.fail("behavior %q is not supported", shorten(name))
		return 0
	}
}

func readSplit(r *jsonReader) preTokenizer {
	p := &split{}
	behavior, invert := false, false
	r.object(func(field string) {
		switch field {
		case "pattern":
			p.pattern = readPattern(r)
		case "behavior":
			p.behavior, behavior = readBehavior(r), true
		case "invert":
			p.invert, invert = r.boolean(), true
		default:
			r.skip()
		}
	})
	r.require(p.pattern != nil, "pattern")
	r.require(behavior, "behavior")
	r.require(invert, "invert")
	return p
}

func readPunctuation(r *jsonReader) preTokenizer {
	p := &split{pattern: runeMatcher{punctuation()}, behavior: splitIsolated}
	r.object(func(field string) {
		if field == "behavior" {
			p.behavior = readBehavior(r)
			return
		}
		r.skip()
	})
	return p
}

func readDigits(r *jsonReader) preTokenizer {
	p := &split{pattern: runeMatcher{numbers()}, behavior: splitContiguous}
	seen := false
	r.object(func(field string) {
		if field != "individual_digits" {
			r.skip()
			return
		}
		if seen = true; r.boolean() {
			p.behavior = splitIsolated
		}
	})
	r.require(seen, "individual_digits")
	return p
}

func readDelimiter(r *jsonReader) preTokenizer {
	p := &split{behavior: splitRemoved}
	r.object(func(field string) {
		if field != "delimiter" {
			r.skip()
			return
		}
		text := r.text()
		if r.err == nil && utf8.RuneCountInString(text) != 1 {
			r.fail("expected one character")
			return
		}
		p.pattern = newRunMatcher(text, 1, 1)
	})
	r.require(p.pattern != nil, "delimiter")
	return p
}
