package chunkertest

import (
	"hash/fnv"
	"strings"

	"raglab/axes"
	"raglab/axes/chunker"
)

// buckets is the length of the vectors.
const buckets = 64

// Vectors are embeddings for tests: of each text the counts of its words, by the
// remainder of their hash. Texts that share words are near each other.
func Vectors(texts []string) [][]float32 {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, buckets)
		for word := range strings.FieldsSeq(text) {
			h := fnv.New32a()
			_, _ = h.Write([]byte(word)) // a hash takes any bytes
			vectors[i][h.Sum32()%buckets]++
		}
	}
	return vectors
}

// WithVectors is a chunker that cuts by meaning as a plain one, by [Vectors].
func WithVectors(c chunker.Chunker) chunker.Chunker { return embedded{c.(chunker.Embedded)} }

type embedded struct{ chunker.Embedded }

func (e embedded) Chunk(doc axes.Document) ([]axes.Chunk, error) {
	texts, err := e.Sentences(doc)
	if err != nil {
		return nil, err
	}
	return e.Cut(doc, Vectors(texts))
}
