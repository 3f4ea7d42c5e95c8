package pipeline

import (
	"slices"

	"raglab/engine"
)

// serverPath is the path of the fields that name what servers a kind says it asks, see
// [raglab/axes.Needs].
const serverPath = "server"

// services are the factors whose option asks a server of somebody's when the row's
// corpus is made ready or its questions are answered, in the order of the pipeline.
func services(row Row) []string {
	var out []string
	stages := slices.Concat(row.Ingest, row.Ask)
	for _, slot := range []string{slotEmbedder, slotReranker} {
		if slices.ContainsFunc(stages, func(s *engine.Stage) bool { return asksServer(s) && slotOf(s) == slot }) {
			out = append(out, slot)
		}
	}
	return out
}

func asksServer(s *engine.Stage) bool {
	return slices.ContainsFunc(s.Fields, func(f engine.Field) bool { return f.Class == engine.Model && f.Path == serverPath })
}

// slotOf is the factor whose option asks the server that a stage asks: a chunker that
// embeds sentences does so with the embedder.
func slotOf(s *engine.Stage) string {
	if _, reranks := s.Work.(rerankWork); reranks {
		return slotReranker
	}
	return slotEmbedder
}
