package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// q4Writer makes files of the format.
type q4Writer struct{ bytes.Buffer }

func (w *q4Writer) put(values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			w.WriteString(s)
			continue
		}
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
}

var tinyConfig = Q4Config{Hidden: 64, Layers: 2, Heads: 4, FFN: 96, Vocabulary: 12, Positions: 20, Types: 2, Epsilon: 1e-12}

// tinyQ4 returns a small model file with random weights.
func tinyQ4() []byte {
	c := tinyConfig
	w := &q4Writer{}
	w.put("E5S1", uint32(1))
	for _, n := range []int{c.Hidden, c.Layers, c.Heads, c.FFN, c.Vocabulary, c.Positions, c.Types} {
		w.put(int32(n))
	}
	w.put(c.Epsilon, int32(32))
	pieces := []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "а", "б", "▁аб"}
	w.put(int32(len(pieces)), int32(0), int32(2), int32(1), int32(3))
	blob := strings.Join(pieces, "")
	w.put(uint64(len(blob)))
	offset := uint32(0)
	for _, p := range pieces {
		w.put(offset)
		offset += uint32(len(p))
	}
	w.put(offset)
	for i := range pieces {
		w.put(float32(-i))
	}
	w.put(blob)
	w.put(int32(2), uint32(5+8+5), uint32('½'), uint8(2), uint32('1'), uint32('2'), uint32('\u00ad'), uint8(0))
	w.tensors(c)
	return w.Bytes()
}

// tensors writes the table and random values.
func (w *q4Writer) tensors(c Q4Config) {
	r := rand.New(rand.NewPCG(3, 4))
	all := c.tensors()
	var names []string
	table := 4
	for name := range all {
		names = append(names, name)
		table += 2 + len(name) + 1 + 4 + 8 + 8
	}
	slices.Sort(names)
	at := w.Len() + table
	w.put(int32(len(names)))
	var data q4Writer
	for _, name := range names {
		elements := all[name]
		kind, start := uint8(0), data.Len()
		if strings.HasSuffix(name, ".w") && !strings.Contains(name, "ln.") || name == "emb.word" {
			kind = 1
			for range elements / 32 {
				data.put(uint16(0x2c00 + r.IntN(0x400))) // scales of 1/16 to 1/8
				for range 16 {
					data.put(uint8(r.Uint32()))
				}
			}
		} else {
			for range elements {
				data.put(float32(r.NormFloat64()))
			}
		}
		w.put(uint16(len(name)), name, kind, uint32(elements), uint64(at+start), uint64(data.Len()-start))
	}
	w.put(data.Bytes())
}

func openTiny(t testing.TB, data []byte) *Q4 {
	t.Helper()
	q, err := OpenQ4(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestOpenQ4(t *testing.T) {
	t.Parallel()
	q := openTiny(t, tinyQ4())
	if q.Config != tinyConfig {
		t.Errorf("config %+v", q.Config)
	}
	want := Q4Tokenizer{
		Pieces: []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "а", "б", "▁аб"},
		Scores: []float32{0, -1, -2, -3, -4, -5, -6, -7},
		BOS:    0, EOS: 2, Pad: 1, Unk: 3,
		Rules: []Q4Rule{{'½', []rune{'1', '2'}}, {'\u00ad', nil}},
	}
	if diff := cmp.Diff(want, q.Tokenizer); diff != "" {
		t.Error(diff)
	}
	tok, err := q.Tokenizer.New()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 7, 4, 5, 2}, tok.Encode(nil, "аб а\u00ad")); diff != "" {
		t.Error(diff)
	}
}

// Blocks and Floats must agree on every weight.
func TestQ4_blocksAreTheFloats(t *testing.T) {
	t.Parallel()
	q := openTiny(t, tinyQ4())
	n := tinyConfig.Vocabulary * tinyConfig.Hidden
	values, err := q.Floats("emb.word", n)
	if err != nil {
		t.Fatal(err)
	}
	scales, halves, err := q.Blocks("emb.word", n)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		half := halves[i/2] >> (4 * (i % 2)) & 15
		if want := float32(int(half)-8) * scales[i/32]; v != want {
			t.Fatalf("weight %d is %g, by blocks %g", i, v, want)
		}
	}
	if _, err := q.Floats("emb.word", n+1); err == nil {
		t.Error("no error for a wrong number of elements")
	}
	if _, _, err := q.Blocks("emb.pos", 20*64); err == nil {
		t.Error("no error for blocks of a float tensor")
	}
}

func TestOpenQ4_damaged(t *testing.T) {
	t.Parallel()
	good := tinyQ4()
	tests := map[string]struct {
		damage  func(b []byte) []byte
		problem string
	}{
		"empty":        {func([]byte) []byte { return nil }, "byte 0: the file ends before 4 more bytes"},
		"magic":        {func(b []byte) []byte { b[0] = 'X'; return b }, `it begins with "X5S1", expected "E5S1"`},
		"version":      {func(b []byte) []byte { b[4] = 2; return b }, "its version is 2, expected 1"},
		"negative":     {func(b []byte) []byte { b[11] = 0xff; return b }, "the hidden size is -"},
		"heads":        {func(b []byte) []byte { b[16] = 5; return b }, "do not fit each other"},
		"short":        {func(b []byte) []byte { return b[:len(b)-1] }, "lies outside of the file"},
		"blob length":  {func(b []byte) []byte { b[71] = 0xff; return b }, "the file ends before"},
		"many pieces":  {func(b []byte) []byte { b[46] = 0xff; return b }, "the file ends before"},
		"other layers": {func(b []byte) []byte { b[12] = 3; return b }, "there is no tensor"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := test.damage(bytes.Clone(good))
			_, err := OpenQ4(bytes.NewReader(data), int64(len(data)))
			if _, ok := errors.AsType[*FormatError](err); !ok || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, expected %q", err, test.problem)
			}
		})
	}
}

func FuzzOpenQ4(f *testing.F) {
	good := tinyQ4()
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := OpenQ4(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for name, elements := range q.Config.tensors() {
			if _, err := q.Floats(name, elements); err != nil {
				t.Errorf("tensor %s of an accepted file: %v", name, err)
			}
		}
	})
}

func TestHalfToFloat(t *testing.T) {
	t.Parallel()
	for half, want := range map[uint16]float32{
		0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: 1.0 / (1 << 24), 0x03ff: 1023.0 / (1 << 24), 0x3555: 0.333251953125,
	} {
		if got := halfToFloat(half); got != want {
			t.Errorf("%#04x is %g, expected %g", half, got, want)
		}
	}
	if got := halfToFloat(0xfc00); !math.IsInf(float64(got), -1) {
		t.Errorf("0xfc00 is %g", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.Uint16Range(0, 0x7bfe).Draw(t, "half")
		if !(halfToFloat(h) < halfToFloat(h+1)) {
			t.Errorf("%#04x is not less than the next", h)
		}
	})
}
