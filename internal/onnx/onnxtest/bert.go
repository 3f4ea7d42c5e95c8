package onnxtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"raglab/internal/onnx"
)

// Config is the shape of a [BERT]. Hidden is a multiple of Heads.
type Config struct {
	Hidden, Layers, Heads, FFN, Positions int
	// Types says that the model wants token types; without it is as RoBERTa.
	Types bool
}

// BERT is a cross-encoder with weights by chance: embeddings of words, positions and
// types, layer norm, layers of attention and feed forward with GELU (erf), each with
// add & norm, then a tanh pooler over the first token and one label (Devlin et al.,
// BERT, 2019).
type BERT struct {
	Config
	pieces  []string
	weights map[string][]float32
}

// epsilon is that of the layer norms.
const epsilon = 1e-12

// NewBERT returns the model of a seed, whose vocabulary is the special tokens and
// the given pieces.
func NewBERT(seed uint64, c Config, pieces []string) *BERT {
	b := &BERT{Config: c, pieces: pieces, weights: map[string][]float32{}}
	r := rand.New(rand.NewPCG(seed, 1))
	b.fill(r, "word", len(specials)+len(pieces), c.Hidden, 1)
	b.fill(r, "position", c.Positions, c.Hidden, 0.3)
	b.fill(r, "type", 2, c.Hidden, 0.5)
	b.fillNorm(r, "norm")
	for l := range c.Layers {
		for _, part := range []string{"q", "k", "v", "o"} {
			b.fillLinear(r, at(l, part), c.Hidden, c.Hidden)
		}
		b.fillLinear(r, at(l, "in"), c.Hidden, c.FFN)
		b.fillLinear(r, at(l, "out"), c.FFN, c.Hidden)
		b.fillNorm(r, at(l, "norm1"))
		b.fillNorm(r, at(l, "norm2"))
	}
	b.fillLinear(r, "pooler", c.Hidden, c.Hidden)
	b.fillLinear(r, "label", c.Hidden, 1)
	return b
}

func at(layer int, part string) string { return fmt.Sprintf("layer%d.%s", layer, part) }

func (b *BERT) fill(r *rand.Rand, name string, rows, columns int, scale float64) {
	v := make([]float32, rows*columns)
	for i := range v {
		v[i] = float32(scale * r.NormFloat64())
	}
	b.weights[name] = v
}

// fillLinear makes weights [in, out], large enough that outputs differ.
func (b *BERT) fillLinear(r *rand.Rand, name string, in, out int) {
	b.fill(r, name+".w", in, out, 1.5/math.Sqrt(float64(in)))
	b.fill(r, name+".b", 1, out, 0.1)
}

func (b *BERT) fillNorm(r *rand.Rand, name string) {
	b.fill(r, name+".w", 1, b.Hidden, 0.1)
	for i := range b.weights[name+".w"] {
		b.weights[name+".w"][i]++
	}
	b.fill(r, name+".b", 1, b.Hidden, 0.1)
}

// Write writes the model's folder.
func (b *BERT) Write(dir string) error { return writeFolder(dir, b.Graph(), b.pieces, b.Positions) }

