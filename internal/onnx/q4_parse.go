package onnx

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// q4Parser reads the parts of the file in their order. After the first error it
// reads zeros.
type q4Parser struct {
	r    *io.SectionReader
	b    *bufio.Reader
	at   int64
	size int64
	err  error
}

func (p *q4Parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &FormatError{Offset: p.at, Problem: fmt.Sprintf(format, args...)}
	}
}

// take reads n bytes, nil after an error.
func (p *q4Parser) take(n int64) []byte {
	if p.err != nil {
		return nil
	}
	if n < 0 || n > p.size-p.at {
		p.fail("the file ends before %d more bytes", n)
		return nil
	}
	if p.b == nil {
		p.b = bufio.NewReaderSize(p.r, 1<<16)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(p.b, data); err != nil {
		p.err = fmt.Errorf("read model file: %w", err)
		return nil
	}
	p.at += n
	return data
}

func (p *q4Parser) u8() int {
	if b := p.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (p *q4Parser) u16() int {
	if b := p.take(2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (p *q4Parser) u32() uint32 {
	if b := p.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *q4Parser) u64() uint64 {
	if b := p.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads a 32-bit number that must lie between low and the format's limit.
func (p *q4Parser) count(what string, low int) int {
	v := int(int32(p.u32()))
	if p.err == nil && (v < low || v > q4Limit) {
		p.fail("%s is %d", what, v)
	}
	if p.err != nil {
		return 0
	}
	return v
}

func (p *q4Parser) header(c *Q4Config) {
	if magic := p.take(4); string(magic) != q4Magic {
		p.fail("it begins with %q, expected %q", magic, q4Magic)
	}
	if v := p.u32(); v != q4Version {
		p.fail("its version is %d, expected %d", v, q4Version)
	}
	c.Hidden = p.count("the hidden size", 1)
	c.Layers = p.count("the number of layers", 1)
	c.Heads = p.count("the number of heads", 1)
	c.FFN = p.count("the feed-forward size", 1)
	c.Vocabulary = p.count("the number of embedding rows", 1)
	c.Positions = p.count("the number of positions", 1)
	c.Types = p.count("the number of token types", 1)
	c.Epsilon = math.Float32frombits(p.u32())
	block := p.count("the block size", 1)
	switch {
	case p.err != nil:
	case block != q4Block:
		p.fail("the block size is %d, expected %d", block, q4Block)
	case c.Layers > q4MaxLayers:
		p.fail("the number of layers is %d", c.Layers)
	case c.Hidden%q4Block != 0 || c.FFN%q4Block != 0 || c.Hidden%c.Heads != 0:
		p.fail("the sizes hidden %d, feed-forward %d, heads %d do not fit each other", c.Hidden, c.FFN, c.Heads)
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		p.fail("the layer norm epsilon is %g", c.Epsilon)
	}
}

func (p *q4Parser) tokenizer(t *Q4Tokenizer) {
	n := p.count("the number of pieces", 1)
	for _, id := range []*int32{&t.BOS, &t.EOS, &t.Pad, &t.Unk} {
		*id = int32(p.count("a special piece", 0))
		if p.err == nil && int(*id) >= n {
			p.fail("special piece %d of %d", *id, n)
		}
	}
	blobLength := p.u64()
	offsets := p.take(4 * int64(n+1))
	scores := p.take(4 * int64(n))
	blob := p.take(int64(min(blobLength, math.MaxInt64)))
	if p.err != nil {
		return
	}
	t.Scores = make([]float32, n)
	t.Pieces = make([]string, n)
	text := string(blob)
	for i := range n {
		from, to := binary.LittleEndian.Uint32(offsets[4*i:]), binary.LittleEndian.Uint32(offsets[4*i+4:])
		if from > to || uint64(to) > blobLength || !utf8.ValidString(text[from:to]) {
			p.fail("piece %d is not a text", i)
			return
		}
		t.Pieces[i] = text[from:to]
		t.Scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:]))
		if s := float64(t.Scores[i]); math.IsNaN(s) || math.IsInf(s, 0) {
			p.fail("the score of piece %d is %g", i, s)
			return
		}
	}
	p.rules(t)
}

func (p *q4Parser) rules(t *Q4Tokenizer) {
	n := p.count("the number of rules", 0)
	end := int64(p.u32()) + p.at
	for i := 0; i < n && p.err == nil; i++ {
		rule := Q4Rule{From: rune(p.u32())}
		for range p.u8() {
			rule.To = append(rule.To, rune(p.u32()))
		}
		for _, r := range append([]rune{rule.From}, rule.To...) {
			if !utf8.ValidRune(r) {
				p.fail("rule %d has code point %#x", i, r)
			}
		}
		t.Rules = append(t.Rules, rule)
	}
	if p.err == nil && p.at != end {
		p.fail("the rules end here, expected at %d", end)
	}
}

func (p *q4Parser) table() map[string]q4Tensor {
	n := p.count("the number of tensors", 1)
	tensors := map[string]q4Tensor{}
	for i := 0; i < n && p.err == nil; i++ {
		name := string(p.take(int64(p.u16())))
		kind, elements := p.u8(), int64(p.u32())
		offset, bytes := p.u64(), p.u64()
		if p.err != nil {
			break
		}
		want := 4 * elements
		if kind == 1 {
			want = elements / q4Block * q4BlockBytes
		}
		switch {
		case kind > 1:
			p.fail("tensor %q has type %d", name, kind)
		case kind == 1 && elements%q4Block != 0, bytes != uint64(want):
			p.fail("tensor %q has %d elements in %d bytes", name, elements, bytes)
		case offset > uint64(p.size) || bytes > uint64(p.size)-offset:
			p.fail("tensor %q lies outside of the file", name)
		}
		tensors[name] = q4Tensor{blocks: kind == 1, elements: int(elements), offset: int64(offset), bytes: int64(bytes)}
	}
	return tensors
}

// check makes sure that the graph's tensors are there, with the right sizes.
func (p *q4Parser) check(q *Q4) {
	for name, elements := range q.Config.tensors() {
		t, ok := q.tensors[name]
		if !ok {
			p.fail("there is no tensor %q", name)
		} else if t.elements != elements {
			p.fail("tensor %q has %d elements, expected %d", name, t.elements, elements)
		}
	}
	if len(q.Tokenizer.Pieces) > q.Config.Vocabulary {
		p.fail("%d pieces, but only %d embedding rows", len(q.Tokenizer.Pieces), q.Config.Vocabulary)
	}
}

// tensors returns the elements of each tensor by its name.
func (c Q4Config) tensors() map[string]int {
	h, f := c.Hidden, c.FFN
	all := map[string]int{
		"emb.word": c.Vocabulary * h, "emb.pos": c.Positions * h, "emb.type": c.Types * h,
		"emb.ln.w": h, "emb.ln.b": h,
	}
	for l := range c.Layers {
		for name, elements := range map[string]int{
			"q.w": h * h, "q.b": h, "k.w": h * h, "k.b": h, "v.w": h * h, "v.b": h,
			"ao.w": h * h, "ao.b": h, "aln.w": h, "aln.b": h,
			"fi.w": f * h, "fi.b": f, "fo.w": h * f, "fo.b": h, "oln.w": h, "oln.b": h,
		} {
			all[layerTensor(l, name)] = elements
		}
	}
	return all
}

func layerTensor(layer int, name string) string { return fmt.Sprintf("l%d.%s", layer, name) }
