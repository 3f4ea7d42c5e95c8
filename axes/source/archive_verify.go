package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// verifier hashes what is read and, at its end, fails where it is not as pinned. A
// reader that stops early learns nothing.
type verifier struct {
	io.ReadCloser
	at   string
	pin  pinnedFile
	hash hash.Hash
	n    int64
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	v.n += int64(n)
	if errors.Is(err, io.EOF) {
		if sum := hex.EncodeToString(v.hash.Sum(nil)); v.n != v.pin.Size || sum != v.pin.SHA256 {
			return 0, &Error{
				Path: v.at, Problem: fmt.Sprintf("has %d bytes with the SHA-256 %s, not the %d with %s of the lock file", v.n, sum, v.pin.Size, v.pin.SHA256),
				Hint: "what the host holds now is not what was pinned",
			}
		}
	}
	return n, err
}
