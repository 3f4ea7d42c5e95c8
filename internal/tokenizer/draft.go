package tokenizer

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Span is a half-open range of bytes in the original text.
type Span struct {
	Start, End int
}

// segment is a stretch of a draft's text. Normalizers and pre-tokenizers work on
// each segment by itself and never look past its ends.
type segment struct {
	from, to int
	token    int32 // the id of the added token that stands here; noToken for text
}

const noToken = -1

// draft is a text on its way to becoming words. Each pass reads the text as the
// pass before left it, front to back, and says what to replace (replace) and
// which segments there are afterwards (emit). A pass that replaces nothing
// copies nothing.
type draft struct {
	text     []byte
	origin   []Span // per byte of text: the original it stands for; nil when not wanted
	segments []segment

	// The version the pass under way is writing.
	next         []byte
	nextOrigin   []Span
	nextSegments []segment
	copied       int // how many bytes of text are dealt with in next
	changed      bool
	track        bool
	lead         int // how much of the original a charsmap dropped at its beginning

	// Scratch of the passes.
	matches []match
	form    []byte
	forms   norm.Iter
}

// reset begins a new draft of text as one segment. Bytes that are not valid
// UTF-8 become U+FFFD, one each. track says whether origins are to be kept.
func (d *draft) reset(text string, track bool) {
	d.track, d.lead = track, 0
	d.origin = d.origin[:0]
	if utf8.ValidString(text) {
		d.text = append(d.text[:0], text...)
	} else {
		d.text = d.text[:0]
		for _, r := range text {
			d.text = utf8.AppendRune(d.text, r)
		}
	}
	d.segments = d.segments[:0]
	if len(d.text) > 0 {
		d.segments = append(d.segments, segment{0, len(d.text), noToken})
	}
	if !track {
		return
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		for range utf8.RuneLen(r) {
			d.origin = append(d.origin, Span{i, i + size})
		}
		i += size
	}
}

// begin starts a pass.
func (d *draft) begin() {
	d.next, d.nextOrigin, d.nextSegments = d.next[:0], d.nextOrigin[:0], d.nextSegments[:0]
	d.copied, d.changed = 0, false
}

// finish ends a pass: what it wrote becomes the text.
func (d *draft) finish() {
	d.segments, d.nextSegments = d.nextSegments, d.segments
	if !d.changed {
		return
	}
	d.copyUntil(len(d.text))
	d.text, d.next = d.next, d.text
	d.origin, d.nextOrigin = d.nextOrigin, d.origin
}

func (d *draft) copyUntil(pos int) {
	d.next = append(d.next, d.text[d.copied:pos]...)
	if d.track {
		d.nextOrigin = append(d.nextOrigin, d.origin[d.copied:pos]...)
	}
	d.copied = pos
}

// replace puts with in the place of text[from:to]. Within a pass, each call must
// begin no earlier than the one before ended.
func (d *draft) replace(from, to int, with []byte) {
	d.changed = true
	d.copyUntil(from)
	d.next = append(d.next, with...)
	d.copied = to
	if !d.track {
		return
	}
	span := d.originOf(from, to)
	for range with {
		d.nextOrigin = append(d.nextOrigin, span)
	}
}

// originOf returns the original that text[from:to] stands for; for an empty
// range the empty span before what follows.
func (d *draft) originOf(from, to int) Span {
	switch {
	case from < to:
		span := Span{d.origin[from].Start, d.origin[to-1].End}
		return Span{span.Start, max(span.Start, span.End)}
	case from < len(d.origin):
		return Span{d.origin[from].Start, d.origin[from].Start}
	case from > 0:
		return Span{d.origin[from-1].End, d.origin[from-1].End}
	default:
		return Span{}
	}
}

// dropped notes that a charsmap drops text[from:to].
func (d *draft) dropped(from, to int) {
	if d.track && d.origin[from].Start == d.lead {
		d.lead = d.origin[to-1].End
	}
}

// beginsText reports whether the byte at i is where the original begins. Origins
// must be kept. What a charsmap drops there does not count: the Rust library,
// which keeps origins its own way, takes what follows for the beginning.
func (d *draft) beginsText(i int) bool {
	return d.origin[i].Start == 0 || d.origin[i].Start == d.lead
}

// at returns where the byte at pos of the text will be in the text being
// written. It must not be asked for what lies before the last replacement.
func (d *draft) at(pos int) int { return len(d.next) + pos - d.copied }

// emit adds a segment of the text being written; an empty one is dropped.
func (d *draft) emit(from, to int) {
	if from < to {
		d.nextSegments = append(d.nextSegments, segment{from, to, noToken})
	}
}

// normalizer rewrites one segment by calls of replace.
type normalizer interface {
	normalize(d *draft, from, to int)
}

// preTokenizer cuts one segment into words by calls of emit, and may rewrite it.
type preTokenizer interface {
	preTokenize(d *draft, from, to int)
}

// normalize runs one pass of n over every segment that is text.
func (d *draft) normalize(n normalizer) {
	d.begin()
	for _, s := range d.segments {
		start := d.at(s.from)
		if s.token == noToken {
			n.normalize(d, s.from, s.to)
			d.emit(start, d.at(s.to))
			continue
		}
		d.nextSegments = append(d.nextSegments, segment{start, d.at(s.to), s.token})
	}
	d.finish()
}

// preTokenize runs one pass of p over every segment that is text.
func (d *draft) preTokenize(p preTokenizer) {
	d.begin()
	for _, s := range d.segments {
		if s.token == noToken {
			p.preTokenize(d, s.from, s.to)
			continue
		}
		d.nextSegments = append(d.nextSegments, segment{d.at(s.from), d.at(s.to), s.token})
	}
	d.finish()
}
