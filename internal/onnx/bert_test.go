package onnx

import (
	"math"
	"testing"
)

// reference computes the encoder in plain double precision, straight from the
// definition (Devlin et al. 2019): no graph, no blocks.
type reference struct {
	t *testing.T
	q *Q4
}

func (r reference) values(name string) []float32 {
	v, err := r.q.Floats(name, r.q.Config.tensors()[name])
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r reference) linear(x [][]float64, name string) [][]float64 {
	w, b := r.values(name+".w"), r.values(name+".b")
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, len(b))
		for o := range b {
			sum := float64(b[o])
			for k, v := range row {
				sum += v * float64(w[o*len(row)+k])
			}
			out[i][o] = sum
		}
	}
	return out
}

// norm returns the layer norm of the sum of its arguments.
func (r reference) norm(name string, terms ...[][]float64) [][]float64 {
	w, b := r.values(name+".w"), r.values(name+".b")
	out := make([][]float64, len(terms[0]))
	for i := range out {
		out[i] = make([]float64, len(w))
		var mean, variance float64
		for j := range w {
			for _, t := range terms {
				out[i][j] += t[i][j]
			}
			mean += out[i][j] / float64(len(w))
		}
		for _, v := range out[i] {
			variance += (v - mean) * (v - mean) / float64(len(w))
		}
		for j, v := range out[i] {
			out[i][j] = (v-mean)/math.Sqrt(variance+float64(r.q.Config.Epsilon))*float64(w[j]) + float64(b[j])
		}
	}
	return out
}

func (r reference) attention(q, k, v [][]float64) [][]float64 {
	c := r.q.Config
	size := c.Hidden / c.Heads
	out := make([][]float64, len(q))
	for i := range q {
		out[i] = make([]float64, c.Hidden)
		for h := range c.Heads {
			weights, sum := make([]float64, len(k)), 0.0
			for j := range k {
				for d := h * size; d < (h+1)*size; d++ {
					weights[j] += q[i][d] * k[j][d] / math.Sqrt(float64(size))
				}
				weights[j] = math.Exp(weights[j])
				sum += weights[j]
			}
			for j := range v {
				for d := h * size; d < (h+1)*size; d++ {
					out[i][d] += weights[j] / sum * v[j][d]
				}
			}
		}
	}
	return out
}

func (r reference) run(ids []int64) [][]float64 {
	h := r.q.Config.Hidden
	word, position, kind := r.values("emb.word"), r.values("emb.pos"), r.values("emb.type")
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, h)
		for j := range h {
			x[i][j] = float64(word[int(id)*h+j]) + float64(position[i*h+j]) + float64(kind[j])
		}
	}
	x = r.norm("emb.ln", x)
	for l := range r.q.Config.Layers {
		at := func(part string) string { return layerTensor(l, part) }
		a := r.attention(r.linear(x, at("q")), r.linear(x, at("k")), r.linear(x, at("v")))
		x = r.norm(at("aln"), r.linear(a, at("ao")), x)
		inner := r.linear(x, at("fi"))
		for _, row := range inner {
			for j, v := range row {
				row[j] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
			}
		}
		x = r.norm(at("oln"), r.linear(inner, at("fo")), x)
	}
	return x
}

func TestGraph_isTheEncoder(t *testing.T) {
	t.Parallel()
	runtime := testRuntime(t)
	q := openTiny(t, tinyQ4())
	for precision, tolerance := range map[Precision]float64{Float32Weights: 1e-9, FourBitWeights: 2e-3} {
		m, err := q.Graph(precision)
		if err != nil {
			t.Fatal(err)
		}
		s, err := runtime.Open(writeModel(t, m), Options{Inputs: []string{InputIDs}, Outputs: [][]string{{LastHiddenState}}})
		if err != nil {
			t.Fatal(err)
		}
		ids := []int64{0, 7, 4, 5, 2, 0, 11, 3, 3, 2}
		out, err := s.Run(t.Context(), 2, 5, ids)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0 // 1 - cosine of a token's vectors
		for row := range 2 {
			want := (reference{t, q}).run(ids[row*5 : row*5+5])
			for i := range want {
				at := (row*5 + i) * q.Config.Hidden
				worst = max(worst, 1-cosine(want[i], out[0].Data[at:at+q.Config.Hidden]))
			}
		}
		if !(worst < tolerance) {
			t.Errorf("%s: the worst cosine is 1 - %g, expected less than %g", precision, worst, tolerance)
		}
		t.Logf("%s: the worst cosine is 1 - %g", precision, worst)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := q.Graph("f64"); err == nil {
		t.Error("no error for an unknown precision")
	}
}

// Padding after a text changes nothing for the text.
func TestPaddedGraph_ignoresPadding(t *testing.T) {
	t.Parallel()
	runtime := testRuntime(t)
	q := openTiny(t, tinyQ4())
	for precision, tolerance := range map[Precision]float64{Float32Weights: 1e-9, FourBitWeights: 2e-3} {
		m, err := q.PaddedGraph(precision)
		if err != nil {
			t.Fatal(err)
		}
		s, err := runtime.Open(writeModel(t, m), Options{
			Inputs: []string{InputIDs, AttentionMask}, Outputs: [][]string{{LastHiddenState}},
		})
		if err != nil {
			t.Fatal(err)
		}
		given := map[string][]int64{InputIDs: {0, 7, 2, 1, 1, 0, 4, 5, 6, 2}, AttentionMask: {1, 1, 1, 0, 0, 1, 1, 1, 1, 1}}
		var inputs [][]int64
		for _, in := range s.Inputs() {
			inputs = append(inputs, given[in.Name])
		}
		out, err := s.Run(t.Context(), 2, 5, inputs...)
		if err != nil {
			t.Fatal(err)
		}
		for row, length := range []int{3, 5} {
			want := (reference{t, q}).run(given[InputIDs][row*5 : row*5+length])
			for i := range want {
				at := (row*5 + i) * q.Config.Hidden
				if c := cosine(want[i], out[0].Data[at:at+q.Config.Hidden]); !(1-c < tolerance) {
					t.Errorf("%s: token %d of text %d has cosine %.9f", precision, i, row, c)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func cosine(a []float64, b []float32) float64 {
	var dot, aa, bb float64
	for i, x := range a {
		y := float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
