package pipeline

import (
	"fmt"

	"raglab/axes"
	"raglab/engine"
	"raglab/engine/artifact"
)

// chunkTexts are what rerankers read of the chunks that a run ranks, by ordinal.
type chunkTexts map[uint32]string

// readTexts reads the texts of the chunks in a run, by their names, and keeps no others.
func readTexts(t *engine.Task, shards int, run artifact.Run) (chunkTexts, error) {
	wanted, missing := rankedChunks(run)
	texts, chunks := make(chunkTexts, missing), 0
	for i := range shards {
		r, err := t.Open(shardName("chunks", i))
		if err != nil {
			return nil, err
		}
		for chunk, err := range artifact.ReadLines[axes.Chunk](r) {
			if err != nil {
				return nil, fmt.Errorf("read chunks: %w", err)
			}
			if ordinal, ok := wanted[chunk.Doc][chunk.N]; ok {
				texts[ordinal] = chunk.Read()
			}
			chunks++
		}
	}
	if len(texts) < missing {
		return nil, fmt.Errorf("the run has hits outside the corpus of %d chunks", chunks)
	}
	return texts, nil
}

// rankedChunks are the ordinals of the chunks in a run, by document and place, and how
// many they are.
func rankedChunks(run artifact.Run) (byDoc map[string]map[int]uint32, n int) {
	byDoc = map[string]map[int]uint32{}
	for i, hits := range run.Hits {
		for j, h := range hits {
			doc, place := artifact.SplitChunkName(run.Chunks[i][j])
			places := byDoc[doc]
			if places == nil {
				places = map[int]uint32{}
				byDoc[doc] = places
			}
			if _, known := places[place]; !known {
				places[place] = h.Ordinal
				n++
			}
		}
	}
	return byDoc, n
}

func (c chunkTexts) text(ordinal uint32) (string, error) {
	text, ok := c[ordinal]
	if !ok {
		return "", fmt.Errorf("hit %d is in no ranking that was read", ordinal)
	}
	return text, nil
}
