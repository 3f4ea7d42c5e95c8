package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/jsonscan"
)

// read makes of a text what encoding/json makes of it when it decodes into any.
func read(text []byte) (any, error) {
	s := jsonscan.New(text)
	v := value(s, text)
	if err := s.Done(); err != nil {
		return nil, err
	}
	return v, nil
}

func value(s *jsonscan.Scanner, text []byte) any {
	raw := s.Raw()
	if raw == nil {
		return nil
	}
	in := jsonscan.New(raw)
	switch raw[0] {
	case '{':
		out := map[string]any{}
		in.Object(func(name []byte) { key := string(name); out[key] = value(in, text) })
		return out
	case '[':
		out := []any{}
		in.Array(func() { out = append(out, value(in, text)) })
		return out
	case '"':
		return string(in.Text())
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		in.Null()
		return nil
	}
	n := in.Number()
	if err := in.Done(); err != nil {
		return err
	}
	return n
}

// sameAsStandard holds the scanner against encoding/json.
func sameAsStandard(text []byte) error {
	var want any
	wantErr := json.Unmarshal(text, &want)
	got, err := read(text)
	if json.Valid(text) != (err == nil) {
		return fmt.Errorf("%q: %v, where encoding/json says %v", text, err, wantErr)
	}
	if wantErr == nil && !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%q: %#v, want %#v", text, got, want)
	}
	return nil
}

var texts = []string{
	`{"a":1,"b":[true,false,null,"x"],"c":{"d":-0.5e+3}}`, ` [ ] `, `{}`, `[1,]`, `{"a":}`, `{"a" 1}`, `{,}`, `[1 2]`, `01`, `-`, `1.`, `1e`, `-0`, `.5`, `+1`, `1e999`, `123456789012345678901234567890`,
	`"plain"`, `"кіт"`, `"\u0043\n\"\\"`, `"\x"`, `"\u12"`, `"\ud800"`, "\"a\x01b\"", "\"\xff\xfe\"", `"open`, `"open\`, `"open\"`, `tru`, `nul`, `nulls`, `truefalse`, ``, ` `, `1 1`, `{"a":1}}`, `{"a":1,"a":2}`, "\ufeff1", "1\x00", "[\v1]", `{1:2}`, `"` + strings.Repeat("é", 40) + `"`,
}

func TestScanner_readsWhatTheStandardLibraryReads(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		if err := sameAsStandard([]byte(text)); err != nil {
			t.Error(err)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := sameAsStandard(text); err != nil {
			t.Fatal(err)
		}
	})
}

// TestScanner_numbers holds numbers of all sizes against what was written, bit by bit.
func TestScanner_numbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64().Filter(func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }).Draw(t, "number")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		s := jsonscan.New(text)
		if got := s.Number(); s.Done() != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: read as %v", text, got)
		}
		whole := rapid.Int().Draw(t, "whole number")
		s = jsonscan.New(fmt.Appendf(nil, "%d", whole))
		if got := s.Int(); s.Done() != nil || got != whole {
			t.Fatalf("%d: read as %d", whole, got)
		}
	})
}

// TestScanner_deep refuses what nests deeper than encoding/json allows, and reads the
// rest.
func TestScanner_deep(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{9_999, 10_000, 10_001, 1_000_000} {
		text := bytes.Repeat([]byte{'['}, depth)
		text = append(text, bytes.Repeat([]byte{']'}, depth)...)
		s := jsonscan.New(text)
		s.Raw()
		if err := s.Done(); (err == nil) != json.Valid(text) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// TestScanner_wrongForm tells an error where another value stands than the reader
// expects, and reads nothing more.
func TestScanner_wrongForm(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*jsonscan.Scanner){
		"object": func(s *jsonscan.Scanner) { s.Object(func([]byte) { t.Error("a member was found") }) },
		"array":  func(s *jsonscan.Scanner) { s.Array(func() { t.Error("an element was found") }) },
		"string": func(s *jsonscan.Scanner) { s.Text() },
		"number": func(s *jsonscan.Scanner) { s.Number() },
		"whole":  func(s *jsonscan.Scanner) { s.Int() },
	} {
		s := jsonscan.New([]byte(`true`))
		read(s)
		if s.Done() == nil {
			t.Errorf("%s: true passes for one", name)
		}
	}
	s := jsonscan.New([]byte(`1.5`))
	if s.Int(); s.Done() == nil {
		t.Error("1.5 passes for a whole number")
	}
}
