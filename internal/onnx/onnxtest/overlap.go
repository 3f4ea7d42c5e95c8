package onnxtest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"raglab/internal/onnx"
)

// The shape of [WriteOverlap]'s model.
const (
	// stem is how many letters of a word tell it from others: endings do not.
	stem = 5
	// maxStems bounds the vocabulary.
	maxStems = 30_000
	// overlapPositions is the length that the model's config names.
	overlapPositions = 512
)

// WriteOverlap writes a folder with a cross-encoder that reads how much of a
// question a passage holds. It was not trained: its logit is
//
//	8 · Σ w(t) [t in passage] / Σ w(t) − 4 − ln(length) / 4
//
// with sums over the question's words t, known by their first letters, and w(t)
// the inverse document frequency of a word in the given texts, ln(1 + (N − df + ½) /
// (df + ½)). The vocabulary is that of the texts; words that they do not have weigh
// nothing. The same texts, in any order, give the same bytes.
func WriteOverlap(dir string, texts []string) error {
	stems, weights := vocabulary(texts)
	return writeFolder(dir, overlapGraph(weights), stems, overlapPositions)
}

// vocabulary returns the pieces after the special tokens, and the weight of every
// token by id: pieces that end words weigh nothing.
func vocabulary(texts []string) (pieces []string, weights []float32) {
	df := map[string]int{}
	letters := map[string]bool{}
	for _, text := range texts {
		seen := map[string]bool{}
		for _, word := range words(text) {
			for i, r := range word {
				if s := string(r); i > 0 {
					letters[s] = true
				}
			}
			if s := firstLetters(word); !seen[s] {
				seen[s] = true
				df[s]++
			}
		}
	}
	for s := range df {
		pieces = append(pieces, s)
	}
	slices.SortFunc(pieces, func(a, b string) int { return cmp.Or(df[b]-df[a], cmp.Compare(a, b)) })
	pieces = pieces[:min(len(pieces), maxStems)]
	weights = make([]float32, len(specials), len(specials)+len(pieces)+len(letters))
	for _, s := range pieces {
		rare := (float64(len(texts)-df[s]) + 0.5) / (float64(df[s]) + 0.5)
		weights = append(weights, float32(math.Log1p(rare)))
	}
	var endings []string
	for s := range letters {
		endings = append(endings, continuing+s)
	}
	slices.Sort(endings)
	return append(pieces, endings...), append(weights, make([]float32, len(endings))...)
}

// words cuts a text as the tokenizer does, as far as words of letters and digits go.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

func firstLetters(word string) string {
	n := 0
	for i := range word {
		if n == stem {
			return word[:i]
		}
		n++
	}
	return word
}

// overlapGraph builds the graph for weights by token id.
func overlapGraph(weights []float32) *onnx.Model {
	m := onnx.NewModel("overlap")
	ids := m.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence")
	mask := m.Input(onnx.AttentionMask, onnx.Int64, "batch", "sequence")
	types := m.Input(onnx.TokenTypeIDs, onnx.Int64, "batch", "sequence")
	float := func(v string) string {
		return m.Node("Cast", "", []string{v}, onnx.Attr{Name: "to", Value: int(onnx.Float32)})
	}
	one := m.Floats("one", []float32{1}, 1)
	passage := m.Node("Mul", "", []string{float(types), float(mask)})
	question := m.Node("Mul", "", []string{m.Node("Sub", "", []string{one, float(types)}), float(mask)})
	weight := m.Node("Mul", "", []string{
		m.Node("Gather", "", []string{m.Floats("weights", weights, len(weights)), ids}), question,
	})
	// held[b, i] is 1 where some token j of the passage is token i.
	same := float(m.Node("Equal", "", []string{
		m.Node("Unsqueeze", "", []string{ids, m.Ints("column", 2)}), m.Node("Unsqueeze", "", []string{ids, m.Ints("row", 1)}),
	}))
	same = m.Node("Mul", "", []string{same, m.Node("Unsqueeze", "", []string{passage, m.Ints("row", 1)})})
	held := m.Node("ReduceMax", "", []string{same, m.Ints("last", -1)}, onnx.Attr{Name: "keepdims", Value: 0})
	sum := func(v string) string {
		return m.Node("ReduceSum", "", []string{v, m.Ints("last", -1)}, onnx.Attr{Name: "keepdims", Value: 1})
	}
	found := sum(m.Node("Mul", "", []string{weight, held}))
	all := m.Node("Add", "", []string{sum(weight), m.Floats("tiny", []float32{1e-6}, 1)})
	share := m.Node("Mul", "", []string{m.Node("Div", "", []string{found, all}), m.Floats("eight", []float32{8}, 1)})
	length := m.Node("Log", "", []string{m.Node("Add", "", []string{sum(passage), one})})
	length = m.Node("Mul", "", []string{length, m.Floats("quarter", []float32{0.25}, 1)})
	logit := m.Node("Sub", "", []string{m.Node("Sub", "", []string{share, m.Floats("four", []float32{4}, 1)}), length})
	m.Output("logits", logit, onnx.Float32, "batch", 1)
	m.Metadata("made_by", "a rule, not by training")
	return m
}
