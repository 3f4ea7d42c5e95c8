package onnxtest

import (
	"math"
	"math/rand/v2"

	"raglab/internal/onnx"
)

// encoderWidth is how long the vectors of [WriteEncoder]'s model are: so that two
// words are hardly alike by chance.
const encoderWidth = 96

// WriteEncoder writes a folder with a sentence encoder by which texts are alike
// that share words. It was not trained: a word, known by its first letters, is a
// vector by chance, as long as its inverse document frequency in the given texts
// (see [WriteOverlap]), and a text the mean of its words. The same texts, in any
// order, give the same bytes.
func WriteEncoder(dir string, texts []string) error {
	stems, weights := vocabulary(texts)
	return writeFolder(dir, encoderGraph(weights, len(specials)+len(stems)), stems, overlapPositions)
}

// encoderGraph looks vectors up: token ids in, last_hidden_state out. Tokens
// without a weight are zeros.
func encoderGraph(weights []float32, tokens int) *onnx.Model {
	random := rand.New(rand.NewPCG(96, 1))
	table := make([]float32, tokens*encoderWidth)
	for id, w := range weights {
		for i := range encoderWidth {
			table[id*encoderWidth+i] = w * float32(random.NormFloat64()/math.Sqrt(encoderWidth))
		}
	}
	m := onnx.NewModel("encoder")
	ids := m.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence")
	vectors := m.Node("Gather", "", []string{m.Floats("table", table, tokens, encoderWidth), ids})
	m.Output(onnx.LastHiddenState, vectors, onnx.Float32, "batch", "sequence", encoderWidth)
	m.Metadata("made_by", "a rule, not by training")
	return m
}
