package main

import (
	"fmt"
	"strings"
	"testing"

	"raglab/engine"
)

// TestPlanLines_partsAreOneLine: the parts of an index follow different shards, and are
// one line with their number all the same.
func TestPlanLines_partsAreOneLine(t *testing.T) {
	t.Parallel()
	lines := newPlanLines()
	for i := range 8 {
		r := engine.Reason{Kind: engine.ReasonDerived, Field: fmt.Sprintf("chunk[fixed]#%03d", 32*i)}
		lines.add(fmt.Sprintf("index[fixed bm25]#%03d", i), engine.Maybe, r, "", nil)
	}
	var text strings.Builder
	showLines(&text, lines.lines())
	want := "\n  ? maybe   index[fixed bm25] (8 stages)\n            follows chunk[fixed]\n"
	if text.String() != want {
		t.Errorf("%s, want %s", text.String(), want)
	}
}
