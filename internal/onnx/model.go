package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ElementType is the type of a tensor's elements, numbered as ONNX's
// TensorProto.DataType.
type ElementType int

// The element types that the writer knows.
const (
	Float32 ElementType = 1
	Uint8   ElementType = 2
	Int8    ElementType = 3
	Int32   ElementType = 6
	Int64   ElementType = 7
)

// Microsoft is the domain of ONNX Runtime's own operators.
const Microsoft = "com.microsoft"

// opset and irVersion are what the operators used here need and ONNX Runtime
// 1.24 and later read; microsoftOpset is the only one there is.
const (
	irVersion      = 10
	opset          = 21
	microsoftOpset = 1
)

// Model is a graph being built. Values are strings that name the outputs of
// nodes, inputs and constants. Not safe for concurrent use.
type Model struct {
	name      string
	nodes     [][]byte
	inputs    [][]byte
	outputs   [][]byte
	constants map[string]bool
	tensors   []tensor
	metadata  [][2]string
	count     int
}

// tensor is a constant, its data in the model's little-endian layout.
type tensor struct {
	header []byte
	data   []byte
}

// NewModel returns an empty model.
func NewModel(name string) *Model {
	return &Model{name: name, constants: map[string]bool{}}
}

// Attr is an attribute of a node: an int, float32, string or []int64.
type Attr struct {
	Name  string
	Value any
}

// Input declares an input of the graph and returns its value. A dimension is an
// int or, when it is free, a name.
func (m *Model) Input(name string, t ElementType, dims ...any) string {
	m.inputs = append(m.inputs, valueInfo(name, t, dims))
	return name
}

// Output declares that a value is the graph's output of that name.
func (m *Model) Output(name, value string, t ElementType, dims ...any) {
	m.outputs = append(m.outputs, valueInfo(name, t, dims))
	m.addNode("Identity", "", []string{value}, []string{name})
}

// Metadata adds a property that tools show.
func (m *Model) Metadata(key, value string) {
	m.metadata = append(m.metadata, [2]string{key, value})
}

// Constant adds a tensor of elements in little-endian order and returns its
// value. The data is not copied. A second constant of one name is the first.
func (m *Model) Constant(name string, t ElementType, data []byte, dims ...int) string {
	if m.constants[name] {
		return name
	}
	m.constants[name] = true
	var h []byte
	for _, d := range dims {
		h = protowire.AppendTag(h, 1, protowire.VarintType)
		h = protowire.AppendVarint(h, uint64(d))
	}
	h = protowire.AppendTag(h, 2, protowire.VarintType)
	h = protowire.AppendVarint(h, uint64(t))
	h = appendString(h, 8, name)
	h = protowire.AppendTag(h, 9, protowire.BytesType)
	h = protowire.AppendVarint(h, uint64(len(data)))
	m.tensors = append(m.tensors, tensor{h, data})
	return name
}

// Floats is Constant for 32-bit floats.
func (m *Model) Floats(name string, values []float32, dims ...int) string {
	return m.Constant(name, Float32, floatBytes(values), dims...)
}

// Ints is Constant for a vector of 64-bit integers.
func (m *Model) Ints(name string, values ...int64) string {
	data := make([]byte, 0, 8*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return m.Constant(name, Int64, data, len(values))
}

// Node adds a node with one output and returns its value. An empty input is an
// optional one left out. The domain is empty for ONNX's own operators.
func (m *Model) Node(op, domain string, inputs []string, attrs ...Attr) string {
	m.count++
	out := fmt.Sprintf("%s_%d", op, m.count)
	m.addNode(op, domain, inputs, []string{out}, attrs...)
	return out
}

func (m *Model) addNode(op, domain string, inputs, outputs []string, attrs ...Attr) {
	var b []byte
	for _, in := range inputs {
		b = appendString(b, 1, in)
	}
	for _, out := range outputs {
		b = appendString(b, 2, out)
	}
	b = appendString(b, 3, "node_"+outputs[0])
	b = appendString(b, 4, op)
	for _, a := range attrs {
		b = appendMessage(b, 5, a.encode())
	}
	if domain != "" {
		b = appendString(b, 7, domain)
	}
	m.nodes = append(m.nodes, b)
}

// encode returns the attribute as an AttributeProto.
func (a Attr) encode() []byte {
	b := appendString(nil, 1, a.Name)
	kind := uint64(0)
	switch v := a.Value.(type) {
	case float32:
		b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(v))
		kind = 1
	case int:
		b = appendVarint(b, 3, uint64(v))
		kind = 2
	case string:
		b = appendString(b, 4, v)
		kind = 3
	case []int64:
		for _, i := range v {
			b = appendVarint(b, 8, uint64(i))
		}
		kind = 7
	default:
		panic(fmt.Sprintf("onnx: attribute %s has type %T", a.Name, a.Value))
	}
	return appendVarint(b, 20, kind)
}

// WriteTo writes the model as an ONNX file.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	var head []byte
	for _, n := range m.nodes {
		head = appendMessage(head, 1, n)
	}
	head = appendString(head, 2, m.name)
	var tail []byte
	for _, in := range m.inputs {
		tail = appendMessage(tail, 11, in)
	}
	for _, out := range m.outputs {
		tail = appendMessage(tail, 12, out)
	}
	size := len(head) + len(tail)
	prefixes := make([][]byte, len(m.tensors))
	for i, t := range m.tensors {
		n := len(t.header) + len(t.data)
		prefixes[i] = protowire.AppendTag(nil, 5, protowire.BytesType)
		prefixes[i] = protowire.AppendVarint(prefixes[i], uint64(n))
		size += len(prefixes[i]) + n
	}
	out := &countingWriter{w: w}
	out.write(m.preamble(size))
	out.write(head)
	for i, t := range m.tensors {
		out.write(prefixes[i])
		out.write(t.header)
		out.write(t.data)
	}
	out.write(tail)
	return out.n, out.err
}

// preamble returns the fields of the model before the content of its graph.
func (m *Model) preamble(graphSize int) []byte {
	b := appendVarint(nil, 1, irVersion)
	b = appendString(b, 2, "raglab")
	for _, o := range []struct {
		domain  string
		version uint64
	}{{"", opset}, {Microsoft, microsoftOpset}} {
		b = appendMessage(b, 8, appendVarint(appendString(nil, 1, o.domain), 2, o.version))
	}
	for _, kv := range m.metadata {
		b = appendMessage(b, 14, appendString(appendString(nil, 1, kv[0]), 2, kv[1]))
	}
	b = protowire.AppendTag(b, 7, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(graphSize))
}

type countingWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *countingWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
}

// valueInfo returns a ValueInfoProto of a tensor.
func valueInfo(name string, t ElementType, dims []any) []byte {
	var shape []byte
	for _, d := range dims {
		var dim []byte
		switch d := d.(type) {
		case int:
			dim = appendVarint(nil, 1, uint64(d))
		case string:
			dim = appendString(nil, 2, d)
		default:
			panic(fmt.Sprintf("onnx: dimension of type %T", d))
		}
		shape = appendMessage(shape, 1, dim)
	}
	tensorType := appendMessage(appendVarint(nil, 1, uint64(t)), 2, shape)
	return appendMessage(appendString(nil, 1, name), 2, appendMessage(nil, 1, tensorType))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func floatBytes(values []float32) []byte {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return data
}
