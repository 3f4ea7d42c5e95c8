package source_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"raglab/axes"
	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
)

// jsonl makes a source over one file of that text.
func jsonl(t testing.TB, text string, sets ...func(*source.JSONLParams)) source.Source {
	t.Helper()
	return newJSONL(t, filepath.Join(write(t, map[string]string{"d.jsonl": text}), "d.jsonl"), sets...)
}

func TestJSONL_reads(t *testing.T) {
	t.Parallel()
	text := "\n" + `{"_id": "1", "title": "Льв\u0456в", "text": "перший\r\nрядок \ud83d\ude00 \/", "url": "u", "n": {"a": [1, "]"]}}` + "\r\n" +
		`  {"text":"","title":"лише назва","_id":17}` + "\n\n" +
		`{"_id":"3","title":null,"text":"без кінця рядка"}`
	want := []axes.Document{
		{ID: "1", Title: "Львів", Text: "перший\r\nрядок 😀 /", Meta: map[string]string{"url": "u"}},
		{ID: "17", Title: "лише назва"},
		{ID: "3", Text: "без кінця рядка"},
	}
	s := jsonl(t, text)
	if got := sourcetest.Read(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	wantWarning(t, s, `the document "1" has CRLF line ends`)
}

func TestJSONL_fieldNamesAndFormat(t *testing.T) {
	t.Parallel()
	s := jsonl(t, `{"key":"k","name":"N","body":"# B","text":"t"}`, func(p *source.JSONLParams) {
		p.ID, p.Title, p.Text, p.Format = "key", "name", "body", "markdown"
	})
	want := []axes.Document{{ID: "k", Title: "N", Text: "# B", Format: "markdown", Meta: map[string]string{"text": "t"}}}
	if got := sourcetest.Read(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestJSONL_problems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"empty file":      {"", []string{"d.jsonl: the corpus is empty"}},
		"blank lines":     {"\n \n", []string{"the corpus is empty"}},
		"no text":         {`{"_id":"a","text":" \n\t"}`, []string{`d.jsonl:1: the document "a" has no text`, `empty = "skip"`}},
		"no field":        {`{"_id":"a","body":"x"}`, []string{`d.jsonl:1: the object has no field "text"`, `it has "_id", "body"`}},
		"no id":           {`{"id":"a","text":"x"}`, []string{`no field "_id"`}},
		"empty id":        {`{"_id":"","text":"x"}`, []string{"id is empty"}},
		"control in id":   {`{"_id":"a\tb","text":"x"}`, []string{"control character"}},
		"fraction as id":  {`{"_id":1.5,"text":"x"}`, []string{`the field "_id" must be a string`}},
		"number as text":  {`{"_id":"a","text":1}`, []string{`the field "text" must be a string`}},
		"twice in one":    {`{"_id":"a","text":"x","text":"y"}`, []string{`the field "text" stands twice`}},
		"other twice":     {`{"_id":"a","text":"x","u":"x","u":"y"}`, []string{`the field "u" stands twice`}},
		"half character":  {`{"_id":"a","text":"\ud800"}`, []string{"unpaired surrogate"}},
		"bad UTF-8":       {"{\"_id\":\"a\",\"text\":\"x\"}\n{\"_id\":\"b\",\"text\":\"\xd0\"}", []string{"d.jsonl:2: not valid UTF-8: byte 0xD0 at offset 42"}},
		"not JSON":        {"[1]", []string{"d.jsonl:1: not a JSON object: a JSON object was expected at byte 1"}},
		"cut off":         {`{"_id":"a","text":"x`, []string{"a closing quote was expected, but the line ends"}},
		"text after":      {`{"_id":"a","text":"x"} y`, []string{"nothing was expected after the object"}},
		"raw tab":         {"{\"_id\":\"a\",\"text\":\"x\ty\"}", []string{"control character must be escaped"}},
		"bad escape":      {`{"_id":"a","text":"\x"}`, []string{`unknown escape \x`}},
		"two of one id":   {"{\"_id\":\"a\",\"text\":\"x\"}\n\n{\"_id\":\"a\",\"text\":\"y\"}", []string{`d.jsonl:3: two documents have the id "a": this one and line 1`}},
		"several at once": {"{}\nx\n{\"_id\":\"a\",\"text\":\"\"}", []string{":1: ", ":2: ", ":3: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantProblem(t, jsonl(t, c.text), c.says...)
		})
	}
}

func TestJSONL_nothingIsYieldedAfterAProblem(t *testing.T) {
	t.Parallel()
	s := jsonl(t, "{\"_id\":\"a\",\"text\":\"x\"}\n{\"_id\":\"b\"}\n{\"_id\":\"c\",\"text\":\"x\"}\n")
	docs, err := sourcetest.Collect(t.Context(), s)
	if err == nil || len(docs) != 1 {
		t.Errorf("%d documents and error %v, want one document and an error", len(docs), err)
	}
}

func TestJSONL_missingFile(t *testing.T) {
	t.Parallel()
	wantProblem(t, newJSONL(t, filepath.Join(t.TempDir(), "none.jsonl")), "none.jsonl: cannot be read: no such file")
	wantProblem(t, newJSONL(t, t.TempDir()), "is a folder, not a file")
}

func TestJSONL_emptyDocuments(t *testing.T) {
	t.Parallel()
	text := "{\"_id\":\"a\",\"text\":\"\"}\n{\"_id\":\"b\",\"text\":\"x\"}\n{\"_id\":\"c\",\"title\":\"t\",\"text\":\"\"}\n"
	skip := jsonl(t, text, func(p *source.JSONLParams) { p.Empty = "skip" })
	if n := len(sourcetest.Read(t, skip)); n != 2 {
		t.Errorf("skip: %d documents, want 2", n)
	}
	wantWarning(t, skip, `the document "a" has no text and was skipped`)
	keep := jsonl(t, text, func(p *source.JSONLParams) { p.Empty = "keep" })
	if n := len(sourcetest.Read(t, keep)); n != 3 {
		t.Errorf("keep: %d documents, want 3", n)
	}
	wantWarning(t, keep, `the document "a" has no text and was kept`)
	all := jsonl(t, "{\"_id\":\"a\",\"text\":\"\"}\n", func(p *source.JSONLParams) { p.Empty = "skip" })
	wantProblem(t, all, "all 1 documents have no text")
}

func TestJSONL_byteOrderMark(t *testing.T) {
	t.Parallel()
	s := jsonl(t, "\ufeff{\"_id\":\"a\",\"text\":\"x\"}\r\n{\"_id\":\"b\",\"text\":\"y\"}\r\n")
	if n := len(sourcetest.Read(t, s)); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
	wantWarning(t, s, "begins with a byte order mark")
	wantProblem(t, jsonl(t, "\ufeff{\"_id\":\"\xff\",\"text\":\"x\"}"), "byte 0xFF at offset 11")
}

func TestJSONL_changedWhileRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(write(t, map[string]string{"d.jsonl": "{\"_id\":\"a\",\"text\":\"x\"}\n"}), "d.jsonl")
	var last error
	for _, err := range newJSONL(t, path).Documents(t.Context()) {
		if last = err; err != nil {
			break
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, `{"_id":"b","text":"y"}`)
		f.Close()
		if info, _ := os.Stat(path); info.Size() > 100 {
			break // the appended lines must not be read for ever
		}
	}
	if last == nil {
		t.Fatal("no error")
	}
	checkProblem(t, last, "the file changed while it was read")
}

