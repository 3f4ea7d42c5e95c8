package dense

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMapped_ranksAsMatrix: rows that stay where they lie, at any place in memory, rank
// as those that are packed, to the last bit of the scores.
func TestMapped_ranksAsMatrix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dim, n := rapid.IntRange(1, 70).Draw(rt, "dim"), rapid.IntRange(0, 120).Draw(rt, "rows")
		seed := rapid.Uint64().Draw(rt, "seed")
		rows, questions := embeddings(n, dim, seed), embeddings(3, dim, seed+1)
		if n > 3 {
			copy(rows[(n-1)*dim:], rows[:dim]) // one that scores the same
		}
		write := rapid.SampledFrom([]func(io.Writer, []float32, int) error{Write, WriteHalf}).Draw(rt, "precision")
		var file bytes.Buffer
		if err := write(&file, rows, dim); err != nil {
			rt.Fatal(err)
		}
		whole, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			rt.Fatal(err)
		}
		shift := rapid.IntRange(0, 3).Draw(rt, "shift")
		mapped, err := Map(append(make([]byte, shift), file.Bytes()...)[shift:])
		if err != nil {
			rt.Fatal(err)
		}
		depth := rapid.IntRange(0, n+2).Draw(rt, "depth")
		want, err := whole.Search(t.Context(), split(questions, dim), depth, 1)
		if err != nil {
			rt.Fatal(err)
		}
		for i, q := range split(questions, dim) {
			got, err := mapped.Search(t.Context(), q, depth, nil)
			if diff := cmp.Diff(want[i], got); err != nil || diff != "" && len(want[i])+len(got) > 0 {
				rt.Fatalf("question %d: %v (-packed +mapped):\n%s", i, err, diff)
			}
		}
	})
}

func TestMapped_refuses(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := Write(&file, []float32{1, 2, 3, 4}, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := Map(file.Bytes()[:file.Len()-4]); err == nil {
		t.Error("a file that was cut is mapped")
	}
	m, err := Map(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string][]float32{"none": nil, "longer": {1, 2, 3}, "not a number": {1, float32(math.NaN())}} {
		if _, err := m.Search(t.Context(), q, 1, nil); err == nil {
			t.Errorf("a question whose vector is %s is answered", name)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := m.Search(ctx, []float32{1, 0}, 1, nil); !errors.Is(err, stop) {
		t.Errorf("after cancelling: %v", err)
	}
}
