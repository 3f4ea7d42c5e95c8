package trec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/testdata"
	"raglab/internal/trec"
)

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func parseFloat(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

func judgements(q *trec.Qrels) string {
	var b strings.Builder
	for _, question := range q.Questions {
		b.WriteString(question.Question + ":")
		for _, j := range question.Docs {
			fmt.Fprintf(&b, " %s=%d", j.Doc, j.Grade)
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestParseQrels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"trec":                      {"1 0 a 1\n2 0 b 0\n1 0 c -1\n", "1: a=1 c=-1; 2: b=0; "},
		"trec with tabs":            {"1\t0\ta\t2", "1: a=2; "},
		"trec escaped":              {"%%a%20b 0 %% 1", "a b: =1; "},
		"beir":                      {"query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb b\t2\n", "1: a=1 b b=2; "},
		"beir without header":       {"1\ta\t1\n2\ta\t0\n", "1: a=1; 2: a=0; "},
		"beir, nothing meant by %%": {"1\t%%a\t1\n", "1: %%a=1; "},
		"empty":                     {"", ""},
		"header alone":              {"query-id\tcorpus-id\tscore\n", ""},
	} {
		q, err := trec.ParseQrels("qrels", c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := judgements(q); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestParseQrels_problems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 0 a 1\n1 0 a\n1 0 b 1.0\n":              "qrels:2: 3 fields; a qrels line has 4: \"question 0 document grade\"\nqrels:3: grade \"1.0\" is not a whole number of 32 bits",
		"1 0 a 1\n2 0 a 1\n1 0 b 1\n1 0 a 0\n":     "qrels:4: document a is judged twice for question 1, first on line 1, with grade 1 there and 0 here",
		"1\ta\t1\n1\t\t1\n1\tb\n1\tc\t99999999999": "qrels:2: an id is empty\nqrels:3: 2 columns; a line of a BEIR qrels file has 3: \"question document grade\" separated by tabs\nqrels:4: grade \"99999999999\" is not a whole number of 32 bits",
		"query_id\tcorpus_id\tscore\n1\ta\t1\n":    `qrels:1: grade "score" is not a whole number of 32 bits`,
		"1\ta b\t1\n":                              `qrels:1: two tabs and four words: this may be "question 0 document grade" or "question document grade" separated by tabs; put the header "query-id\tcorpus-id\tscore" on top if it is the second`,
	} {
		_, err := trec.ParseQrels("qrels", text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestParseQrels_sameJudgementTwiceIsDroppedWithAWarning(t *testing.T) {
	t.Parallel()
	q, err := trec.ParseQrels("qrels", "1 0 a 1\n1 0 b 0\n2 0 a 1\n1 0 a 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := judgements(q); got != "1: a=1 b=0; 2: a=1; " {
		t.Errorf("got %s", got)
	}
	if len(q.Warnings) != 1 || q.Warnings[0].Line != 4 {
		t.Errorf("warnings %v", q.Warnings)
	}
}

func TestParseQrels_publicFiles(t *testing.T) {
	t.Parallel()
	for name, questions := range map[string]int{"uk-unlp/neutral/qrels.tsv": 461, "scifact/neutral/qrels.tsv": 300, "mtrag/neutral-fiqa-human/qrels.tsv": 39} {
		path := testdata.Shared(t, "data/"+name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		q, err := trec.ParseQrels(name, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if len(q.Questions) != questions {
			t.Errorf("%s: %d questions, want %d", name, len(q.Questions), questions)
		}
	}
}

func drawQrels(t *rapid.T, id *rapid.Generator[string]) []trec.Judgements {
	var out []trec.Judgements
	for _, q := range rapid.SliceOfNDistinct(id, 1, 5, rapid.ID[string]).Draw(t, "questions") {
		question := trec.Judgements{Question: q}
		for _, d := range rapid.SliceOfNDistinct(id, 1, 5, rapid.ID[string]).Draw(t, "docs") {
			question.Docs = append(question.Docs, trec.Judgement{Doc: d, Grade: rapid.Int32().Draw(t, "grade")})
		}
		out = append(out, question)
	}
	return out
}

func TestWriteQrels_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		written := drawQrels(t, rapid.String())
		checkRoundTrip(t, written, func(b *bytes.Buffer) error { return trec.WriteQrels(b, written) })
	})
}

func TestWriteBEIR_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		written := drawQrels(t, rapid.StringMatching(`[a-zа-я% ._:<>-]{1,12}`))
		checkRoundTrip(t, written, func(b *bytes.Buffer) error { return trec.WriteBEIR(b, written) })
	})
}

func checkRoundTrip(t *rapid.T, written []trec.Judgements, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := trec.ParseQrels("qrels", b.String())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := judgements(read), judgements(&trec.Qrels{Questions: written}); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestWriteBEIR_refusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "a\tb", "a\nb", "a\r"} {
		err := trec.WriteBEIR(new(bytes.Buffer), []trec.Judgements{{Question: "q", Docs: []trec.Judgement{{Doc: id}}}})
		if err == nil {
			t.Errorf("%q is written", id)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"a": "a", "a%20b": "a%20b", "ключ/№1": "ключ/№1", "\ufffd": "\ufffd",
		"": "%%", "a b": "%%a%20b", "a\u00a0б": "%%a%C2%A0б", "%%": "%%%25%25", "50% b": "%%50%25%20b", "\xff": "%%%FF", "x\x1cy": "%%x%1Cy", "\ufeffx": "%%%EF%BB%BFx",
	} {
		got := trec.Escape(id)
		back, err := trec.Unescape(got)
		if got != want || err != nil || back != id {
			t.Errorf("%q: got %q, want %q; back %q, %v", id, got, want, back, err)
		}
	}
	for _, field := range []string{"%%a", "%%%", "%%%4", "%%%41", "%%%2G", "%%a%c2%a0", "%%a%20 "} {
		if id, err := trec.Unescape(field); err == nil {
			t.Errorf("%q is taken for %q", field, id)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "%%", "%%a%20b", "\xff%", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		field := trec.Escape(id)
		if n := len(strings.Fields(field)); n != 1 {
			t.Errorf("%q is %d fields", field, n)
		}
		if back, err := trec.Unescape(field); err != nil || back != id {
			t.Errorf("%q came back as %q, %v", id, back, err)
		}
		if back, err := trec.Unescape(id); err == nil && back != id && trec.Escape(back) != id {
			t.Errorf("%q stands for %q, which is written %q", id, back, trec.Escape(back))
		}
	})
}

func FuzzParseQrels(f *testing.F) {
	for _, s := range []string{"1 0 a 1\n", "query-id\tcorpus-id\tscore\n1\ta b\t1\n", "1\ta\t1\r\n", "1\t0 a\t1", "\ufeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := trec.ParseQrels("qrels", text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := trec.WriteQrels(&b, q.Questions); err != nil {
			t.Fatal(err)
		}
		again, err := trec.ParseQrels("qrels", b.String())
		if err != nil || judgements(again) != judgements(q) {
			t.Errorf("%q became %q, %v", judgements(q), judgements(again), err)
		}
	})
}

func TestRead_files(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if _, err := trec.ReadRun(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing run: %v", err)
	}
	if _, err := trec.ReadQrels(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing qrels: %v", err)
	}
	if err := os.WriteFile(path, []byte("q Q0 a 1 2 t\nq 0 a 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := trec.ReadRun(path)
	if err == nil || !strings.HasPrefix(err.Error(), path+":2: 4 fields") {
		t.Errorf("got %v", err)
	}
	_, err = trec.ReadQrels(path)
	if err == nil || !strings.HasPrefix(err.Error(), path+":1: 6 fields") {
		t.Errorf("got %v", err)
	}
}
