package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"raglab/axes"
)

// scanStrings reads a line's fields that are strings, with the scanner.
func scanStrings(line []byte) (map[string]string, error) {
	fields := make(map[string]string)
	var s scanner
	err := s.object(line, func(key []byte, v value) error {
		if v.sort != '"' {
			return nil
		}
		text, err := v.text()
		fields[string(key)] = text
		return err
	})
	return fields, err
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":"b"}`, ` { "a" : "\u0041\n\"\\" , "b":[1,-0.5e+3,{"c":null}],"d":true } `, `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`,
		`{"a":01}`, `{"a":1.}`, `{"a":}`, `{"a":"b"} x`, `{"a":"b",}`, `[1]`, `{"a":"x\\"}`, `{"a":"x\\\""}`, `{"a\u0062":"c"}`, `{"a":[[[[]]],{}]}`,
		`{"a":tru}`, `{"a":nullx}`, `{"ключ":"значення"}`, `{"a":["\q"]}`, `{"a":{"b":1 "c":2}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if !utf8.Valid(line) {
			t.Skip("lines are checked before")
		}
		got, err := scanStrings(line)
		var want map[string]any
		wantErr := json.Unmarshal(line, &want)
		if err == nil && want == nil && wantErr == nil {
			t.Fatalf("accepted %q, which is no object", line)
		}
		if errors.Is(err, errSurrogate) {
			return // encoding/json puts U+FFFD there
		}
		if (err == nil) != (wantErr == nil && want != nil) {
			t.Fatalf("%q: error %v, encoding/json says %v", line, err, wantErr)
		}
		if err != nil {
			return
		}
		checkSame(t, line, got, want)
	})
}

// checkSame compares string fields with what encoding/json gave; of fields that
// stand twice the last one counts there, whatever its type.
func checkSame(t *testing.T, line []byte, got map[string]string, want map[string]any) {
	t.Helper()
	for key, v := range want {
		if text, ok := v.(string); ok && got[key] != text {
			t.Fatalf("%q: field %q is %q, encoding/json says %q", line, key, got[key], text)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Fatalf("%q: field %q, which encoding/json does not see", line, key)
		}
	}
}

func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff{\"_id\":\"a\",\"text\":\"x\"}\r\n\n{\"_id\":2,\"text\":null,\"title\":\"t\"}", "{\"_id\":\"a\",\"text\":\"x\"}\n{\"_id\":\"a\"}\n\xff\n{",
		"{\"_id\":\"a\",\"text\":\"\\ud800\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		seen := make(map[string]bool)
		sh := shape{id: "_id", title: "title", text: "text", format: "text"}
		_, more, err := corpus(t.Context(), "f", bytes.NewReader(file), sh, emptySkip, func(doc axes.Document, err error) bool {
			if err != nil || doc.ID == "" || seen[doc.ID] || !utf8.ValidString(doc.ID+doc.Title+doc.Text) || strings.TrimSpace(doc.Title+doc.Text) == "" {
				t.Fatalf("yielded %+v, %v", doc, err)
			}
			seen[doc.ID] = true
			return true
		})
		if !more {
			t.Fatal("stopped though the reader wanted more")
		}
		if err == nil && len(seen) == 0 {
			t.Fatal("no document and no error")
		}
		if e := (*Errors)(nil); err != nil && !errors.As(err, &e) {
			t.Fatalf("error %v (%T)", err, err)
		}
	})
}

func FuzzQrels(f *testing.F) {
	for _, seed := range []string{"", "query-id\tcorpus-id\tscore\nq\td\t1\n", "q\td\t1\nq\td\t2\n", "a\tb\n", "q\td\t-1\r\nq\td\t-1", "\t\t1\nq\td\t0x1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		j, err := readQrels(context.Background(), "f", bytes.NewReader(file))
		if err != nil {
			return
		}
		n := 0
		for _, question := range j.order {
			relevant := j.take(question)
			if question == "" || len(relevant) == 0 {
				t.Fatalf("question %q has the judgements %v", question, relevant)
			}
			n += len(relevant)
		}
		if n == 0 || n > bytes.Count(file, []byte("\n"))+1 {
			t.Fatalf("%d judgements from %q", n, file)
		}
	})
}

func TestScanner_nestingIsBounded(t *testing.T) {
	t.Parallel()
	line := func(depth int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`)
	}
	if _, err := scanStrings(line(maxNesting - 1)); err != nil {
		t.Errorf("%d levels: %v", maxNesting, err)
	}
	if _, err := scanStrings(line(maxNesting)); err == nil {
		t.Errorf("%d levels were accepted", maxNesting+1)
	}
}

func BenchmarkJSONL(b *testing.B) {
	for name, paragraph := range map[string]string{
		"ascii":   "A retrieval pipeline cuts documents into chunks and ranks them. ",
		"uk":      "Конвеєр пошуку ріже документи на уривки та впорядковує їх. ",
		"escaped": `\u041a\u043e\u043d\u0432\u0435\u0454\u0440 \u043f\u043e\u0448\u0443\u043a\u0443 `,
	} {
		b.Run(name, func(b *testing.B) {
			var file bytes.Buffer
			for i := range 20_000 {
				fmt.Fprintf(&file, `{"_id": "%d", "title": "Title %d", "text": "%s"}`+"\n", i, i, strings.Repeat(paragraph, 12))
			}
			b.SetBytes(int64(file.Len()))
			sh := shape{id: "_id", title: "title", text: "text", format: "text"}
			for b.Loop() {
				_, _, err := corpus(b.Context(), "f", bytes.NewReader(file.Bytes()), sh, emptyError, func(axes.Document, error) bool { return true })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
