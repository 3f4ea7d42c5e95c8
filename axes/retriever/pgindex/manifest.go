package pgindex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"raglab/internal/pg"
)

// Manifest is what the cache holds of an index in Postgres. It has nothing in it
// that differs between two builds: no time, no size.
type Manifest[P any] struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Table string `json:"table"`
	// Chunks is how many the corpus has.
	Chunks int `json:"chunks"`
	Params P   `json:"params"`
}

// NewManifest describes the index of a key.
func NewManifest[P any](kind, key string, chunks int, params P) (Manifest[P], error) {
	table, err := pg.TableName(key)
	return Manifest[P]{kind, key, table, chunks, params}, err
}

// Write writes the manifest.
func (m Manifest[P]) Write(w io.Writer) error {
	encoded, err := json.Marshal(m)
	if err == nil {
		_, err = w.Write(encoded)
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// ReadManifest reads what [Manifest.Write] wrote for a kind, of the given size in
// bytes, and refuses whatever else.
func ReadManifest[P any](r io.Reader, size int64, kind string) (Manifest[P], error) {
	var m Manifest[P]
	encoded, err := io.ReadAll(r)
	if err != nil {
		return m, fmt.Errorf("read the manifest: %w", err)
	}
	if int64(len(encoded)) != size {
		return m, fmt.Errorf("read the manifest: %d bytes of %d", len(encoded), size)
	}
	if err := json.Unmarshal(encoded, &m); err != nil {
		return m, fmt.Errorf("read the manifest: %w", err)
	}
	var again bytes.Buffer
	if err := m.Write(&again); err != nil {
		return m, err
	}
	table, err := pg.TableName(m.Key)
	switch {
	case err != nil:
		return m, fmt.Errorf("read the manifest: %w", err)
	case m.Kind != kind || m.Table != table || m.Chunks < 0 || !bytes.Equal(encoded, again.Bytes()):
		return m, fmt.Errorf("read the manifest: it is not one of the kind %s", kind)
	}
	return m, nil
}
