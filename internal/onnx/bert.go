package onnx

import (
	"fmt"
	"strconv"
)

// Precision is how a graph computes its matrix products.
type Precision string

// The precisions of a graph made from 4-bit weights.
const (
	// Float32Weights widens the weights: f32 products, the fastest where many
	// tokens are embedded at once.
	Float32Weights Precision = "f32"
	// FourBitWeights keeps the weights and multiplies with 8-bit activations, a
	// scale per 32 of them: half the file and memory, and faster for one short
	// text on processors with dot product instructions for 8-bit integers.
	FourBitWeights Precision = "q4"
)

// The names of the inputs and outputs that sentence encoders have by custom.
const (
	InputIDs        = "input_ids"
	AttentionMask   = "attention_mask"
	TokenTypeIDs    = "token_type_ids"
	LastHiddenState = "last_hidden_state"
)

// bertGraph builds the encoder: word + position (from 0) + token type 0, layer
// norm, then per layer attention, add & norm, feed forward with GELU (erf), add &
// norm (Devlin et al., BERT, 2019).
type bertGraph struct {
	*Model
	q         *Q4
	precision Precision
	mask      string // int32 [batch, sequence], or empty
	err       error
}

// Graph returns the encoder as a model with the input input_ids, int64 [batch,
// sequence], and the output last_hidden_state, f32 [batch, sequence, hidden]. All
// texts of a batch must have the same number of tokens, none of them padding.
func (q *Q4) Graph(p Precision) (*Model, error) {
	return q.graph(&bertGraph{Model: NewModel("bert"), q: q, precision: p})
}

// PaddedGraph is Graph with a second input, attention_mask, int64 [batch,
// sequence]: 1 for tokens, 0 for the padding after them. It is for tools that pad
// their batches, and slower.
func (q *Q4) PaddedGraph(p Precision) (*Model, error) {
	g := &bertGraph{Model: NewModel("bert"), q: q, precision: p}
	mask := g.Input(AttentionMask, Int64, "batch", "sequence")
	g.mask = g.Node("Cast", "", []string{mask}, Attr{"to", int(Int32)})
	return q.graph(g)
}

func (q *Q4) graph(g *bertGraph) (*Model, error) {
	p := g.precision
	if p != Float32Weights && p != FourBitWeights {
		return nil, fmt.Errorf("build graph: unknown precision %q", p)
	}
	x := g.embeddings(g.Input(InputIDs, Int64, "batch", "sequence"))
	for l := range q.Config.Layers {
		x = g.layer(l, x)
	}
	g.Output(LastHiddenState, x, Float32, "batch", "sequence", q.Config.Hidden)
	g.Metadata("precision", string(p))
	g.Metadata("max_tokens", strconv.Itoa(q.Config.Positions))
	if g.err != nil {
		return nil, fmt.Errorf("build graph: %w", g.err)
	}
	return g.Model, nil
}

// floats adds a tensor of the file as a constant.
func (g *bertGraph) floats(name string, dims ...int) string {
	return g.Floats(name, g.values(name, dims...), dims...)
}

func (g *bertGraph) values(name string, dims ...int) []float32 {
	n := 1
	for _, d := range dims {
		n *= d
	}
	values, err := g.q.Floats(name, n)
	if err != nil {
		g.err = err
		return make([]float32, n)
	}
	return values
}

func (g *bertGraph) embeddings(ids string) string {
	c := g.q.Config
	scales, halves, err := g.q.Blocks("emb.word", c.Vocabulary*c.Hidden)
	if err != nil {
		g.err = err
	}
	word := g.Node("GatherBlockQuantized", Microsoft, []string{
		g.Constant("emb.word.q", Uint8, halves, c.Vocabulary, c.Hidden/2),
		ids,
		g.Floats("emb.word.s", scales, c.Vocabulary, c.Hidden/q4Block),
	}, Attr{"bits", 4}, Attr{"block_size", q4Block}, Attr{"gather_axis", 0}, Attr{"quantize_axis", 1})
	// The first token type is added to every position beforehand. The table is
	// sliced by the length: ONNX Runtime turns a Gather over a Range into a Slice
	// that is wrong.
	position := g.values("emb.pos", c.Positions, c.Hidden)
	for i, v := range g.values("emb.type", c.Types, c.Hidden)[:c.Hidden] {
		for p := range c.Positions {
			position[p*c.Hidden+i] += v
		}
	}
	length := g.Node("Shape", "", []string{ids}, Attr{"start", 1}, Attr{"end", 2})
	rows := g.Node("Slice", "", []string{
		g.Floats("emb.pos", position, c.Positions, c.Hidden), g.Ints("from", 0), length, g.Ints("axis", 0),
	})
	sum := g.Node("Add", "", []string{word, rows})
	return g.Node("LayerNormalization", "",
		[]string{sum, g.floats("emb.ln.w", c.Hidden), g.floats("emb.ln.b", c.Hidden)},
		Attr{"axis", -1}, Attr{"epsilon", c.Epsilon})
}

