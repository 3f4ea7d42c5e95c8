package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// pin is the content of a file in pins/.
type pin struct {
	Name string `json:"name"`
	Keys []Key  `json:"keys"`
}

// Pin keeps the records of keys, and their outputs, from collection until Unpin. A pin of the same
// name is replaced. Keys without a record may be pinned too; they are kept once they have one. The
// records are marked as used, so that a collection under way at this moment spares them.
func (l *Local) Pin(ctx context.Context, name string, keys []Key) error {
	if l.opts.ReadOnly {
		return fmt.Errorf("pin %s: %w", name, ErrReadOnly)
	}
	file, err := escapeName(name)
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	b, err := json.Marshal(pin{Name: name, Keys: keys})
	if err != nil {
		return fmt.Errorf("pin %s: %w", name, err)
	}
	if err := l.writeFile(pinDir+"/"+file, seal(b), replace); err != nil {
		return l.explain("pin "+name, err)
	}
	for _, k := range keys {
		if _, err := l.Get(ctx, k); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("pin %s: %w", name, err)
		}
	}
	return nil
}

// Unpin removes a pin; ErrNotFound when there is none of that name.
func (l *Local) Unpin(_ context.Context, name string) error {
	if l.opts.ReadOnly {
		return fmt.Errorf("unpin %s: %w", name, ErrReadOnly)
	}
	file, err := escapeName(name)
	if err != nil {
		return fmt.Errorf("unpin: %w", err)
	}
	err = os.Remove(l.path(pinDir + "/" + file))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unpin %s: %w", name, ErrNotFound)
	}
	return l.explain("unpin "+name, err)
}

// Pins are all pins, by name. A damaged one is an error, not a pin less: what it kept is unknown.
func (l *Local) Pins(ctx context.Context) (map[string][]Key, error) {
	entries, err := os.ReadDir(l.path(pinDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	pins := map[string][]Key{}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("list pins: %w", err)
		}
		name, ok := unescapeName(e.Name())
		if !ok {
			continue
		}
		p, err := l.readPin(e.Name(), name)
		if errors.Is(err, fs.ErrNotExist) { // removed since it was listed
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read pin: %w", err)
		}
		pins[p.Name] = p.Keys
	}
	return pins, nil
}

// readPin leaves a damaged pin where it is, in everybody's way, until it is pinned or unpinned
// again: moved aside it would be forgotten, and what it kept collected.
func (l *Local) readPin(file, name string) (pin, error) {
	path := l.path(pinDir + "/" + file)
	b, err := os.ReadFile(path)
	if err != nil {
		return pin{}, err
	}
	var p pin
	content, err := unseal(b)
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	if err != nil {
		return pin{}, &CorruptError{What: "pin", Name: name, Path: path, Detail: err.Error() + "; pin or unpin it again"}
	}
	return p, nil
}
