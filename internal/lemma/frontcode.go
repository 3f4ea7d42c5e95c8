package lemma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// magic begins a front-coded stream.
const magic = "SMFC1"

// flagReversed says that forms and lemmas are stored with their bytes reversed.
const flagReversed = 1

// Values of trim that are no number of bytes.
const (
	trimSame    = 254 // the lemma of the record before
	trimLiteral = 255 // the lemma itself follows
)

// shortestRecord is one byte each of shared, length, suffix and trim.
const shortestRecord = 4

// unfolded is how many times longer forms with their headers are than a stream,
// roughly; what is wrong with it costs time or a copy.
const unfolded = 4

// Read reads a front-coded dictionary in an XZ file that is wholly in memory.
// Whatever is not as the format says is an error.
func Read(file []byte) (*Dictionary, error) {
	stream, err := unpack(file)
	if err != nil {
		return nil, fmt.Errorf("unpack dictionary: %w", err)
	}
	return decode(stream, maxForms)
}

// decode reads a front-coded stream, whose forms may take some bytes in all.
func decode(stream []byte, room int) (*Dictionary, error) {
	r := recordReader{rest: stream}
	count, err := r.header()
	if err != nil {
		return nil, fmt.Errorf("read dictionary: %w", err)
	}
	b := newBuilder(int(count), unfolded*len(stream), room)
	for n := uint64(1); len(r.rest) > 0; n++ {
		if err := r.next(); err != nil {
			return nil, fmt.Errorf("read dictionary: record %d: %w", n, err)
		}
		if _, err := b.add(r.unreversed()); err != nil {
			return nil, fmt.Errorf("read dictionary: record %d: %w", n, err)
		}
	}
	if uint64(b.d.n) != count {
		return nil, fmt.Errorf("read dictionary: %d records, the header says %d", b.d.n, count)
	}
	return b.finish(), nil
}

// recordReader reads the records of a stream one after the other.
type recordReader struct {
	rest        []byte
	reversed    bool
	form, lemma []byte    // of the record read last, as stored
	turned      [2][]byte // the same with their bytes reversed
}

var errCut = errors.New("the stream ends in the middle")

// header returns how many records are to follow. A number that the rest of the
// stream is too short for is refused.
func (r *recordReader) header() (uint64, error) {
	if len(r.rest) <= len(magic) || string(r.rest[:len(magic)]) != magic {
		return 0, fmt.Errorf("no stream of the form %s", magic)
	}
	flags := r.rest[len(magic)]
	if flags&^flagReversed != 0 {
		return 0, fmt.Errorf("unknown flags %#02x", flags)
	}
	r.reversed = flags == flagReversed
	r.rest = r.rest[len(magic)+1:]
	count, err := r.number()
	if err != nil {
		return 0, fmt.Errorf("number of records: %w", err)
	}
	if count > uint64(len(r.rest)/shortestRecord) {
		return 0, fmt.Errorf("%d bytes cannot hold %d records", len(r.rest), count)
	}
	return count, nil
}

// next reads a record.
func (r *recordReader) next() error {
	shared, err := r.number()
	if err != nil {
		return err
	}
	suffix, err := r.bytes()
	if err != nil {
		return err
	}
	if shared > uint64(len(r.form)) {
		return fmt.Errorf("shares %d bytes with a form of %d", shared, len(r.form))
	}
	if string(suffix) <= string(r.form[shared:]) {
		return errors.New("the form does not follow the form before")
	}
	if shared+uint64(len(suffix)) > MaxWord {
		return fmt.Errorf("form of more than %d bytes", MaxWord)
	}
	r.form = append(r.form[:shared], suffix...)
	return r.nextLemma()
}

func (r *recordReader) nextLemma() error {
	if len(r.rest) == 0 {
		return errCut
	}
	trim := int(r.rest[0])
	r.rest = r.rest[1:]
	if trim == trimSame {
		return nil // an empty one, if this is the first record, is refused later
	}
	ending, err := r.bytes()
	if err != nil {
		return err
	}
	r.lemma = r.lemma[:0]
	if trim != trimLiteral {
		if trim > len(r.form) {
			return fmt.Errorf("takes %d bytes off a form of %d", trim, len(r.form))
		}
		r.lemma = append(r.lemma, r.form[:len(r.form)-trim]...)
	}
	if len(r.lemma)+len(ending) > MaxWord {
		return fmt.Errorf("lemma of more than %d bytes", MaxWord)
	}
	r.lemma = append(r.lemma, ending...)
	return nil
}

// number reads a number.
func (r *recordReader) number() (uint64, error) {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return v, nil
	}
	v, n := binary.Uvarint(r.rest)
	switch {
	case n == 0:
		return 0, errCut
	case n < 0:
		return 0, errors.New("a number of more than 64 bits")
	}
	r.rest = r.rest[n:]
	return v, nil
}

// bytes reads a number and as many bytes.
func (r *recordReader) bytes() ([]byte, error) {
	n, err := r.number()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.rest)) {
		return nil, errCut
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out, nil
}

// unreversed returns the record's form and lemma as they are written. They are
// valid until the next record is read.
func (r *recordReader) unreversed() (form, lemma []byte) {
	if !r.reversed {
		return r.form, r.lemma
	}
	for i, s := range [][]byte{r.form, r.lemma} {
		r.turned[i] = append(r.turned[i][:0], s...)
		slices.Reverse(r.turned[i])
	}
	return r.turned[0], r.turned[1]
}

// checkLemma refuses what cannot stand for a word.
func checkLemma(lemma []byte) error {
	switch {
	case len(lemma) == 0:
		return errors.New("empty lemma")
	case len(lemma) > MaxWord:
		return fmt.Errorf("lemma of %d bytes, at most %d are possible", len(lemma), MaxWord)
	case !utf8.Valid(lemma):
		return fmt.Errorf("lemma %q is not UTF-8", lemma)
	}
	return nil
}
