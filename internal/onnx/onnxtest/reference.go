package onnxtest

import "math"

// Logit computes the model's output for one pair in double precision, straight from
// the definition: no graph, no batch. Without types the types are not read.
func (b *BERT) Logit(ids, types []int32) float64 {
	x := make([][]float64, len(ids))
	for i, id := range ids {
		kind := 0
		if b.Types {
			kind = int(types[i])
		}
		x[i] = make([]float64, b.Hidden)
		for j := range x[i] {
			x[i][j] = b.weight("word", int(id)*b.Hidden+j) + b.weight("position", i*b.Hidden+j) + b.weight("type", kind*b.Hidden+j)
		}
	}
	x = b.norm("norm", x)
	for l := range b.Layers {
		attended := b.linear(at(l, "o"), b.attention(b.linear(at(l, "q"), x), b.linear(at(l, "k"), x), b.linear(at(l, "v"), x)))
		x = b.norm(at(l, "norm1"), sum(x, attended))
		inner := b.linear(at(l, "in"), x)
		each(inner, func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) })
		x = b.norm(at(l, "norm2"), sum(x, b.linear(at(l, "out"), inner)))
	}
	pooled := b.linear("pooler", x[:1])
	each(pooled, math.Tanh)
	return b.linear("label", pooled)[0][0]
}

func (b *BERT) weight(name string, i int) float64 { return float64(b.weights[name][i]) }

func (b *BERT) linear(name string, x [][]float64) [][]float64 {
	n := len(b.weights[name+".b"])
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, n)
		for o := range n {
			out[i][o] = b.weight(name+".b", o)
			for k, v := range row {
				out[i][o] += v * b.weight(name+".w", k*n+o)
			}
		}
	}
	return out
}

func (b *BERT) norm(name string, x [][]float64) [][]float64 {
	for _, row := range x {
		var mean, variance float64
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		for j, v := range row {
			row[j] = (v-mean)/math.Sqrt(variance+epsilon)*b.weight(name+".w", j) + b.weight(name+".b", j)
		}
	}
	return x
}

func (b *BERT) attention(q, k, v [][]float64) [][]float64 {
	size := b.Hidden / b.Heads
	out := make([][]float64, len(q))
	for i := range q {
		out[i] = make([]float64, b.Hidden)
		for from := 0; from < b.Hidden; from += size {
			weights, total := make([]float64, len(k)), 0.0
			for j := range k {
				for d := from; d < from+size; d++ {
					weights[j] += q[i][d] * k[j][d] / math.Sqrt(float64(size))
				}
				weights[j] = math.Exp(weights[j])
				total += weights[j]
			}
			for j := range v {
				for d := from; d < from+size; d++ {
					out[i][d] += weights[j] / total * v[j][d]
				}
			}
		}
	}
	return out
}

func sum(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for i := range a {
		out[i] = make([]float64, len(a[i]))
		for j := range a[i] {
			out[i][j] = a[i][j] + b[i][j]
		}
	}
	return out
}

func each(x [][]float64, f func(float64) float64) {
	for _, row := range x {
		for j, v := range row {
			row[j] = f(v)
		}
	}
}
