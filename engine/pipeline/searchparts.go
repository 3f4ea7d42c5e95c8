package pipeline

import (
	"context"
	"errors"
	"fmt"

	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
)

// mappedIndex is an open index over the parts of a corpus.
type mappedIndex struct {
	retriever.Searcher
	maps mappings
}

// Close closes the searcher, then what it read.
func (m *mappedIndex) Close() error { return errors.Join(m.Searcher.Close(), m.maps.close()) }

// mappings are inputs that are mapped into memory.
type mappings []*engine.Mapped

func (m *mappings) add(t *engine.Task, input string) ([]byte, error) {
	b, err := t.Map(input)
	if err != nil {
		return nil, err
	}
	*m = append(*m, b)
	return b.Bytes(), nil
}

func (m mappings) close() error {
	var errs []error
	for _, b := range m {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// openParts opens the parts of an index as one.
func openParts(ctx context.Context, t *engine.Task, leaf retriever.Leaf, analyzer text.Analyzer) (_ retriever.Searcher, err error) {
	var m mappings
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	raw, err := m.add(t, "ordinals")
	if err != nil {
		return nil, err
	}
	ordinals, err := parseOrdinals(raw)
	if err != nil {
		return nil, err
	}
	parts := make([]retriever.Part, len(ordinals))
	for i := range parts {
		if parts[i].Index, err = m.add(t, shardName("index", i)); err != nil {
			return nil, err
		}
		parts[i].Ordinals = ordinals[i]
	}
	s, err := retriever.OpenParts(ctx, leaf, parts, analyzer)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", indexError(t, err))
	}
	return &mappedIndex{s, m}, nil
}

// mappedTable is a chunk table whose lines are mapped into memory.
type mappedTable struct {
	*chunkTable
	*engine.Mapped
}

func mapTable(t *engine.Task) (mappedTable, error) {
	m, err := t.Map("chunks")
	if err != nil {
		return mappedTable{}, err
	}
	tab, err := parseTable(m.Bytes())
	if err != nil {
		return mappedTable{}, errors.Join(err, m.Close())
	}
	return mappedTable{tab, m}, nil
}
