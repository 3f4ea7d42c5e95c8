package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// input is a file that is being read, and what it was like before.
type input struct {
	io.Reader
	path   string
	file   *os.File
	before fs.FileInfo
	unpack func() // releases the decompressor
}

// open opens a file; names that end in .gz and .zst are decompressed.
func open(path string) (*input, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	in := &input{Reader: file, path: path, file: file, unpack: func() {}}
	if in.before, err = file.Stat(); err == nil && in.before.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("is a folder, not a file")}
	}
	if err == nil {
		in.Reader, in.unpack, err = decompress(path, file)
	}
	if err != nil {
		file.Close()
		return nil, unreadable(path, err)
	}
	return in, nil
}

// decompress wraps r as the name's ending says.
func decompress(name string, r io.Reader) (io.Reader, func(), error) {
	switch {
	case strings.HasSuffix(name, ".gz"):
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	default:
		return r, func() {}, nil
	}
}

// Close closes the file and reports whether it changed since it was opened.
func (in *input) Close() error {
	in.unpack()
	if err := in.file.Close(); err != nil {
		return unreadable(in.path, err)
	}
	return unchanged(in.path, in.before)
}

// unchanged reports an error when the file's size or time of modification is
// not what it was before, or another file has taken its place.
func unchanged(path string, before fs.FileInfo) error {
	after, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err)
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		return &Error{Path: path, Problem: "the file changed while it was read", Hint: "run again once it is written"}
	}
	return nil
}

// unreadable says that the file cannot be opened or read. What is an [*Error] already
// says so itself.
func unreadable(path string, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return &Error{Path: path, Problem: fmt.Sprintf("cannot be read: %v", cause.Err), Err: err}
	}
	return &Error{Path: path, Problem: fmt.Sprintf("cannot be read: %v", err), Err: err}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines reads lines of any length and keeps count of them.
type lines struct {
	r      *bufio.Reader
	long   []byte // a line that did not fit the reader's buffer
	number int    // of the line last returned, from 1
	offset int64  // of its first byte in the (decompressed) file
	next   int64
	marked bool // the file began with a byte order mark
}

// maxLine bounds the memory that a file without line ends can take.
const maxLine = 1 << 30

var errLongLine = errors.New("a line is longer than 1 GiB")

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 1<<18)}
}

// read returns the next line without its end. The slice holds until the next
// call. The error is [io.EOF] at the end.
func (l *lines) read() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.readLong(line)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	l.number++
	l.offset = l.next
	l.next += int64(len(line))
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.number == 1 && bytes.HasPrefix(line, byteOrderMark) {
		l.marked = true
		l.offset += int64(len(byteOrderMark))
		line = line[len(byteOrderMark):]
	}
	return line, nil
}

func (l *lines) readLong(head []byte) ([]byte, error) {
	l.long = append(l.long[:0], head...)
	for {
		more, err := l.r.ReadSlice('\n')
		l.long = append(l.long, more...)
		if len(l.long) > maxLine {
			return nil, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}

// invalidUTF8 returns the offset of the first byte that is no part of a valid
// encoding, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// notUTF8 is the error for a byte at an offset in the whole file.
func notUTF8(path string, line int, offset int64, b byte) *Error {
	return &Error{
		Path: path, Line: line,
		Problem: fmt.Sprintf("not valid UTF-8: byte 0x%02X at offset %d", b, offset),
		Hint:    "convert the file, for example with iconv -t UTF-8",
	}
}
