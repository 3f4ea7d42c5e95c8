package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"raglab/axes"
	"raglab/axes/retriever"
)

// A leaf knows the ordinal of what it cannot hold, people know documents.
func TestIndexCorpus_namesChunks(t *testing.T) {
	t.Parallel()
	large := errors.New("too large: cut it")
	order := []string{"a", "none", "b"}
	c := &indexCorpus{order: order, tab: newTable(order, shardRange{0, 1, 1})}
	for _, chunk := range []axes.Chunk{{Doc: "a"}, {Doc: "a", N: 1}, {Doc: "b"}, {Doc: "b", N: 1}, {Doc: "b", N: 2}} {
		if err := c.tab.add(chunk); err != nil {
			t.Fatal(err)
		}
	}
	for ordinal, want := range []string{"a#0", "a#1", "b#0", "b#1", "b#2"} {
		err := c.named(fmt.Errorf("build the table: %w", &retriever.ChunkError{Ordinal: ordinal, Err: large}))
		if !errors.Is(err, large) || err.Error() != "chunk "+want+": too large: cut it" {
			t.Errorf("%d: %v", ordinal, err)
		}
	}
	outside := &retriever.ChunkError{Ordinal: 5, Err: large}
	for _, err := range []error{outside, large, nil} {
		if got := c.named(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
