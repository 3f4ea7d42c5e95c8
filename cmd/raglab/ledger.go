package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"raglab/cache"
	"raglab/engine"
)

// lastKeys are the keys, each once, of the results that an experiment's last apply left.
func lastKeys(c *cache.Local, experiment string) ([]cache.Key, error) {
	raw, err := c.State(experiment).Read("ledger")
	if errors.Is(err, cache.ErrNotFound) {
		return nil, fmt.Errorf("no apply of %s has left results in this cache", experiment)
	}
	if err != nil {
		return nil, err
	}
	l, err := engine.ParseLedger(raw)
	if err != nil {
		return nil, err
	}
	keys := make([]cache.Key, 0, len(l))
	for _, e := range l {
		keys = append(keys, e.Key)
	}
	slices.SortFunc(keys, func(a, b cache.Key) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys), nil
}
