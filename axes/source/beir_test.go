package source_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"raglab/axes/source"
	"raglab/axes/source/sourcetest"
	"raglab/golden"
	"raglab/internal/testdata"
)

const (
	beirCorpus  = `{"_id":"d1","title":"T","text":"один","metadata":{"url":"u"}}` + "\n" + `{"_id":"d2","title":"","text":"два"}` + "\n"
	beirQueries = `{"_id":"q2","text":"друге?"}` + "\n" + `{"_id":"q0","text":"без судження?"}` + "\n" + `{"_id":"q1","text":"перше?"}` + "\n"
	beirQrels   = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\r\nq9\td2\t1\nq2\td2\t1\n"
)

func questions(t *testing.T, s source.Source) *golden.Set {
	t.Helper()
	set, err := s.(source.Questioner).Questions(t.Context())
	if err != nil {
		t.Fatalf("read questions: %v", err)
	}
	return set
}

func checkBEIR(t *testing.T, s source.Source) {
	t.Helper()
	if docs := sourcetest.Read(t, s); len(docs) != 2 || docs[0].Title != "T" || docs[1].Text != "два" {
		t.Errorf("documents %+v", docs)
	}
	want := []golden.Question{
		{ID: "q2", Text: "друге?", Relevant: []golden.Relevant{{Doc: "d2", Grade: 1}}},
		{ID: "q1", Text: "перше?", Relevant: []golden.Relevant{{Doc: "d1", Grade: 2}, {Doc: "d2", Grade: 0}}},
	}
	if got := questions(t, s).Questions; !reflect.DeepEqual(got, want) {
		t.Errorf("questions\n%+v\nwant\n%+v", got, want)
	}
	wantWarning(t, s, `the question "q0" has no judgement in the split "test" and was left out`)
	wantWarning(t, s, `the split "test" judges the question "q9", which the queries lack`)
	wantWarning(t, s, `the judgement of "q2" and "d2" stands twice`)
}

func TestBEIR_layouts(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"standard": {"corpus.jsonl": beirCorpus, "queries.jsonl": beirQueries, "qrels/test.tsv": beirQrels, "qrels/dev.tsv": "x"},
		"flat":     {"docs.jsonl": beirCorpus, "queries.jsonl": beirQueries, "qrels.tsv": beirQrels, "qrels.train.tsv": "x"},
		"by split": {"docs.jsonl": beirCorpus, "queries.test.jsonl": beirQueries, "queries.jsonl": "x", "qrels.test.tsv": beirQrels},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBEIR(t, write(t, files))
			checkBEIR(t, s)
			if inputs, err := s.Inputs(t.Context()); err != nil || len(inputs) != 3 {
				t.Errorf("inputs %v, %v, want three", inputs, err)
			}
		})
	}
}

