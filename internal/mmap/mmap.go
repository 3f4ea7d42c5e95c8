// Package mmap maps files into memory, to be read at any place without a copy of
// their own. Where the system cannot, files are read whole.
package mmap

import (
	"fmt"
	"os"
)

// File is a file's content in memory. It is safe for concurrent use but for Close.
type File struct {
	bytes  []byte
	mapped bool
}

// Open maps the file at path, which must not change or shrink while it is mapped: a
// read of what is gone ends the program.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // a mapping holds without it
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != int64(int(info.Size())) {
		return nil, fmt.Errorf("map %s: %d bytes are more than memory has addresses", path, info.Size())
	}
	m, err := load(f, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return m, nil
}

// Bytes is the content. It must not be written to, nor read after Close.
func (f *File) Bytes() []byte { return f.bytes }

// Close gives the memory back. It may be called again.
func (f *File) Close() error {
	b := f.bytes
	f.bytes = nil
	if !f.mapped || b == nil {
		return nil
	}
	return unmap(b)
}