func (g *bertGraph) layer(l int, x string) string {
	c := g.q.Config
	name := func(part string) string { return layerTensor(l, part) }
	attended := g.product(name("ao"), g.attention(l, x), c.Hidden, c.Hidden)
	x = g.addNorm(attended, x, name("ao.b"), name("aln"))
	inner := g.product(name("fi"), x, c.Hidden, c.FFN)
	inner = g.Node("BiasGelu", Microsoft, []string{inner, g.floats(name("fi.b"), c.FFN)})
	return g.addNorm(g.product(name("fo"), inner, c.FFN, c.Hidden), x, name("fo.b"), name("oln"))
}

// attention returns the heads' outputs side by side.
func (g *bertGraph) attention(l int, x string) string {
	c := g.q.Config
	heads := Attr{"num_heads", c.Heads}
	if g.precision == FourBitWeights {
		projected := make([]string, 3)
		for i, part := range []string{"q", "k", "v"} {
			n := layerTensor(l, part)
			sum := []string{g.product(n, x, c.Hidden, c.Hidden), g.floats(n+".b", c.Hidden)}
			projected[i] = g.Node("Add", "", sum)
		}
		if g.mask != "" {
			projected = append(projected, "", g.mask)
		}
		return g.Node("MultiHeadAttention", Microsoft, projected, heads)
	}
	// One product for query, key and value, in the layout of the fused operator:
	// weights [in, 3 * out].
	weights := make([]float32, 0, 3*c.Hidden*c.Hidden)
	bias := make([]float32, 0, 3*c.Hidden)
	for _, part := range []string{"q", "k", "v"} {
		weights = append(weights, g.values(layerTensor(l, part)+".w", c.Hidden, c.Hidden)...)
		bias = append(bias, g.values(layerTensor(l, part)+".b", c.Hidden)...)
	}
	inputs := []string{
		x,
		g.Floats(layerTensor(l, "qkv.w"), transpose(weights, 3*c.Hidden, c.Hidden), c.Hidden, 3*c.Hidden),
		g.Floats(layerTensor(l, "qkv.b"), bias, 3*c.Hidden),
	}
	if g.mask != "" {
		inputs = append(inputs, g.mask)
	}
	return g.Node("Attention", Microsoft, inputs, heads)
}

// product multiplies with the weights name.w, [out, in] in the file, without bias.
func (g *bertGraph) product(name string, x string, in, out int) string {
	if g.precision == Float32Weights {
		w := transpose(g.values(name+".w", out, in), out, in)
		return g.Node("MatMul", "", []string{x, g.Floats(name+".w", w, in, out)})
	}
	scales, halves, err := g.q.Blocks(name+".w", out*in)
	if err != nil {
		g.err = err
	}
	blocks := in / q4Block
	return g.Node("MatMulNBits", Microsoft, []string{
		x,
		g.Constant(name+".q", Uint8, halves, out, blocks, q4Block/2),
		g.Floats(name+".s", scales, out*blocks),
	}, Attr{"K", in}, Attr{"N", out}, Attr{"bits", 4}, Attr{"block_size", q4Block}, Attr{"accuracy_level", int8Activations})
}

// int8Activations is MatMulNBits's accuracy level that allows 8-bit activations.
const int8Activations = 4

// addNorm returns the layer norm of x + skip + bias.
func (g *bertGraph) addNorm(x, skip, bias, norm string) string {
	h := g.q.Config.Hidden
	return g.Node("SkipLayerNormalization", Microsoft,
		[]string{x, skip, g.floats(norm+".w", h), g.floats(norm+".b", h), g.floats(bias, h)},
		Attr{"epsilon", g.q.Config.Epsilon})
}

// transpose returns a matrix of rows x columns as columns x rows.
func transpose(m []float32, rows, columns int) []float32 {
	out := make([]float32, len(m))
	for r := range rows {
		for c, v := range m[r*columns : (r+1)*columns] {
			out[c*rows+r] = v
		}
	}
	return out
}
