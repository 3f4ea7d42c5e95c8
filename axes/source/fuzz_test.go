package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// readAll reads a table to its end and checks what every table promises.
func readAll(t *testing.T, tab table, columns int) (rows int) {
	t.Helper()
	for range 1 << 20 {
		row, err := tab.next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if e := (*Error)(nil); errors.As(err, &e) {
			continue
		}
		if err != nil {
			return rows
		}
		if len(row) != columns {
			t.Fatalf("a row has %d columns, want %d", len(row), columns)
		}
		rows++
	}
	t.Fatal("the table does not end")
	return 0
}

func FuzzTextTables(f *testing.F) {
	for _, seed := range []struct{ format, text string }{
		{"csv", "\ufeff_id,text\na,\"b\nc\"\n"},
		{"csv", "_id,text\n\"a"},
		{"tsv", "_id\ttext\na\tb\r\n\nc\n"},
		{"jsonl", `{"_id":1,"text":["a",null]}` + "\n" + `{"_id":"b","text":{"x":"y"}}`},
		{"jsonl", `{"_id":1,"_id":2,"text.x":"y"}`},
	} {
		f.Add(seed.format, seed.text)
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		tab, err := newTextTable(format, strings.NewReader(text), []want{{"_id", false}, {"title", true}, {"text", false}, {"", true}})
		if err != nil {
			return
		}
		if rows := readAll(t, tab, 4); rows > strings.Count(text, "\n")+1 {
			t.Errorf("%d rows from %d lines", rows, strings.Count(text, "\n")+1)
		}
	})
}

type fuzzRow struct {
	ID   string   `parquet:"_id"`
	Text []string `parquet:"text,list"`
	N    *int64   `parquet:"n,optional"`
}

func FuzzParquet(f *testing.F) {
	n := int64(3)
	for _, opts := range [][]parquet.WriterOption{
		nil, {parquet.Compression(&parquet.Snappy)}, {parquet.DataPageVersion(1), parquet.Compression(&parquet.Gzip)},
	} {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[fuzzRow](&buf, opts...)
		w.Write([]fuzzRow{{"a", []string{"x", "y"}, &n}, {"b", nil, nil}})
		w.Close()
		f.Add(buf.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = readParquet(fileMember("x.parquet", "x.parquet", path, int64(len(data))), []want{{"_id", false}, {"text", true}, {"n", true}},
			func(_ string, tab table) error {
				readAll(t, tab, 3)
				return nil
			})
	})
}

func FuzzArchive(f *testing.F) {
	f.Add([]byte("PK\x03\x04"), "a.md")
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}, "a.md")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := openArchive(context.Background(), "x", path, filepath.Join(dir, "scratch"), func(n string) bool { return n == name })
		if err != nil {
			if left, _ := filepath.Glob(filepath.Join(dir, "scratch", "*")); len(left) > 0 {
				t.Errorf("left behind %v", left)
			}
			return
		}
		for _, m := range a.members {
			if strings.Contains("/"+m.name+"/", "/../") {
				t.Errorf("a member leads out: %q", m.name)
			}
			if in, err := m.open(); err == nil {
				n, _ := io.Copy(io.Discard, in) // damaged content is an error of the reader's
				in.Close()
				if n > m.size {
					t.Errorf("%q unpacks to %d bytes, of %d said", m.name, n, m.size)
				}
			}
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParseTable(f *testing.F) {
	for _, seed := range []string{"a", "a.b", `"a.b".c`, `"a""b"`, `"`, "a.", ".a", `""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		parts, err := parseTable(name)
		if err != nil || !utf8.ValidString(name) {
			return
		}
		var quoted []string
		for _, p := range parts {
			if p == "" {
				t.Fatalf("%q has an empty part", name)
			}
			quoted = append(quoted, `"`+strings.ReplaceAll(p, `"`, `""`)+`"`)
		}
		again, err := parseTable(strings.Join(quoted, "."))
		if err != nil || strings.Join(again, "\x00") != strings.Join(parts, "\x00") {
			t.Errorf("%q has the parts %q, and quoted %q, %v", name, parts, again, err)
		}
	})
}
