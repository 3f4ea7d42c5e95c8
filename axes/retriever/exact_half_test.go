package retriever_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
	"raglab/internal/half"
	"raglab/internal/npy"
)

// halved is a corpus with its vectors as half precision keeps them.
func halved(c *axestest.Corpus) *axestest.Corpus {
	h := *c
	h.Rows = make([]float32, len(c.Rows))
	for i, x := range c.Rows {
		h.Rows[i] = half.To(half.From(x))
	}
	return &h
}

func setHalf(p any) { p.(*retriever.ExactParams).Precision = "half" }

func TestExact_half(t *testing.T) {
	t.Parallel()
	for dim, golden := range map[int]string{1: "2960801505443706", 7: "8215075634b7edf7", 16: "7f8ae3d7b2f765b6", 33: "8d83e6716933d6ae", 96: "272b045ece196034"} {
		t.Run(fmt.Sprintf("%d dimensions", dim), func(t *testing.T) {
			t.Parallel()
			axestest.RunRetriever(t, axestest.Retriever{
				Kind: leaf(t, "exact"), Env: axes.Env{Threads: 2}, Dim: dim, Set: setHalf,
				Oracle: func(c *axestest.Corpus, q axes.Query) []axes.Hit { return innerProducts(halved(c), q) },
				Golden: map[string]string{"1": golden},
			})
		})
	}
}

// TestExact_halfIsHalfTheIndex: two bytes for each number, in a file that NumPy
// reads, and an index of one precision is not opened as another.
func TestExact_halfIsHalfTheIndex(t *testing.T) {
	t.Parallel()
	c := axestest.RandomCorpus(rand.New(rand.NewPCG(1, 1)), 100, 64)
	files := map[bool][]byte{}
	for _, half := range []bool{false, true} {
		var b bytes.Buffer
		if err := made(t, half).Build(t.Context(), c, nil, &b); err != nil {
			t.Fatal(err)
		}
		files[half] = b.Bytes()
		a, err := npy.Parse(b.Bytes())
		if err != nil || a.Rows != 100 || a.Dim != 64 || (a.Type == npy.Float16) != half {
			t.Errorf("half %v: %+v, %v", half, a.Header, err)
		}
		if _, err := made(t, !half).Open(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil); err == nil {
			t.Errorf("half %v: opened as the other", half)
		}
	}
	if whole, halved := len(files[false])-128, len(files[true])-128; halved*2 != whole || whole != 4*100*64 {
		t.Errorf("%d bytes in single precision, %d in half", whole, halved)
	}
}

func made(t *testing.T, half bool) retriever.Leaf {
	t.Helper()
	k := leaf(t, "exact")
	p := k.Params()
	if half {
		setHalf(p)
	}
	l, err := k.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestExact_halfNamesTheChunkThatDoesNotFit(t *testing.T) {
	t.Parallel()
	c := &axestest.Corpus{Chunks: []string{"a", "b"}, Rows: []float32{1, 2, 3, -70000}, Dim: 2}
	err := made(t, true).Build(t.Context(), c, nil, io.Discard)
	if chunk, ok := errors.AsType[*retriever.ChunkError](err); !ok || chunk.Ordinal != 1 {
		t.Errorf("%v", err)
	}
	if err := made(t, false).Build(t.Context(), c, nil, io.Discard); err != nil {
		t.Errorf("in single precision: %v", err)
	}
}

// TestRounded tells what is held against full precision.
func TestRounded(t *testing.T) {
	t.Parallel()
	env, _ := inPostgres(t)
	for _, test := range []struct {
		kind     string
		set      func(any)
		distance string
		rounded  bool
	}{
		{"exact", func(any) {}, "ip", false},
		{"exact", setHalf, "ip", true},
		{"pgvector", func(p any) { p.(*retriever.PGVectorParams).Index = "exact" }, "cosine", false},
		{"pgvector", func(p any) {
			p.(*retriever.PGVectorParams).Index, p.(*retriever.PGVectorParams).Type = "exact", "halfvec"
		}, "cosine", true},
		{"pgvector", func(p any) {
			p.(*retriever.PGVectorParams).Distance, p.(*retriever.PGVectorParams).Type = "l2", "halfvec"
		}, "l2", true},
	} {
		k := leaf(t, test.kind)
		p := k.Params()
		test.set(p)
		l, err := k.New(p, env)
		if err != nil {
			t.Fatal(err)
		}
		distance, rounded := l.(retriever.Rounded).Rounded()
		if rounded != test.rounded || rounded && distance != test.distance {
			t.Errorf("%s %+v: %q, %v", test.kind, p, distance, rounded)
		}
	}
}
