package dense

import (
	"context"
	"fmt"

	"raglab/axes"
	"raglab/axes/retriever/topk"
	"raglab/internal/half"
	"raglab/internal/npy"
)

// Mapped holds the vectors of a file as they lie in its bytes, as a rule a file mapped
// into memory, for more of them than memory holds. They are compared one by one in
// double precision: scores and rankings are the very ones of a [Matrix]. It does not
// change and is safe for concurrent use.
type Mapped struct{ npy.Array }

// Map prepares what [Write] or [WriteHalf] wrote, without reading the rows. The bytes
// must stay as they are for as long as it is used.
func Map(b []byte) (*Mapped, error) {
	a, err := npy.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	return &Mapped{a}, checkShape(len(a.Floats)+len(a.Halves), a.Rows, a.Dim)
}

// Half reports whether the rows are in half precision.
func (m *Mapped) Half() bool { return m.Type == npy.Float16 }

// Search appends the rows with the largest inner products with a question to dst, at
// most depth, ordered as [axes.Hit] says.
func (m *Mapped) Search(ctx context.Context, question []float32, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := checkQuestion(question, m.Rows, m.Dim); err != nil || depth <= 0 {
		return dst, err
	}
	var buf []float32
	if m.Half() {
		buf = make([]float32, m.Dim)
	}
	var best topk.Collector
	best.Reset(min(depth, m.Rows))
	for i := range m.Rows {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return dst, context.Cause(ctx)
		}
		best.Push(axes.Hit{Ordinal: uint32(i), Score: dot(m.row(i, buf), question)})
	}
	return best.Append(dst), nil
}

// row returns a row, which may lie in buf until the next call.
func (m *Mapped) row(i int, buf []float32) []float32 {
	from, to := i*m.Dim, (i+1)*m.Dim
	if !m.Half() {
		return m.Floats[from:to]
	}
	half.Decode(buf, m.Halves[from:to])
	return buf
}
