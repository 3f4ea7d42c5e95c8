package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// sealPrefix begins the last line of a sealed file; the SHA-256 of all before it follows. People
// can read such a file, and a change of any byte shows.
const sealPrefix = "\nsha256 "

func seal(b []byte) []byte {
	return fmt.Appendf(bytes.Clone(b), "%s%s\n", sealPrefix, DigestOf(b))
}

func unseal(b []byte) ([]byte, error) {
	end := len(b) - len(sealPrefix) - 2*len(Digest{}) - 1
	if end < 0 {
		return nil, errors.New("it is cut short")
	}
	if !bytes.Equal(b, seal(b[:end])) {
		return nil, errors.New("its checksum does not fit")
	}
	return b[:end:end], nil
}

// readSealed reads a sealed file. ErrNotFound when there is none; ErrNotFound and a *CorruptError,
// with the file set aside, when it is damaged.
func (l *Local) readSealed(rel, what, name string) ([]byte, error) {
	f, err := os.Open(l.path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readWhole(f)
	if err != nil {
		return nil, err
	}
	content, err := unseal(b)
	if err == nil {
		return content, nil
	}
	damage := &CorruptError{What: what, Name: name, Path: f.Name(), Detail: err.Error()}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l.setAside(info, damage)
	return nil, fmt.Errorf("%w: %w", ErrNotFound, damage)
}
