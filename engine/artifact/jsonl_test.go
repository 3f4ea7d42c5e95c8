package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

type document struct {
	ID    string            `json:"id"`
	Text  string            `json:"text"`
	Place int               `json:"place"`
	Score float64           `json:"score"`
	Tags  map[string]string `json:"tags,omitempty"`
}

func documents() *rapid.Generator[[]document] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<b>&\u2028\n\t\"", "Їжак і ґава\r\n", strings.Repeat("x", 70_000)}))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) document {
		return document{
			ID: text.Draw(t, "id"), Text: text.Draw(t, "text"), Place: rapid.Int().Draw(t, "place"),
			Score: rapid.Float64Range(-1e300, 1e300).Draw(t, "score"),
		}
	}), 0, 20)
}

func lines[T any](t testing.TB, values []T) []byte {
	t.Helper()
	var b bytes.Buffer
	l, err := NewLines(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if err := l.Write(v); err != nil {
			t.Fatal(err)
		}
	}
	if l.Len() != len(values) {
		t.Errorf("%d lines, want %d", l.Len(), len(values))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// source is a file that notes whether it was read to its end and closed.
type source struct {
	io.Reader
	ended, closed bool
	fails         error // at the end
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		s.ended = true
		if s.fails != nil {
			err = s.fails
		}
	}
	return n, err
}

func (s *source) Close() error { s.closed = true; return nil }

func read[T any](b []byte) ([]T, error) {
	return collect(ReadLines[T](&source{Reader: bytes.NewReader(b)}))
}

func TestLines_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := documents().Draw(rt, "documents")
		s := &source{Reader: bytes.NewReader(lines(t, want))}
		got, err := collect(ReadLines[document](s))
		if err != nil || len(got) != len(want) {
			rt.Fatalf("%d documents read back as %d, %v", len(want), len(got), err)
		}
		for i := range want {
			// JSON has no way to write what is no UTF-8.
			want[i].ID, want[i].Text = strings.ToValidUTF8(want[i].ID, "\ufffd"), strings.ToValidUTF8(want[i].Text, "\ufffd")
			if !reflect.DeepEqual(got[i], want[i]) {
				rt.Fatalf("%+v is read back as %+v", want[i], got[i])
			}
		}
		if !s.ended || !s.closed {
			rt.Fatalf("read to the end %v, closed %v", s.ended, s.closed)
		}
	})
}

// The bytes are a function of the values, and open in other tools: one JSON
// value a line.
func TestLines_format(t *testing.T) {
	t.Parallel()
	values := []document{{ID: "a", Text: "<b> & „лапки“"}, {ID: "b", Tags: map[string]string{"z": "1", "a": "2"}}}
	b := lines(t, values)
	for range 20 {
		if !bytes.Equal(lines(t, values), b) {
			t.Fatal("the same values give other bytes")
		}
	}
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	want := `{"id":"a","text":"<b> & „лапки“","place":0,"score":0}` + "\n" + `{"id":"b","text":"","place":0,"score":0,"tags":{"a":"2","z":"1"}}` + "\n"
	if err != nil || string(text) != want {
		t.Errorf("the lines are %q, %v", text, err)
	}
}

// A file that was cut anywhere is an error, never a short result.
func TestReadLines_truncated(t *testing.T) {
	t.Parallel()
	many := make([]document, 300)
	for i := range many {
		many[i] = document{ID: strings.Repeat("x", i%7), Place: i * i}
	}
	for name, b := range map[string][]byte{"none": lines[document](t, nil), "one": lines(t, many[:1]), "many": lines(t, many)} {
		for n := range b {
			if got, err := read[document](b[:n]); err == nil {
				t.Errorf("%s: cut to %d of %d bytes, %d documents are read", name, n, len(b), len(got))
			}
		}
	}
}

// A file in which a byte changed gives the same or an error.
func TestReadLines_corrupt(t *testing.T) {
	t.Parallel()
	want := []document{{ID: "a", Text: "some text that is long enough to be packed, some text"}, {ID: "b"}}
	b := lines(t, want)
	for i := range b {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(b)
			bad[i] ^= flip
			if got, err := read[document](bad); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("byte %d changed: %+v is read", i, got)
			}
		}
	}
}

// What the source says at its end counts, even though the lines were fine.
func TestReadLines_unverified(t *testing.T) {
	t.Parallel()
	damaged := errors.New("blob is damaged")
	s := &source{Reader: bytes.NewReader(lines(t, []int{1, 2, 3})), fails: damaged}
	if got, err := collect(ReadLines[int](s)); !errors.Is(err, damaged) || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReadLines_wrongType(t *testing.T) {
	t.Parallel()
	_, err := read[document](lines(t, []any{document{}, "text"}))
	if err == nil || !strings.Contains(err.Error(), "read line 2") {
		t.Errorf("got %v", err)
	}
}

// A reader that has enough closes the file, and is told no error.
func TestReadLines_stopped(t *testing.T) {
	t.Parallel()
	s := &source{Reader: bytes.NewReader(lines(t, []int{1, 2, 3}))}
	for v, err := range ReadLines[int](s) {
		if err != nil || v != 1 {
			t.Fatalf("got %d, %v", v, err)
		}
		break
	}
	if !s.closed {
		t.Error("the file is left open")
	}
}

func TestLines_errors(t *testing.T) {
	t.Parallel()
	l, err := NewLines(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(1); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(make(chan int)); err == nil || !strings.Contains(err.Error(), "write line 2") {
		t.Errorf("a channel was written: %v", err)
	}
	full := errors.New("disk full")
	l, err = NewLines(failingWriter{full})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Write("x"), l.Close()); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func FuzzReadLines(f *testing.F) {
	f.Add(lines(f, []document{{ID: "a"}, {ID: "b", Text: "text"}}))
	f.Add(lines[document](f, nil))
	f.Add([]byte{})
	f.Add([]byte("\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := read[json.RawMessage](b)
		if err != nil {
			return
		}
		again, err := read[json.RawMessage](lines(t, got))
		if err != nil || len(again) != len(got) {
			t.Fatalf("%d values are read back as %d, %v", len(got), len(again), err)
		}
	})
}

// collect reads all values of a sequence.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
