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
	check, size, err := frame(file)
	if err != nil {
		return nil, err
	}
	if size > maxStream || size > maxRatio*uint64(len(file)) {
		return nil, fmt.Errorf("%d bytes hold no %d", len(file), size)
	}
	window, begin, err := blockHeader(file)
	if err != nil {
		return nil, err
	}
	packed := bytes.NewReader(file[begin:])
	r, err := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, int(min(window, size)))}.NewReader2(packed)
	if err != nil {
		return nil, err
	}
	stream := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := stream.ReadFrom(io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, err
	}
	if uint64(stream.Len()) != size {
		return nil, fmt.Errorf("the index says %d bytes, there are others", size)
	}
	end := len(file) - packed.Len()
	end += -end & 3 // padding
	if sum := checksum(stream.Bytes(), check); !bytes.HasPrefix(file[min(end, len(file)):], sum) {
		return nil, errors.New("the checksum is wrong")
	}
	return stream.Bytes(), nil
}

// frame reads the header, the footer and the index of an XZ file: the kind of
// its checksum and how much it holds.
func frame(file []byte) (check byte, size uint64, err error) {
	if len(file) < xzHeader+xzFooter || len(file)%4 != 0 || string(file[:6]) != xzMagic {
		return 0, 0, errNotXZ
	}
	footer := file[len(file)-xzFooter:]
	flags := file[6:8]
	switch {
	case binary.LittleEndian.Uint32(file[8:]) != crc32.ChecksumIEEE(flags),
		binary.LittleEndian.Uint32(footer) != crc32.ChecksumIEEE(footer[4:10]),
		!bytes.Equal(footer[8:10], flags),
		string(footer[10:]) != xzTail:
		return 0, 0, errNotXZ
	}
	begin := int64(len(file)) - xzFooter - 4*(int64(binary.LittleEndian.Uint32(footer[4:]))+1)
	if begin < xzHeader {
		return 0, 0, errNotXZ
	}
	size, err = index(file[begin : len(file)-xzFooter])
	return flags[1], size, err
}

// index returns the unpacked size of the one block that an index lists.
func index(b []byte) (uint64, error) {
	content, sum := b[:len(b)-4], b[len(b)-4:]
	if binary.LittleEndian.Uint32(sum) != crc32.ChecksumIEEE(content) || content[0] != 0 {
		return 0, errNotXZ
	}
	r := recordReader{rest: content[1:]}
	blocks, err := r.number()
	if err != nil {
		return 0, errNotXZ
	}
	if blocks != 1 {
		return 0, fmt.Errorf("%d blocks, expected 1", blocks)
	}
	if _, err = r.number(); err != nil {
		return 0, errNotXZ
	}
	size, err := r.number()
	if err != nil {
		return 0, errNotXZ
	}
	return size, nil
}

// blockHeader reads the header of the first block: the window that its packer
// used and where the packed bytes begin.
func blockHeader(file []byte) (window uint64, begin int, err error) {
	length := 4 * (int(file[xzHeader]) + 1)
	if file[xzHeader] == 0 || xzHeader+length > len(file) {
		return 0, 0, errNotXZ
	}
	header := file[xzHeader : xzHeader+length]
	content, sum := header[:length-4], header[length-4:]
	if binary.LittleEndian.Uint32(sum) != crc32.ChecksumIEEE(content) {
		return 0, 0, errNotXZ
	}
	flags := content[1]
	r := recordReader{rest: content[2:]}
	for _, present := range []byte{0x40, 0x80} { // packed and unpacked size
		if flags&present != 0 {
			if _, err := r.number(); err != nil {
				return 0, 0, errNotXZ
			}
		}
	}
	if flags&0x3f != 0 || len(r.rest) < 3 || r.rest[0] != filterLZMA2 || r.rest[1] != 1 {
		return 0, 0, errors.New("a filter other than LZMA2 alone")
	}
	size, err := lzma.DecodeDictCap(r.rest[2])
	if err != nil {
		return 0, 0, errNotXZ
	}
	return uint64(size), xzHeader + length, nil
}

// checksum returns that of a kind, section 2.1.1.2 of the format. For kinds that
// are not known there is nothing to compare.
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
