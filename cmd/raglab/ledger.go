package main

import (
	"errors"
	"fmt"

	"raglab/cache"
	"raglab/engine"
)

// lastKeys are the keys of the results that an experiment's last apply left.
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
	return keys, nil
}
