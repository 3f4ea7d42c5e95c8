package pipeline

import (
	"slices"
	"testing"

	"raglab/engine"
)

// TestServices_whoeverBills names the factors that ask a server, with or without a price.
func TestServices_whoeverBills(t *testing.T) {
	t.Parallel()
	server := []engine.Field{{Class: engine.Model, Path: serverPath, Value: "models.test"}}
	model := []engine.Field{{Class: engine.Model, Path: "e5_small", Value: "digest"}}
	here := &engine.Stage{Kind: embedKind, Fields: model, Work: embedWork{}}
	there := &engine.Stage{Kind: embedKind, Fields: server, Work: embedWork{}}
	meaning := &engine.Stage{Kind: chunkKindEmbedder, Fields: server, Work: chunkWork{}}
	reranked := &engine.Stage{Kind: rerankKindVolatile, Fields: server, Work: rerankWork{}}
	for _, tc := range []struct {
		name string
		row  Row
		want []string
	}{
		{"nobody", Row{Ingest: []*engine.Stage{here}}, nil},
		{"the embedder", Row{Ingest: []*engine.Stage{here, there}}, []string{slotEmbedder}},
		{"the chunker's embedder", Row{Ingest: []*engine.Stage{meaning}}, []string{slotEmbedder}},
		{"both", Row{Ingest: []*engine.Stage{there}, Ask: []*engine.Stage{there, reranked}}, []string{slotEmbedder, slotReranker}},
	} {
		if got := services(tc.row); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