// zipped packs files below a folder, which may be empty.
func zipped(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range files {
		w, err := z.Create(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	z.Close()
	return filepath.Join(write(t, map[string]string{"set.zip": buf.String()}), "set.zip")
}

func TestBEIR_zip(t *testing.T) {
	t.Parallel()
	files := map[string]string{"corpus.jsonl": beirCorpus, "queries.jsonl": beirQueries, "qrels/test.tsv": beirQrels}
	for _, folder := range []string{"", "mini/"} {
		path := zipped(t, folder, files)
		s := newBEIR(t, path)
		checkBEIR(t, s)
		if inputs, err := s.Inputs(t.Context()); err != nil || !reflect.DeepEqual(inputs, []string{path}) {
			t.Errorf("inputs %v, %v, want the zip file", inputs, err)
		}
	}
	wantProblem(t, newBEIR(t, zipped(t, "a/", map[string]string{"corpus.jsonl": "{}"})), "set.zip/corpus.jsonl:1: ")
	wantProblem(t, newBEIR(t, filepath.Join(write(t, map[string]string{"x.zip": "text"}), "x.zip")), "neither a folder nor a zip file")
}

func TestBEIR_problems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"no judgements": {
			map[string]string{"queries.jsonl": beirQueries},
			[]string{"no file with the judgements", "looked for qrels/test.tsv, qrels.test.tsv, qrels.tsv"},
		},
		"no queries":    {map[string]string{"qrels.tsv": beirQrels}, []string{"no file with the queries"}},
		"strangers":     {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "x\td\t1\n"}, []string{"no question has a judgement"}},
		"empty qrels":   {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "query-id\tcorpus-id\tscore\n"}, []string{"no judgement was found"}},
		"four fields":   {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "q1\t0\td1\t1\n"}, []string{"qrels.tsv:1: 4 fields, where 3 were expected"}},
		"bad grade":     {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "q1\td1\t1\nq1\td2\tyes\n"}, []string{`qrels.tsv:2: the grade "yes"`}},
		"half a grade":  {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "q1\td1\t0.5\n"}, []string{`qrels.tsv:1: the grade "0.5"`}},
		"two grades":    {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "q1\td1\t1\nq1\td1\t2\n"}, []string{"the grade 2 here and 1 in line 1"}},
		"no text":       {map[string]string{"queries.jsonl": `{"_id":"q1","text":" "}`, "qrels.tsv": beirQrels}, []string{`queries.jsonl:1: the question "q1" has no text`}},
		"twice":         {map[string]string{"queries.jsonl": beirQueries + beirQueries, "qrels.tsv": beirQrels}, []string{`have the id "q2"`, "line 1"}},
		"invalid UTF-8": {map[string]string{"queries.jsonl": beirQueries, "qrels.tsv": "q1\td1\t1\nq\xff\td\t1\n"}, []string{"qrels.tsv:2: not valid UTF-8: byte 0xFF at offset 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newBEIR(t, write(t, c.files)).(source.Questioner).Questions(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			checkProblem(t, err, c.says...)
		})
	}
	wantProblem(t, newBEIR(t, t.TempDir()), "no file with the corpus", "corpus.jsonl, docs.jsonl")
}

func TestBEIR_refusesSplitsThatAreNoName(t *testing.T) {
	t.Parallel()
	for _, split := range []string{"", "../x", "a/b"} {
		p := source.BEIR().Params().(*source.BEIRParams)
		p.Path, p.Split = "x", split
		if _, err := source.BEIR().New(p, axesEnv); err == nil || !strings.HasPrefix(err.Error(), "split: ") {
			t.Errorf("split %q: error %v", split, err)
		}
	}
}

func TestBEIR_sciFact(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(testdata.Shared(t, "data/scifact/neutral/docs.jsonl"))
	s := newBEIR(t, dir)
	if n := len(sourcetest.Read(t, s)); n != 5183 {
		t.Errorf("%d documents, want 5183", n)
	}
	judged := 0
	set := questions(t, s)
	for _, q := range set.Questions {
		judged += len(q.Relevant)
	}
	if len(set.Questions) != 300 || judged != 339 {
		t.Errorf("%d questions and %d judgements, want 300 and 339", len(set.Questions), judged)
	}
	train := questions(t, newBEIR(t, dir, func(p *source.BEIRParams) { p.Split = "train" }))
	if len(train.Questions) != 809 {
		t.Errorf("%d training questions, want 809", len(train.Questions))
	}
}

func TestBEIR_ukUNLP(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(testdata.Shared(t, "data/uk-unlp/neutral/docs.jsonl"))
	wantProblem(t, newBEIR(t, dir), `docs.jsonl:`, `the document "b59848334218c38574465a72b75d6b4744bb985f#p061" has no text`)
	s := newBEIR(t, dir, func(p *source.BEIRParams) { p.Empty = "keep" })
	if n := len(sourcetest.Read(t, s)); n != 1121 {
		t.Errorf("%d documents, want 1121", n)
	}
	if n := len(questions(t, s).Questions); n != 461 {
		t.Errorf("%d questions, want 461", n)
	}
}

func TestBEIR_zipChangedWhileRead(t *testing.T) {
	t.Parallel()
	path := zipped(t, "", map[string]string{"corpus.jsonl": beirCorpus})
	var last error
	for _, err := range newBEIR(t, path).Documents(t.Context()) {
		last = err
		if err := os.WriteFile(path, []byte("something else"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if last == nil {
		t.Fatal("no error")
	}
	checkProblem(t, last, "set.zip: the file changed while it was read")
}
