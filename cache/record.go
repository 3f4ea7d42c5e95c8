package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// recordMagic begins every record and carries the version of its layout.
const recordMagic = "raglab record 1\n"

// EncodeRecord is a record as every tier stores it. It refuses one that cannot be stored or would
// not be read back.
func EncodeRecord(r *Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b := encodeRecord(r)
	if len(b) > maxRecordBytes {
		return nil, fmt.Errorf("record %s has %d bytes; at most %d are read back", r.Key.Short(), len(b), maxRecordBytes)
	}
	return b, nil
}

// DecodeRecord reads what [EncodeRecord] wrote for key k. The record shares memory with b. The error
// says what does not fit.
func DecodeRecord(k Key, b []byte) (*Record, error) {
	if len(b) > maxRecordBytes {
		return nil, fmt.Errorf("it has %d bytes", len(b))
	}
	r, err := decodeRecord(b)
	if err == nil && r.Key != k {
		return nil, fmt.Errorf("it is the record of %s", r.Key)
	}
	return r, err
}

// maxRecordBytes bounds what is read as a record. Measurements with a figure for each of a million
// questions stay well below it.
const maxRecordBytes = 256 << 20

// check says what makes a record one that cannot be stored.
func (r *Record) check() error {
	if err := r.checkOutputs(); err != nil {
		return err
	}
	for _, m := range []json.RawMessage{r.Manifest, r.Measurements, r.Provenance} {
		if len(m) > 0 && !json.Valid(m) {
			return fmt.Errorf("record %s: %.40q is no JSON", r.Key.Short(), m)
		}
	}
	return nil
}

func (r *Record) checkOutputs() error {
	if r.Key.IsZero() {
		return errors.New("record has no key")
	}
	seen := make(map[string]bool, len(r.Outputs))
	for _, b := range r.Outputs {
		switch {
		case b.Name == "" || !utf8.ValidString(b.Name):
			return fmt.Errorf("record %s: output name %q is empty or no UTF-8", r.Key.Short(), b.Name)
		case seen[b.Name]:
			return fmt.Errorf("record %s: two outputs are named %q", r.Key.Short(), b.Name)
		case b.Size < 0:
			return fmt.Errorf("record %s: output %q has a size of %d", r.Key.Short(), b.Name, b.Size)
		}
		seen[b.Name] = true
	}
	return nil
}

// encodeRecord writes, all lengths and counts as unsigned varints:
//
//	magic, key, number of outputs, (name length, name, digest, size) per output,
//	(length, JSON) for manifest, measurements and provenance, SHA-256 of all before it
//
// A cut at any length or a change of any byte fails the checksum.
func encodeRecord(r *Record) []byte {
	n := len(recordMagic) + 2*sha256.Size + len(r.Manifest) + len(r.Measurements) + len(r.Provenance) + 64
	for _, b := range r.Outputs {
		n += len(b.Name) + sha256.Size + 2*binary.MaxVarintLen64
	}
	buf := append(make([]byte, 0, n), recordMagic...)
	buf = append(buf, r.Key[:]...)
	buf = binary.AppendUvarint(buf, uint64(len(r.Outputs)))
	for _, b := range r.Outputs {
		buf = appendBytes(buf, []byte(b.Name))
		buf = append(buf, b.Digest[:]...)
		buf = binary.AppendUvarint(buf, uint64(b.Size))
	}
	buf = appendBytes(buf, r.Manifest)
	buf = appendBytes(buf, r.Measurements)
	buf = appendBytes(buf, r.Provenance)
	sum := sha256.Sum256(buf)
	return append(buf, sum[:]...)
}

func appendBytes(buf, b []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

// decodeRecord reads what encodeRecord wrote, and nothing else: every record has one encoding.
// The record shares memory with b.
func decodeRecord(b []byte) (*Record, error) {
	if !bytes.HasPrefix(b, []byte(recordMagic)) {
		return nil, errors.New("it does not begin as a record does")
	}
	end := len(b) - sha256.Size
	if end < len(recordMagic) {
		return nil, errors.New("it is cut short")
	}
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return nil, errors.New("its checksum does not fit")
	}
	in := recordReader{rest: b[len(recordMagic):end]}
	r := &Record{}
	copy(r.Key[:], in.take(sha256.Size))
	r.Outputs = in.outputs()
	r.Manifest, r.Measurements, r.Provenance = in.bytes(), in.bytes(), in.bytes()
	if in.bad || len(in.rest) > 0 {
		return nil, errors.New("its fields do not fill it")
	}
	if err := r.checkOutputs(); err != nil {
		return nil, err
	}
	return r, nil
}

// recordReader takes fields off the front; after the first that does not fit, bad is set and all
// others are empty.
type recordReader struct {
	rest []byte
	bad  bool
}

func (in *recordReader) take(n uint64) []byte {
	if in.bad || n > uint64(len(in.rest)) {
		in.bad = true
		return nil
	}
	b := in.rest[:n:n]
	in.rest = in.rest[n:]
	return b
}

func (in *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(in.rest)
	// A longer spelling of the same number would be a second encoding of the same record.
	if in.bad || n <= 0 || n > 1 && in.rest[n-1] == 0 {
		in.bad = true
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

func (in *recordReader) bytes() []byte {
	b := in.take(in.uvarint())
	if len(b) == 0 {
		return nil
	}
	return b
}

func (in *recordReader) outputs() []Blob {
	const least = 1 + 1 + sha256.Size + 1 // bytes an output takes: no more are promised than fit
	n := in.uvarint()
	if n > uint64(len(in.rest)/least) {
		in.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	outputs := make([]Blob, n)
	for i := range outputs {
		outputs[i].Name = string(in.bytes())
		copy(outputs[i].Digest[:], in.take(sha256.Size))
		size := in.uvarint()
		if size > math.MaxInt64 {
			in.bad = true
		}
		outputs[i].Size = int64(size)
	}
	return outputs
}
