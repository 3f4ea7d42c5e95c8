package tokenizer

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const emptyModel = `{"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"u":0}}`

func TestParse_errorsNameThePlace(t *testing.T) {
	t.Parallel()
	with := func(field, value string) string {
		return `{"` + field + `":` + value + `,"model":` + emptyModel + `}`
	}
	unigram := func(rest string) string { return `{"model":{"type":"Unigram",` + rest + `}}` }
	for _, tt := range []struct{ name, data, want string }{
		{"empty", ``, "top level (byte 0): expected an object, found the end of the file"},
		{"not JSON", `hello`, "expected an object, found 'h'"},
		{"cut short", `{"model":{"type":"WordPie`, "model.type (byte 17): the string does not end"},
		{"more after it", `{"model":` + emptyModel + `} x`, "'x' follows the document"},
		{"no model", `{"version":"1.0"}`, `the field "model" is missing`},
		{"other version", with("version", `"2.0"`), `version (byte 16): version "2.0" is not supported`},
		{"BPE", `{"model":{"type":"BPE","vocab":{},"merges":[]}}`, `model (byte 9): model "BPE" is not supported`},
		{"model without type", `{"model":{"vocab":{}}}`, `model (byte 21): the field "type" is missing`},
		{
			"unknown normalizer", with("normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Magic"}]}`),
			`normalizer.normalizers[1] (byte 63): normalizer "Magic" is not supported`,
		},
		{"unknown pre-tokenizer", with("pre_tokenizer", `{"type":"ByteLevel"}`), `pre-tokenizer "ByteLevel" is not supported`},
		{"unknown post-processor", with("post_processor", `{"type":"X"}`), `post_processor (byte 18): post-processor "X" is not supported`},
		{
			"bad table", with("normalizer", `{"type":"Precompiled","precompiled_charsmap":"AAAA"}`),
			"normalizer.precompiled_charsmap",
		},
		{
			"lookahead", with("pre_tokenizer", `{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)"},"behavior":"Isolated","invert":false}`),
			`pre_tokenizer.pattern.Regex`,
		},
		{"replace without content", with("normalizer", `{"type":"Replace","pattern":{"String":"a"}}`), `"content" is missing`},
		{
			"unknown name in template", with("post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}}],"pair":[],"special_tokens":{}}`),
			`token "[X]" is not among special_tokens`,
		},
		{"unk outside", unigram(`"unk_id":2,"vocab":[["a",0],["b",0]]`), "the unknown token 2 is not one of the 2 pieces"},
		{"no unk", unigram(`"unk_id":null,"vocab":[["a",0]]`), "without unk_id is not supported"},
		{"score missing", unigram(`"unk_id":0,"vocab":[["a"]]`), "model.vocab[0] (byte 52): a piece is a pair of text and score"},
		{"score is text", unigram(`"unk_id":0,"vocab":[["a",0],["b","c"]]`), "model.vocab[1][1] (byte 60): expected a number, found a string"},
		{"score too large", unigram(`"unk_id":0,"vocab":[["a",1e999]]`), "does not fit a 64-bit float"},
		{"half a surrogate", unigram(`"unk_id":0,"vocab":[["\ud800",0]]`), "bad escape in a string"},
		{"leading zero", unigram(`"unk_id":00,"vocab":[]`), `"00" is not a number`},
		{"negative id", with("padding", `{"pad_id":-1}`), "padding.pad_id (byte 23): expected an integer from 0 to 2147483647, found -1"},
		{"not UTF-8", "{\"\xff\":1}", "not valid UTF-8"},
		{"unk_token not there", strings.Replace(`{"model":`+emptyModel+`}`, `{"u":0}`, `{"v":0}`, 1), `unk_token "u" is not in the vocabulary`},
	} {
		_, err := Parse(strings.NewReader(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want …%s…", tt.name, err, tt.want)
		}
	}
}

func TestParse_nestedTooDeep(t *testing.T) {
	t.Parallel()
	_, err := Parse(strings.NewReader(`{"x":` + strings.Repeat("[", 1<<20)))
	if err == nil || !strings.Contains(err.Error(), "nested deeper than 128 levels") {
		t.Errorf("got %.200v", err)
	}
}

func TestParse_fieldsInAnyOrder(t *testing.T) {
	t.Parallel()
	const swapped = `{"model":{"vocab":[["a",-1e0],["\u0431\n\ud83d\ude00",-2.5E+0],["b",-1]],"extra":[{"x":null}],"unk_id":1,"type":"Unigram"},
		"extra":{"deep":[true,false,null,"\\"]},"version":"1.0"}`
	tok, err := Parse(strings.NewReader(swapped))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "ab\u0431\n😀zb"), []int32{0, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func pack(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpen_packed(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json") // the name does not say that it is packed
	if err := os.WriteFile(path, pack(t, data), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "un"), []int32{2, 4, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadAll_bounded(t *testing.T) {
	t.Parallel()
	const limit = 1 << 16
	bomb := pack(t, make([]byte, 4<<20))
	if _, err := load(bytes.NewReader(bomb), limit); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that unpacks to more than the limit: %v", err)
	}
	if _, err := load(bytes.NewReader(make([]byte, limit+1)), limit); err == nil {
		t.Error("a file larger than the limit was read")
	}
	if data, err := load(bytes.NewReader(make([]byte, limit)), limit); err != nil || len(data) != limit {
		t.Errorf("a file as large as the limit: %d bytes, %v", len(data), err)
	}
	lying := slices.Clone(bomb)
	copy(lying[len(lying)-4:], "\xff\xff\xff\xff")
	if _, err := load(bytes.NewReader(lying), 8<<20); err == nil {
		t.Error("a file that is wrong about its size was read")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"unigram", "wordpiece"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, part := range []string{
		`"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAADAAAAAAAAAGEA"}`,
		`"normalizer":{"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Nmt"},{"type":"Prepend","prepend":"x"}]}`,
		`"normalizer":{"type":"Replace","pattern":{"Regex":"[^\\s\\w]+|a*"},"content":" "}`,
		`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a{2,3}"},"behavior":"MergedWithNext","invert":true}`,
		`"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false}`,
		`"post_processor":{"type":"RobertaProcessing","sep":["s",2],"cls":["c",1]}`,
		`"added_tokens":[{"content":" a ","lstrip":true,"rstrip":true,"single_word":true,"normalized":true}]`,
	} {
		f.Add([]byte(`{` + part + `,"model":` + emptyModel + `}`))
		f.Add([]byte(`{` + part + `,"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["u",0],["a",-1]]}}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		const text = "Київ, a aa <mask> ﬁ\t\u0301и\u0306 <unk>\xff"
		ids := tok.Encode(nil, text)
		if n := len(tok.Offsets(text)); n != tok.Count(text) {
			t.Fatalf("%d spans for %d tokens", n, tok.Count(text))
		}
		if got, _ := tok.EncodeTruncated(nil, text, len(ids)); !slices.Equal(got, ids) && len(tok.templates.single) > 0 {
			once := 0
			for _, part := range tok.templates.single {
				once += part.text
			}
			if once == textA {
				t.Fatalf("not truncated: %v, else %v", got, ids)
			}
		}
		tok.EncodePair(nil, nil, text, "")
	})
}
