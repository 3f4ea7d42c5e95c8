package mmap

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 31)
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, want, 0o444); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil { // what is mapped stays
			t.Fatal(err)
		}
		if !bytes.Equal(f.Bytes(), want) {
			t.Errorf("%d bytes came out different", size)
		}
		for range 2 {
			if err := f.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if f.Bytes() != nil {
			t.Error("bytes are there after Close")
		}
	}
}

func TestOpen_missing(t *testing.T) {
	t.Parallel()
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
