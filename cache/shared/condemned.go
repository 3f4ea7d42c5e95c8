package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"raglab/cache"
)

// condemned is what collections found no use for, with when the first did. The next one that comes a
// grace period later removes what is still of no use.
type condemned struct {
	Records map[cache.Key]time.Time    `json:"records"`
	Blobs   map[cache.Digest]time.Time `json:"blobs"`
}

func (c condemned) record(k cache.Key) bool { return !c.Records[k].IsZero() }

func (c condemned) blob(d cache.Digest) bool { return !c.Blobs[d].IsZero() }

const (
	condemnedObject = gcPrefix + "condemned"
	knownObject     = gcPrefix + "known"
)

// readCondemned reads what the last collection left. Where it cannot be understood nothing was
// condemned: all is to be seen twice again.
func (s *Store) readCondemned(ctx context.Context) (condemned, error) {
	const doing = "read what is condemned"
	var c condemned
	b, err := s.object(ctx, doing, condemnedObject)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return condemned{}, nil //nolint:nilerr // see above
	}
	return c, nil
}

func (s *Store) writeCondemned(ctx context.Context, c condemned) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("condemn: %w", err)
	}
	return s.put(ctx, "condemn", condemnedObject, b)
}