func TestJSONL_compressed(t *testing.T) {
	t.Parallel()
	text := []byte("{\"_id\":\"a\",\"text\":\"стиснений\"}\n")
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(text)
	z.Close()
	w, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	dir := write(t, map[string]string{"d.jsonl.gz": gz.String(), "d.jsonl.zst": zst.String(), "cut.gz": gz.String()[:gz.Len()-9], "bad.zst": "no"})
	for _, name := range []string{"d.jsonl.gz", "d.jsonl.zst"} {
		docs := sourcetest.Read(t, newJSONL(t, filepath.Join(dir, name)))
		if len(docs) != 1 || docs[0].Text != "стиснений" {
			t.Errorf("%s: %+v", name, docs)
		}
	}
	wantProblem(t, newJSONL(t, filepath.Join(dir, "cut.gz")), "cannot be read", "unexpected EOF")
	wantProblem(t, newJSONL(t, filepath.Join(dir, "bad.zst")), "cannot be read")
}

func TestJSONL_longLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("довгий ", 200_000)
	docs := sourcetest.Read(t, jsonl(t, "{\"_id\":\"a\",\"text\":\""+long+"\"}\n{\"_id\":\"b\",\"text\":\"x\"}\n"))
	if len(docs) != 2 || docs[0].Text != long || docs[1].Text != "x" {
		t.Error("a long line or the one after it was not read as it is")
	}
}
