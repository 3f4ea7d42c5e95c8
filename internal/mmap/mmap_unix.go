//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mmap

import (
	"os"
	"syscall"
)

func load(f *os.File, size int) (*File, error) {
	if size == 0 { // an empty mapping is an error
		return &File{}, nil
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &File{bytes: b, mapped: true}, nil
}

func unmap(b []byte) error { return os.NewSyscallError("munmap", syscall.Munmap(b)) }
