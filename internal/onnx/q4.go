package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Q4 is an open file of the 4-bit sentence encoder format "E5S1": a BERT encoder
// and its Unigram tokenizer. Little-endian throughout. Weight matrices are [out,
// in], cut along in into blocks of 32 weights: a 16-bit float scale and 16 bytes,
// weight j in the low half of byte j, weight j+16 in the high half, each worth
// (half - 8) * scale.
//
// Methods may be called from several goroutines if the reader allows it.
type Q4 struct {
	Config    Q4Config
	Tokenizer Q4Tokenizer
	r         io.ReaderAt
	tensors   map[string]q4Tensor
}

// Q4Config is the shape of the encoder.
type Q4Config struct {
	Hidden, Layers, Heads, FFN   int
	Vocabulary, Positions, Types int
	Epsilon                      float32 // of the layer norms
}

// Q4Tokenizer is the Unigram vocabulary: piece i has Scores[i]. Rules replace
// single code points before words are cut.
type Q4Tokenizer struct {
	Pieces             []string
	Scores             []float32
	BOS, EOS, Pad, Unk int32
	Rules              []Q4Rule
}

// Q4Rule replaces one code point by others, possibly none.
type Q4Rule struct {
	From rune
	To   []rune
}

// q4Tensor is an entry of the tensor table.
type q4Tensor struct {
	blocks   bool // 4 bit, else 32-bit floats
	elements int
	offset   int64
	bytes    int64
}

const (
	q4Block      = 32            // weights in a block
	q4BlockBytes = 2 + q4Block/2 // scale and halves
	q4Limit      = 1 << 24       // more than any count in the format
	q4MaxLayers  = 256
	q4Magic      = "E5S1"
	q4Version    = 1
)

// FormatError says that a model file is not what its format prescribes.
type FormatError struct {
	// Offset is where in the file, Problem what.
	Offset  int64
	Problem string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("not a valid %s model file: byte %d: %s", q4Magic, e.Offset, e.Problem)
}

// OpenQ4 reads everything but the tensors' values. A file that breaks the format
// gives a [*FormatError]. No more memory is taken than the file is long.
func OpenQ4(r io.ReaderAt, size int64) (*Q4, error) {
	p := &q4Parser{r: io.NewSectionReader(r, 0, size), size: size}
	q := &Q4{r: r}
	p.header(&q.Config)
	p.tokenizer(&q.Tokenizer)
	q.tensors = p.table()
	if p.err == nil {
		p.check(q)
	}
	if p.err != nil {
		return nil, p.err
	}
	return q, nil
}

// Floats returns a tensor's values, 4-bit weights widened.
func (q *Q4) Floats(name string, elements int) ([]float32, error) {
	t, data, err := q.read(name, elements)
	if err != nil {
		return nil, err
	}
	out := make([]float32, elements)
	if !t.blocks {
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return out, nil
	}
	for b := range elements / q4Block {
		block := data[b*q4BlockBytes:]
		scale := halfToFloat(binary.LittleEndian.Uint16(block))
		for j, v := range block[2:q4BlockBytes] {
			out[b*q4Block+j] = float32(int(v&15)-8) * scale
			out[b*q4Block+j+q4Block/2] = float32(int(v>>4)-8) * scale
		}
	}
	return out, nil
}

// Blocks returns a 4-bit tensor as ONNX Runtime's block-quantized operators want
// it: the scales, and the halves in the weights' order, the first of two in the
// low half. Each stands for (half - 8) * scale.
func (q *Q4) Blocks(name string, elements int) (scales []float32, halves []byte, err error) {
	t, data, err := q.read(name, elements)
	if err != nil {
		return nil, nil, err
	}
	if !t.blocks {
		return nil, nil, fmt.Errorf("read tensor %s: it is not 4 bit", name)
	}
	scales = make([]float32, elements/q4Block)
	halves = make([]byte, elements/2)
	for b := range scales {
		block := data[b*q4BlockBytes:]
		scales[b] = halfToFloat(binary.LittleEndian.Uint16(block))
		in, out := block[2:q4BlockBytes], halves[b*q4Block/2:]
		for j := 0; j < q4Block/2; j += 2 {
			out[j/2] = in[j]&15 | in[j+1]<<4
			out[j/2+q4Block/4] = in[j]>>4 | in[j+1]&0xf0
		}
	}
	return scales, halves, nil
}

// read returns a tensor's bytes.
func (q *Q4) read(name string, elements int) (q4Tensor, []byte, error) {
	t, ok := q.tensors[name]
	if !ok {
		return t, nil, fmt.Errorf("read tensor %s: the file has none of that name", name)
	}
	if t.elements != elements {
		return t, nil, fmt.Errorf("read tensor %s: it has %d elements, expected %d", name, t.elements, elements)
	}
	data := make([]byte, t.bytes)
	if _, err := q.r.ReadAt(data, t.offset); err != nil {
		return t, nil, fmt.Errorf("read tensor %s: %w", name, err)
	}
	return t, data, nil
}

// halfToFloat widens an IEEE 754 16-bit float.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero or subnormal: fraction * 2^-24
		f := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
