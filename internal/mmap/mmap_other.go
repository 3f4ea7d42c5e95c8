//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mmap

import (
	"io"
	"os"
)

func load(f *os.File, size int) (*File, error) {
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	return &File{bytes: b}, nil
}

func unmap([]byte) error { return nil }
