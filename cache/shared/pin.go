package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"raglab/cache"
)

// pin is the content of an object in pins/.
type pin struct {
	Name string      `json:"name"`
	Keys []cache.Key `json:"keys"`
}

// pinName is a pin's object: names of any text must not meet in one.
func pinName(name string) string { return pinPrefix + cache.DigestOf([]byte(name)).String() }

// Pin keeps the records of keys, and their outputs, from collection until Unpin. A pin of the same
// name is replaced.
func (s *Store) Pin(ctx context.Context, name string, keys []cache.Key) error {
	doing := "pin " + name
	if err := s.writable(ctx, doing); err != nil {
		return err
	}
	b, err := json.Marshal(pin{Name: name, Keys: keys})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return s.put(ctx, doing, pinName(name), b)
}

// Unpin removes a pin; cache.ErrNotFound when there is none of that name.
func (s *Store) Unpin(ctx context.Context, name string) error {
	doing := "unpin " + name
	if err := s.writable(ctx, doing); err != nil {
		return err
	}
	if _, err := s.stat(ctx, doing, pinName(name)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", doing, cache.ErrNotFound)
		}
		return err
	}
	return s.try(ctx, doing, func(ctx context.Context) error { return s.bucket.Delete(ctx, pinName(name)) })
}

// Pins are all pins, by name. One that cannot be read is an error: what it kept is unknown.
func (s *Store) Pins(ctx context.Context) (map[string][]cache.Key, error) {
	const doing = "list pins"
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	all, err := s.list(ctx, doing, pinPrefix)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	pins := map[string][]cache.Key{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statWorkers)
	for _, o := range all {
		if _, err := cache.ParseDigest(strings.TrimPrefix(o.Name, pinPrefix)); err != nil {
			continue // no name that pinName gives
		}
		g.Go(func() error {
			b, err := s.object(ctx, doing, o.Name)
			if errors.Is(err, fs.ErrNotExist) { // removed since it was listed
				return nil
			}
			var p pin
			if err == nil {
				err = json.Unmarshal(b, &p)
			}
			if err == nil && pinName(p.Name) != o.Name {
				err = errors.New("it is not what its name says")
			}
			if err != nil {
				return fmt.Errorf("read pin %s: %w; what it kept is unknown: pin or unpin the experiment again, or remove it", s.place(o.Name), err)
			}
			mu.Lock()
			defer mu.Unlock()
			pins[p.Name] = p.Keys
			return nil
		})
	}
	return pins, g.Wait()
}

// list is all objects below a prefix. An attempt that is cut begins anew.
func (s *Store) list(ctx context.Context, doing, prefix string) ([]Object, error) {
	var all []Object
	err := s.try(ctx, doing, func(ctx context.Context) error {
		all = nil
		for o, err := range s.bucket.List(ctx, prefix) {
			if err != nil {
				return err
			}
			moved(ctx)
			all = append(all, o)
		}
		return nil
	})
	return all, err
}
