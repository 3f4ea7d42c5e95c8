package lemma

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

func TestDecode_refuses(t *testing.T) {
	t.Parallel()
	letter := record{suffix: "b", rest: "x"}
	long := strings.Repeat("x", MaxWord)
	tests := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"nothing", nil, "no stream of the form SMFC1"},
		{"another format", []byte("SMFC2\x00\x00"), "no stream of the form SMFC1"},
		{"the magic alone", []byte("SMFC1"), "no stream of the form SMFC1"},
		{"unknown flags", stream(6, 0), "unknown flags 0x06"},
		{"no count", stream(0, 0)[:6], "number of records: the stream ends in the middle"},
		{"a count of more than 64 bits", append(stream(0, 0)[:6], bytes.Repeat([]byte{0xff}, 11)...), "more than 64 bits"},
		{"more records than bytes", stream(0, 1<<40, letter), "cannot hold 1099511627776 records"},
		{"too few records", stream(0, 1, letter, record{suffix: "c", rest: "x"}), "2 records, the header says 1"},
		{"too many records", stream(0, 2, record{suffix: "bcdefg", rest: "x"}), "1 records, the header says 2"},
		{"shares with nothing", stream(0, 1, record{shared: 1, suffix: "b", rest: "x"}), "record 1: shares 1 bytes with a form of 0"},
		{"a form twice", stream(0, 2, letter, letter), "record 2: the form does not follow"},
		{"a form that is a beginning", stream(0, 2, letter, record{shared: 1, rest: "xxxx"}), "record 2: the form does not follow"},
		{"descending", stream(0, 2, letter, record{suffix: "a", rest: "x"}), "record 2: the form does not follow"},
		{"an empty form", stream(0, 1, record{rest: "x"}), "record 1: the form does not follow"},
		{"a long form", stream(0, 1, record{suffix: long + "x", rest: "x"}), "form of more than 255 bytes"},
		{"an empty lemma", stream(0, 1, record{suffix: "b", trim: 1}), "record 1: empty lemma"},
		{"the lemma of no record", stream(0, 1, record{suffix: "b", trim: trimSame}), "record 1: empty lemma"},
		{"a long lemma", stream(0, 1, record{suffix: "b", rest: long}), "lemma of more than 255 bytes"},
		{"trims more than there is", stream(0, 1, record{suffix: "b", trim: 2, rest: "x"}), "takes 2 bytes off a form of 1"},
		{"a lemma of broken UTF-8", stream(0, 1, record{suffix: "ж", trim: 1}), `lemma "\xd0" is not UTF-8`},
		{"cut in a form", stream(0, 1, record{suffix: "bcdef", rest: "x"})[:12], "record 1: the stream ends in the middle"},
		{"cut before trim", stream(0, 1, record{suffix: "bc", rest: "x"})[:11], "record 1: the stream ends in the middle"},
		{"cut in a lemma", stream(0, 1, record{suffix: "bc", rest: "xyz"})[:14], "record 1: the stream ends in the middle"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(test.stream, maxForms)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestDecode_boundsForms unfolds a stream into more than there is room for:
// each record of six bytes is a form of 202.
func TestDecode_boundsForms(t *testing.T) {
	t.Parallel()
	records := []record{{suffix: strings.Repeat("x", 200) + "\x00\x00", rest: "x", trim: trimLiteral}}
	for i := 1; i < 6000; i++ {
		r := record{shared: 200, suffix: string([]byte{byte(i >> 7), byte(i & 0x7f)}), trim: trimSame}
		records = append(records, r)
	}
	s := stream(0, len(records), records...)
	if _, err := decode(s, 2<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(s, 1<<20); err == nil || !strings.Contains(err.Error(), "more than 1 MB of forms") {
		t.Errorf("error %v", err)
	}
}

// TestRead_hostileHeaders has files whose headers claim much more than there is.
func TestRead_hostileHeaders(t *testing.T) {
	small := pack(t, encode(map[string]string{"міста": "місто"}, false, false), xz.WriterConfig{DictCap: 1 << 16})
	tests := []struct {
		name   string
		change func(file []byte) []byte
		want   string
	}{
		{"a window of 4 GB is not needed", func(f []byte) []byte { return window(f, 40) }, ""},
		{"a window beyond 4 GB", func(f []byte) []byte { return window(f, 41) }, errNotXZ.Error()},
		{"an index far away", func(f []byte) []byte { return backward(f, 1<<31) }, errNotXZ.Error()},
		{"an index before the file", func(f []byte) []byte { return backward(f, 1<<10) }, errNotXZ.Error()},
		{"an index that lies", func(f []byte) []byte { return unpacked(f, 127) }, "the index says 127 bytes"},
		{"an index that says too little", func(f []byte) []byte { return unpacked(f, 5) }, "the index says 5 bytes"},
		{"more than so few bytes can hold", func(f []byte) []byte { return unpacked(f, 2<<20) }, "bytes hold no 2097152"},
		{"more than any number", func(f []byte) []byte { return unpacked(f, math.MaxUint64) }, "bytes hold no 18446744073709551615"},
		{"a block of another filter", func(f []byte) []byte { return filter(f, 3) }, "a filter other than LZMA2 alone"},
	}
	for _, test := range tests {
		file := test.change(bytes.Clone(small))
		var err error
		if n := allocated(func() { _, err = Read(file) }); n > 4<<20 {
			t.Errorf("%s: %d bytes are allocated for a file of %d", test.name, n, len(file))
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// The following change a field of an XZ file with one block and set the checksum
// that covers it.

func window(file []byte, code byte) []byte { return blockByte(file, 4, code) }
func filter(file []byte, id byte) []byte   { return blockByte(file, 2, id) }

func blockByte(file []byte, at int, b byte) []byte {
	file[xzHeader+at] = b
	length := 4 * (int(file[xzHeader]) + 1)
	header := file[xzHeader : xzHeader+length]
	binary.LittleEndian.PutUint32(header[length-4:], crc32.ChecksumIEEE(header[:length-4]))
	return file
}

func backward(file []byte, words uint32) []byte {
	footer := file[len(file)-xzFooter:]
	binary.LittleEndian.PutUint32(footer[4:], words)
	binary.LittleEndian.PutUint32(footer, crc32.ChecksumIEEE(footer[4:10]))
	return file
}

// unpacked puts another size into the index of a small file, which is eight bytes:
// an indicator, the number of blocks, the packed and the unpacked size, and the
// checksum.
func unpacked(file []byte, size uint64) []byte {
	begin := len(file) - xzFooter - 8
	footer := bytes.Clone(file[begin+8:])
	index := binary.AppendUvarint(bytes.Clone(file[begin:begin+3]), size)
	for len(index)%4 > 0 {
		index = append(index, 0)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	file = append(append(file[:begin], index...), footer...)
	return backward(file, uint32(len(index)/4-1))
}

// TestRead_damaged cuts a file at each place and turns each of its bits.
func TestRead_damaged(t *testing.T) {
	t.Parallel()
	want := map[string]string{"міста": "місто", "місту": "місто", "п'яти": "п'ять"}
	file := pack(t, encode(want, false, false), xz.WriterConfig{DictCap: 1 << 16})
	for n := range file {
		if _, err := Read(file[:n]); err == nil {
			t.Errorf("cut after %d bytes: no error", n)
		}
		for bit := range 8 {
			broken := bytes.Clone(file)
			broken[n] ^= 1 << bit
			if d, err := Read(broken); err == nil {
				check(t, d, want)
			}
		}
	}
	if _, err := Read(append(bytes.Clone(file), file...)); err == nil {
		t.Error("two streams: no error")
	}
}

func FuzzDecode(f *testing.F) {
	for _, reversed := range []bool{false, true} {
		f.Add(encode(map[string]string{"міста": "місто", "місту": "місто", "п'яти": "п'ять", "a": "b"}, reversed, false))
	}
	f.Add(stream(0, 1<<40))
	f.Fuzz(func(t *testing.T, s []byte) {
		d, err := decode(s, 1<<16)
		if err != nil {
			return
		}
		if len(d.forms) > 1<<16 {
			t.Errorf("%d bytes of forms", len(d.forms))
		}
		want := map[string]string{}
		forms, lemmas := entries(d)
		for i, form := range forms {
			want[form] = lemmas[i]
		}
		check(t, d, want)
		again, err := decode(encode(want, false, true), 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		check(t, again, want)
	})
}

func FuzzRead(f *testing.F) {
	s := encode(map[string]string{"міста": "місто", "місту": "місто"}, false, false)
	for _, sum := range []byte{xz.CRC32, xz.CRC64, xz.SHA256} {
		f.Add(pack(f, s, xz.WriterConfig{CheckSum: sum, DictCap: 1 << 16}))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := Read(file)
		if err == nil && d.Len() > maxRatio*len(file) {
			t.Errorf("%d forms from %d bytes", d.Len(), len(file))
		}
	})
}