// Graph returns the model in plain ONNX operators: inputs input_ids,
// attention_mask and, with types, token_type_ids, int64 [batch, sequence]; output
// logits, f32 [batch, 1].
func (b *BERT) Graph() *onnx.Model {
	g := &graph{onnx.NewModel("bert"), b}
	ids := g.Input(onnx.InputIDs, onnx.Int64, "batch", "sequence")
	g.Input(onnx.AttentionMask, onnx.Int64, "batch", "sequence") // all ones: there is no padding
	x := g.op("Gather", g.tensor("word", len(b.pieces)+len(specials), b.Hidden), ids)
	length := g.Node("Shape", "", []string{ids}, onnx.Attr{Name: "start", Value: 1}, onnx.Attr{Name: "end", Value: 2})
	x = g.op("Add", x, g.op("Slice", g.tensor("position", b.Positions, b.Hidden), g.Ints("from", 0), length, g.Ints("axis", 0)))
	kinds := g.tensor("type", 2, b.Hidden)
	if b.Types {
		x = g.op("Add", x, g.op("Gather", kinds, g.Input(onnx.TokenTypeIDs, onnx.Int64, "batch", "sequence")))
	} else {
		x = g.op("Add", x, g.op("Slice", kinds, g.Ints("from", 0), g.Ints("to", 1), g.Ints("axis", 0)))
	}
	x = g.norm("norm", x)
	for l := range b.Layers {
		x = g.norm(at(l, "norm1"), g.op("Add", x, g.linear(at(l, "o"), g.attention(l, x), b.Hidden, b.Hidden)))
		inner := g.gelu(g.linear(at(l, "in"), x, b.Hidden, b.FFN))
		x = g.norm(at(l, "norm2"), g.op("Add", x, g.linear(at(l, "out"), inner, b.FFN, b.Hidden)))
	}
	first := g.Node("Gather", "", []string{x, g.Constant("zero", onnx.Int64, make([]byte, 8))}, onnx.Attr{Name: "axis", Value: 1})
	pooled := g.op("Tanh", g.linear("pooler", first, b.Hidden, b.Hidden))
	g.Output("logits", g.linear("label", pooled, b.Hidden, 1), onnx.Float32, "batch", 1)
	return g.Model
}

// graph is a BERT's graph under construction.
type graph struct {
	*onnx.Model
	b *BERT
}

func (g *graph) op(op string, inputs ...string) string { return g.Node(op, "", inputs) }

func (g *graph) tensor(name string, dims ...int) string {
	return g.Floats(name, g.b.weights[name], dims...)
}

func (g *graph) linear(name, x string, in, out int) string {
	return g.op("Add", g.op("MatMul", x, g.tensor(name+".w", in, out)), g.tensor(name+".b", out))
}

func (g *graph) norm(name, x string) string {
	return g.Node("LayerNormalization", "", []string{x, g.tensor(name+".w", g.b.Hidden), g.tensor(name+".b", g.b.Hidden)},
		onnx.Attr{Name: "axis", Value: -1}, onnx.Attr{Name: "epsilon", Value: float32(epsilon)})
}

func (g *graph) gelu(x string) string {
	erf := g.op("Erf", g.op("Div", x, g.Floats("root2", []float32{math.Sqrt2}, 1)))
	half := g.op("Mul", x, g.Floats("half", []float32{0.5}, 1))
	return g.op("Mul", half, g.op("Add", erf, g.Floats("one", []float32{1}, 1)))
}

// attention returns the heads' outputs side by side.
func (g *graph) attention(l int, x string) string {
	c := g.b.Config
	split := func(part string, order ...int64) string {
		v := g.op("Reshape", g.linear(at(l, part), x, c.Hidden, c.Hidden), g.Ints("split", 0, 0, int64(c.Heads), int64(c.Hidden/c.Heads)))
		return g.Node("Transpose", "", []string{v}, onnx.Attr{Name: "perm", Value: order})
	}
	scores := g.op("MatMul", split("q", 0, 2, 1, 3), split("k", 0, 2, 3, 1))
	scores = g.op("Div", scores, g.Floats("scale", []float32{float32(math.Sqrt(float64(c.Hidden / c.Heads)))}, 1))
	weights := g.Node("Softmax", "", []string{scores}, onnx.Attr{Name: "axis", Value: -1})
	heads := g.Node("Transpose", "", []string{g.op("MatMul", weights, split("v", 0, 2, 1, 3))}, onnx.Attr{Name: "perm", Value: []int64{0, 2, 1, 3}})
	return g.op("Reshape", heads, g.Ints("join", 0, 0, int64(c.Hidden)))
}
