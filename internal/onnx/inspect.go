package onnx

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// ValueInfo describes an input or output of a model.
type ValueInfo struct {
	Name string
	// Type is the element type, 0 for what is no tensor.
	Type ElementType
	// Dims are the dimensions: numbers, names of free ones, or "?".
	Dims []string
}

// String returns the value in the form name: type[dim, dim].
func (v ValueInfo) String() string {
	names := map[ElementType]string{Float32: "float32", Uint8: "uint8", Int8: "int8", Int32: "int32", Int64: "int64"}
	t, ok := names[v.Type]
	if !ok {
		t = fmt.Sprintf("type%d", v.Type)
	}
	return fmt.Sprintf("%s: %s[%s]", v.Name, t, strings.Join(v.Dims, ", "))
}

// Inspect returns the inputs and outputs of the model file at path, reading past
// its weights.
func Inspect(path string) (inputs, outputs []ValueInfo, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	inputs, outputs, err = inspect(f, info.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("read model %s: %w", path, err)
	}
	return inputs, outputs, nil
}

var errNotModel = errors.New("this is not an ONNX model")

// Field numbers of ModelProto and GraphProto.
const (
	modelGraph  = 7
	graphInput  = 11
	graphOutput = 12
)

// maxValueInfo bounds the description of one input or output.
const maxValueInfo = 1 << 20

func inspect(r io.ReaderAt, size int64) (inputs, outputs []ValueInfo, err error) {
	graphs := 0
	err = eachField(r, 0, size, func(field protowire.Number, from, to int64) error {
		if field != modelGraph {
			return nil
		}
		graphs++
		return eachField(r, from, to, func(field protowire.Number, from, to int64) error {
			if field != graphInput && field != graphOutput {
				return nil
			}
			if to-from > maxValueInfo {
				return errNotModel
			}
			data := make([]byte, to-from)
			if _, err := r.ReadAt(data, from); err != nil {
				return err
			}
			v, err := parseValueInfo(data)
			if field == graphInput {
				inputs = append(inputs, v)
			} else {
				outputs = append(outputs, v)
			}
			return err
		})
	})
	if err == nil && (graphs != 1 || len(outputs) == 0) {
		err = errNotModel
	}
	return inputs, outputs, err
}

// eachField calls visit with the place of each length-delimited field of the
// message between from and to, without reading what is in them.
func eachField(r io.ReaderAt, from, to int64, visit func(field protowire.Number, from, to int64) error) error {
	section := io.NewSectionReader(r, from, to-from)
	b := bufio.NewReaderSize(section, 4096)
	at := from
	varint := func() (uint64, error) {
		v, err := binary.ReadUvarint(b)
		if err == nil {
			at += int64(protowire.SizeVarint(v))
		}
		return v, err
	}
	for at < to {
		tag, err := varint()
		if err != nil {
			return errNotModel
		}
		field, wire := protowire.DecodeTag(tag)
		var length uint64
		switch wire {
		case protowire.VarintType:
			_, err = varint()
		case protowire.Fixed32Type:
			length = 4
		case protowire.Fixed64Type:
			length = 8
		case protowire.BytesType:
			length, err = varint()
		default:
			return errNotModel
		}
		if err != nil || field < 1 || length > uint64(to-at) {
			return errNotModel
		}
		end := at + int64(length)
		if wire == protowire.BytesType {
			if err := visit(field, at, end); err != nil {
				return err
			}
		}
		if length > 0 {
			if err := skip(section, b, end-from, int64(length)); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

// skip moves on by n bytes to place to of the section: within the buffer if they
// are in it, else by seeking.
func skip(section *io.SectionReader, b *bufio.Reader, to, n int64) error {
	if n <= int64(b.Buffered()) {
		_, err := b.Discard(int(n))
		return err
	}
	if _, err := section.Seek(to, io.SeekStart); err != nil {
		return err
	}
	b.Reset(section)
	return nil
}

// parseValueInfo reads a ValueInfoProto of a tensor.
func parseValueInfo(data []byte) (ValueInfo, error) {
	var v ValueInfo
	err := fields(data, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case 1:
			v.Name = string(value)
		case 2: // TypeProto: tensor_type = 1
			return fields(value, func(field protowire.Number, value []byte, _ uint64) error {
				if field != 1 {
					return nil
				}
				return v.parseTensor(value)
			})
		}
		return nil
	})
	return v, err
}

// parseTensor reads a TypeProto.Tensor: elem_type = 1, shape = 2.
func (v *ValueInfo) parseTensor(data []byte) error {
	return fields(data, func(field protowire.Number, value []byte, n uint64) error {
		switch field {
		case 1:
			v.Type = ElementType(n)
		case 2: // TensorShapeProto: dim = 1
			return fields(value, func(_ protowire.Number, value []byte, _ uint64) error {
				dim := "?"
				err := fields(value, func(field protowire.Number, value []byte, n uint64) error {
					switch field {
					case 1:
						dim = fmt.Sprint(n)
					case 2:
						dim = string(value)
					}
					return nil
				})
				v.Dims = append(v.Dims, dim)
				return err
			})
		}
		return nil
	})
}

// fields calls visit for each varint and length-delimited field of a message.
func fields(data []byte, visit func(field protowire.Number, value []byte, n uint64) error) error {
	for len(data) > 0 {
		field, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errNotModel
		}
		data = data[n:]
		var value []byte
		var number uint64
		switch wire {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(field, wire, data)
		}
		if n < 0 {
			return errNotModel
		}
		data = data[n:]
		if err := visit(field, value, number); err != nil {
			return err
		}
	}
	return nil
}
