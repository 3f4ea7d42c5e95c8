package lemma

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// maxStream bounds what an XZ file may unpack to, in bytes.
const maxStream = 64 << 20

// maxRatio is more than LZMA can compress: a match of 273 bytes takes at least a
// dozen binary decisions of 0.02 bits each.
const maxRatio = 1 << 14

// Marks and sizes of the XZ file format, version 1.2.1, sections 2.1 and 5.3.1.
const (
	xzMagic     = "\xfd7zXZ\x00"
	xzTail      = "YZ"
	xzHeader    = 12
	xzFooter    = 12
	filterLZMA2 = 0x21
)

var errNotXZ = errors.New("this is no XZ file, or one that is damaged")

// unpack returns what an XZ file of one stream and one block holds. The
// container is read here rather than by package xz, because that allocates the
// window that a header asks for, up to 4 GB. Here the window is no larger than
// what the file holds. The index tells that beforehand; it is refused when it
// is more than maxStream or more than the file's size can stand for.
func unpack(file []byte) ([]byte, error) {
	f, err := openFrame(file)
	if err != nil {
		return nil, err
	}
	if f.size > maxStream || f.size > maxRatio*uint64(len(file)) {
		return nil, fmt.Errorf("%d bytes hold no %d", len(file), f.size)
	}
	packed := bytes.NewReader(f.packed)
	r, err := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, int(min(f.window, f.size)))}.NewReader2(packed)
	if err != nil {
		return nil, err
	}
	stream := bytes.NewBuffer(make([]byte, 0, f.size+bytes.MinRead))
	if _, err := stream.ReadFrom(io.LimitReader(r, int64(f.size)+1)); err != nil {
		return nil, err
	}
	if uint64(stream.Len()) != f.size {
		return nil, fmt.Errorf("the index says %d bytes, there are others", f.size)
	}
	rest := f.packed[len(f.packed)-packed.Len():]
	padding := min(-(len(f.packed)-packed.Len())&3, len(rest))
	if !bytes.Equal(rest[padding:], checksum(stream.Bytes(), f.check)) {
		return nil, errors.New("the checksum is wrong")
	}
	return stream.Bytes(), nil
}

// frame is what an XZ file of one block says of itself.
type frame struct {
	check  byte   // kind of checksum
	size   uint64 // unpacked
	window uint64 // of the packer
	packed []byte // with padding and checksum
}

// openFrame reads the header, the footer, the index and the block header of an
// XZ file.
func openFrame(file []byte) (frame, error) {
	if len(file) < xzHeader+xzFooter || len(file)%4 != 0 || string(file[:6]) != xzMagic {
		return frame{}, errNotXZ
	}
	footer := file[len(file)-xzFooter:]
	flags := file[6:8]
	switch {
	case !summed(file[6:12]), flags[0] != 0, !bytes.Equal(footer[8:10], flags), string(footer[10:]) != xzTail,
		binary.LittleEndian.Uint32(footer) != crc32.ChecksumIEEE(footer[4:10]):
		return frame{}, errNotXZ
	}
	end := int64(len(file)) - xzFooter
	begin := end - 4*(int64(binary.LittleEndian.Uint32(footer[4:]))+1)
	if begin < xzHeader {
		return frame{}, errNotXZ
	}
	f := frame{check: flags[1]}
	var err error
	if f.size, err = index(file[begin:end]); err != nil {
		return frame{}, err
	}
	f.window, f.packed, err = block(file[xzHeader:begin])
	return f, err
}

// summed tells whether the last four bytes are the CRC32 of those before.
func summed(b []byte) bool {
	n := len(b) - 4
	return binary.LittleEndian.Uint32(b[n:]) == crc32.ChecksumIEEE(b[:n])
}

// index returns the unpacked size of the one block that an index lists.
func index(b []byte) (uint64, error) {
	if len(b) < 8 || !summed(b) || b[0] != 0 {
		return 0, errNotXZ
	}
	r := recordReader{rest: b[1 : len(b)-4]}
	var fields [3]uint64 // number of blocks, packed size, unpacked size
	for i := range fields {
		var err error
		if fields[i], err = r.number(); err != nil {
			return 0, errNotXZ
		}
		if i == 0 && fields[0] != 1 {
			return 0, fmt.Errorf("%d blocks, expected 1", fields[0])
		}
	}
	return fields[2], nil
}

// block reads the header of a block: the window that its packer used. What
// follows the header is returned, too.
func block(b []byte) (window uint64, packed []byte, err error) {
	if len(b) == 0 || b[0] == 0 || 4*(int(b[0])+1) > len(b) {
		return 0, nil, errNotXZ
	}
	header, packed := b[:4*(int(b[0])+1)], b[4*(int(b[0])+1):]
	if !summed(header) {
		return 0, nil, errNotXZ
	}
	flags := header[1]
	r := recordReader{rest: header[2 : len(header)-4]}
	for _, present := range []byte{0x40, 0x80} { // packed and unpacked size
		if flags&present != 0 {
			if _, err := r.number(); err != nil {
				return 0, nil, errNotXZ
			}
		}
	}
	if flags&0x3f != 0 || len(r.rest) < 3 || r.rest[0] != filterLZMA2 || r.rest[1] != 1 {
		return 0, nil, errors.New("a filter other than LZMA2 alone")
	}
	size, err := lzma.DecodeDictCap(r.rest[2])
	if err != nil {
		return 0, nil, errNotXZ
	}
	return uint64(size), packed, nil
}

// checksum returns that of a kind, section 2.1.1.2 of the format, and nothing for
// none and for kinds that are not known; a file with such a one is refused.
func checksum(b []byte, kind byte) []byte {
	switch kind {
	case 1:
		return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b))
	case 4:
		return binary.LittleEndian.AppendUint64(nil, crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)))
	case 10:
		sum := sha256.Sum256(b)
		return sum[:]
	}
	return nil
}
