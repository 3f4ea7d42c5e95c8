package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of a blob's bytes: the blob's name. It is a plain value, comparable and
// usable as a map key. The zero Digest names no blob.
type Digest [sha256.Size]byte

// Key names an action, the work of one stage, before it has run: a SHA-256 that the caller
// computes over everything that can change the result. The cache never looks inside.
type Key [sha256.Size]byte

// DigestOf is the digest of b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// ParseDigest reads the 64 hexadecimal digits that [Digest.String] writes.
func ParseDigest(s string) (Digest, error) {
	d, err := parseHex(s)
	if err != nil {
		return Digest{}, fmt.Errorf("parse digest %q: %w", s, err)
	}
	return d, nil
}

// ParseKey reads the 64 hexadecimal digits that [Key.String] writes.
func ParseKey(s string) (Key, error) {
	k, err := parseHex(s)
	if err != nil {
		return Key{}, fmt.Errorf("parse key %q: %w", s, err)
	}
	return k, nil
}

// String is the digest as 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is the first 12 digits: enough for people, never for a lookup that must be exact.
func (d Digest) Short() string { return hex.EncodeToString(d[:6]) }

// IsZero reports whether d names no blob.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText writes the digest as [Digest.String] does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [Digest.MarshalText] wrote.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

// String is the key as 64 lower-case hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Short is the first 12 digits: enough for people, never for a lookup that must be exact.
func (k Key) Short() string { return hex.EncodeToString(k[:6]) }

// IsZero reports whether k names no action.
func (k Key) IsZero() bool { return k == Key{} }

// MarshalText writes the key as [Key.String] does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what [Key.MarshalText] wrote.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// parseHex accepts lower-case digits only, so that a name has one spelling on every file system.
func parseHex(s string) (sum [sha256.Size]byte, err error) {
	if len(s) != hex.EncodedLen(len(sum)) {
		return sum, fmt.Errorf("want %d hexadecimal digits, got %d characters", hex.EncodedLen(len(sum)), len(s))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return sum, fmt.Errorf("character %q at %d is no lower-case hexadecimal digit", c, i)
		}
	}
	_, err = hex.Decode(sum[:], []byte(s))
	return sum, err
}
