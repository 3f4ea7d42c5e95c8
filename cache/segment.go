package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
)

// A segment file holds vectors by text hash and never changes:
//
//	magic, dimension and count as little-endian uint32,
//	count hashes in ascending order, count vector sums, SHA-256 of all before it,
//	count vectors of little-endian float32
//
// Opening reads the index alone. A vector's sum is the first eight bytes of its SHA-256, so that
// one vector can be read and verified without the others.
const (
	segmentMagic  = "raglab memo 1\n\x00\x00"
	segmentHeader = len(segmentMagic) + 8
	vectorSumLen  = 8
	// maxDim bounds what is believed of a header before its checksum has been seen.
	maxDim = 1 << 20
)

// segment is an open segment file with its index in memory. Immutable; safe for concurrent use.
type segment struct {
	f      *os.File
	info   os.FileInfo
	lo, hi int64 // the span of places in the order of writing that it covers
	dim    int
	hashes []byte // count × 32
	sums   []byte // count × 8
	data   int64  // offset of the first vector
}

// entry is a vector on its way into a segment.
type entry struct {
	hash   Digest
	vector []float32
}

func (s *segment) count() int         { return len(s.sums) / vectorSumLen }
func (s *segment) hash(i int) []byte  { return s.hashes[i*sha256.Size : (i+1)*sha256.Size] }
func (s *segment) sum(i int) []byte   { return s.sums[i*vectorSumLen : (i+1)*vectorSumLen] }
func (s *segment) vectorBytes() int64 { return int64(s.dim) * 4 }
func (s *segment) bytes() int64       { return s.data + int64(s.count())*s.vectorBytes() }
func (s *segment) close() error       { return s.f.Close() }

// find is the place of a hash in the segment.
func (s *segment) find(h Digest) (int, bool) {
	return sort.Find(s.count(), func(i int) int { return bytes.Compare(h[:], s.hash(i)) })
}

// openSegment reads and verifies the index. Errors other than the operating system's mean damage.
func openSegment(f *os.File) (*segment, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s := &segment{f: f, info: info}
	head := make([]byte, segmentHeader)
	if err := readAt(f, head, 0); err != nil {
		return nil, err
	}
	count := int64(binary.LittleEndian.Uint32(head[len(segmentMagic)+4:]))
	s.dim = int(binary.LittleEndian.Uint32(head[len(segmentMagic):]))
	s.data = int64(segmentHeader) + count*(sha256.Size+vectorSumLen) + sha256.Size
	if string(head[:len(segmentMagic)]) != segmentMagic || s.dim < 1 || s.dim > maxDim ||
		info.Size() != s.data+count*s.vectorBytes() {
		return nil, fmt.Errorf("%w: its length does not fit its header", errDamaged)
	}
	index := make([]byte, s.data)
	if err := readAt(f, index, 0); err != nil {
		return nil, err
	}
	body := index[:len(index)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], index[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum of its index does not fit", errDamaged)
	}
	s.hashes = body[segmentHeader : int64(segmentHeader)+count*sha256.Size]
	s.sums = body[int64(segmentHeader)+count*sha256.Size:]
	return s, nil
}

var errDamaged = errors.New("damaged")

// readAt fills p; a file that ends before is damaged, for its length was looked at.
func readAt(f *os.File, p []byte, at int64) error {
	_, err := f.ReadAt(p, at)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is cut short", errDamaged)
	}
	return err
}

// rawVector reads vector i into buf, which has its length, and verifies it.
func (s *segment) rawVector(i int, buf []byte) error {
	if err := readAt(s.f, buf, s.data+int64(i)*s.vectorBytes()); err != nil {
		return err
	}
	if sum := vectorSum(buf); !bytes.Equal(sum[:], s.sum(i)) {
		return fmt.Errorf("%w: vector %d of %d does not fit its checksum", errDamaged, i, s.count())
	}
	return nil
}

// verify reads all vectors.
func (s *segment) verify() error {
	raw := make([]byte, s.vectorBytes())
	for i := range s.count() {
		if err := s.rawVector(i, raw); err != nil {
			return err
		}
	}
	return nil
}

func vectorSum(raw []byte) [vectorSumLen]byte {
	sum := sha256.Sum256(raw)
	return [vectorSumLen]byte(sum[:])
}

func decodeVector(raw []byte) []float32 {
	v := make([]float32, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v
}

func encodeVector(raw []byte, v []float32) {
	for i, x := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
}

// encodeSegment is a segment's bytes; entries have one dimension and different hashes.
func encodeSegment(entries []entry, dim int) []byte {
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	n := len(entries)
	raw := make([]byte, n*dim*4)
	hashes := make([]byte, 0, n*sha256.Size)
	sums := make([]byte, 0, n*vectorSumLen)
	for i, e := range entries {
		at := raw[i*dim*4 : (i+1)*dim*4]
		encodeVector(at, e.vector)
		sum := vectorSum(at)
		hashes = append(hashes, e.hash[:]...)
		sums = append(sums, sum[:]...)
	}
	return append(encodeIndex(dim, n, hashes, sums), raw...)
}

func encodeIndex(dim, n int, hashes, sums []byte) []byte {
	b := append([]byte(nil), segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(dim))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = append(append(b, hashes...), sums...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// origin is where a vector of a merged segment comes from.
type origin struct {
	from *segment
	at   int
}

// mergeSegments writes one segment with the vectors of all, each verified on its way. Of two with
// one hash the earlier segment's stands.
func mergeSegments(w io.Writer, segments []*segment) error {
	all := mergedOrder(segments)
	hashes := make([]byte, 0, len(all)*sha256.Size)
	sums := make([]byte, 0, len(all)*vectorSumLen)
	for _, o := range all {
		hashes = append(hashes, o.from.hash(o.at)...)
		sums = append(sums, o.from.sum(o.at)...)
	}
	dim := segments[0].dim
	if _, err := w.Write(encodeIndex(dim, len(all), hashes, sums)); err != nil {
		return err
	}
	raw := make([]byte, dim*4)
	for _, o := range all {
		if err := o.from.rawVector(o.at, raw); err != nil {
			return &segmentError{o.from, err}
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

// mergedOrder walks all segments in step, by ascending hash.
func mergedOrder(segments []*segment) []origin {
	at := make([]int, len(segments))
	var all []origin
	for {
		var least []byte
		first := -1
		for i, s := range segments {
			if at[i] < s.count() && (first < 0 || bytes.Compare(s.hash(at[i]), least) < 0) {
				first, least = i, s.hash(at[i])
			}
		}
		if first < 0 {
			return all
		}
		all = append(all, origin{segments[first], at[first]})
		for i, s := range segments {
			if at[i] < s.count() && bytes.Equal(s.hash(at[i]), least) {
				at[i]++
			}
		}
	}
}

// segmentError says which segment was found damaged.
type segmentError struct {
	segment *segment
	err     error
}

func (e *segmentError) Error() string { return e.err.Error() }
func (e *segmentError) Unwrap() error { return e.err }
