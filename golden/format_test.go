package golden_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
	"raglab/internal/testdata"
)

const ragEvalLines = `{"id":"q1","question":"Хто?","relevant_docs":["d2","d1"],"spans":[{"doc":"d1","text":"a"},{"doc":"d1","text":"b"}],"tags":["split:test","kind:lead"]}
{"id":"q2","question":"Де?","relevant_docs":[]}
`

const turkishList = `[
{"qid":"a1","question":"Kim?","doc_id":"7","doc_title":"Ağrı","answer_span":"dağ"},
{"qid":"a2","question":"Ne?","doc_id":"7","doc_title":"Ağrı","answer_span":"yüksek dağ","annotator":"llm-1","source":"llm-draft","second_annotation":{"annotator":"llm-2","answer_span":"yüksek"},"review":"agreed"},
{"qid":"a3","question":"Niye?","doc_id":"7","doc_title":"Ağrı","answer_span":"x","annotator":"llm-1","source":"llm-draft","review":"needs-human"}
]
`

func TestRead_ragEval(t *testing.T) {
	t.Parallel()
	set, warnings, err := golden.Read("g", ragEvalLines, golden.Auto, golden.ReadOptions{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := []golden.Question{
		{
			ID: "q1", Text: "Хто?", Tags: []string{"split:test", "kind:lead"}, Pos: golden.Position{File: "g", Line: 1},
			Relevant: []golden.Relevant{{Doc: "d2", Grade: 1}, {Doc: "d1", Span: "a", Grade: 1}, {Doc: "d1", Span: "b", Grade: 1}},
		},
		{ID: "q2", Text: "Де?", Relevant: []golden.Relevant{}, Pos: golden.Position{File: "g", Line: 2}},
	}
	if !reflect.DeepEqual(set.Questions, want) {
		t.Errorf("got\n%+v\nwant\n%+v", set.Questions, want)
	}
	if got := written(t, set, golden.RagEval); got != ragEvalLines {
		t.Errorf("written as\n%s", got)
	}
	other, _, err := golden.Read("g", `{"id":"q","question":"?","relevant_doc_ids":["d"],"spans":["x",{"doc_id":"d","text":"y"}]}`, golden.Auto, golden.ReadOptions{})
	if err != nil || !reflect.DeepEqual(other.Questions[0].Relevant, []golden.Relevant{{Doc: "d", Span: "x", Grade: 1}, {Doc: "d", Span: "y", Grade: 1}}) {
		t.Errorf("by other names: %+v, %v", other, err)
	}
}

func TestRead_turkish(t *testing.T) {
	t.Parallel()
	ids := func(o golden.ReadOptions) (string, []golden.Problem) {
		set, warnings, err := golden.Read("gold.json", turkishList, golden.Auto, o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, q := range set.Questions {
			out = append(out, q.ID)
		}
		return strings.Join(out, " "), warnings
	}
	for want, o := range map[string]golden.ReadOptions{"a1": {}, "a1 a2": {Drafts: true}, "a1 a2 a3": {Drafts: true, Unsettled: true}} {
		if got, _ := ids(o); got != want {
			t.Errorf("%+v: got %s, want %s", o, got, want)
		}
	}
	_, warnings := ids(golden.ReadOptions{})
	if len(warnings) != 2 || warnings[0].String() != "gold.json: 1 draft was left out; ask for drafts to have them" || warnings[1].String() != "gold.json: 1 question was left out; their annotators disagree (review:needs-human)" {
		t.Errorf("warnings %v", warnings)
	}
	set, _, err := golden.Read("gold.json", turkishList, golden.Turkish, golden.ReadOptions{Drafts: true, Unsettled: true})
	if err != nil {
		t.Fatal(err)
	}
	want := golden.Question{
		ID: "a2", Text: "Ne?", Pos: golden.Position{File: "gold.json", Line: 3}, Tags: []string{"annotator:llm-1", "source:llm-draft", "review:agreed"},
		Relevant: []golden.Relevant{{Doc: "7", Title: "Ağrı", Span: "yüksek dağ", Grade: 1}},
		Second:   &golden.Annotation{Annotator: "llm-2", Relevant: []golden.Relevant{{Doc: "7", Title: "Ağrı", Span: "yüksek", Grade: 1}}},
	}
	if !reflect.DeepEqual(set.Questions[1], want) {
		t.Errorf("got\n%+v\nwant\n%+v", set.Questions[1], want)
	}
	if got := written(t, set, golden.Turkish); got != turkishList {
		t.Errorf("written as\n%s", got)
	}
}

func TestRead_onlyDrafts(t *testing.T) {
	t.Parallel()
	_, _, err := golden.Read("g", `[{"qid":"a","question":"?","doc_id":"1","doc_title":"T","answer_span":"s","source":"llm-draft"}]`, golden.Auto, golden.ReadOptions{})
	if err == nil || err.Error() != "g: no question is left; g: 1 draft was left out; ask for drafts to have them" {
		t.Errorf("got %v", err)
	}
}

func TestRead_everythingWrongIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"rag-eval", strings.Join([]string{
			`{"id":"a","question":"?","relevant_docs":["d","d",1,""],"spans":[{"doc":"d","text":" "},{"doc":"e","text":"x"},{"text":"x"},{"doc":"d"},7,{"doc":"d","text":"x","from":1},{"doc":"d","doc_id":"d","text":"x"}]}`,
			`{"id":"a","question":"?","relevant_docs":["d","e"],"spans":["x"],"grade":1}`,
			`{"id":"b","question":"?","relevant_docs":["d"],"relevant_doc_ids":["d"],"spans":[{"doc":"d","text":"x"},{"doc":"d","text":"x"}],"tags":["a","a"]}`,
			`{"id":"c","question":"?","spans":"x"}`,
		}, "\n"), `g:1: question a: relevant_docs: the document "d" stands twice
g:1: question a: relevant_docs[2] must be a string, not a number
g:1: question a: relevant_docs[3]: the document's id is empty
g:1: question a: spans[0]: the span is empty
g:1: question a: spans[1]: the document "e" is not among the relevant ones
g:1: question a: spans[2]: the field "doc" is missing
g:1: question a: spans[3]: the field "text" is missing
g:1: question a: spans[4] must be an object, not a number; write {"doc": "…", "text": "…"}
g:1: question a: spans[5]: unknown field "from"; known are doc, doc_id, text
g:1: question a: spans[6]: "doc" and "doc_id" are two names of one field
g:2: question a: unknown field "grade"; known are id, question, relevant_docs, relevant_doc_ids, relevant_documents, spans, tags
g:2: question a: spans[0] does not say its document, and there are 2; write {"doc": "…", "text": "…"}
g:2: question a: two questions have this id; the first is on line 1
g:3: question b: "relevant_docs" and "relevant_doc_ids" are two names of one field
g:3: question b: spans[1] stands twice
g:3: question b: the tag "a" stands twice
g:4: question c: the field "relevant_docs" is missing; write "relevant_docs": [] for a question that the corpus does not answer
g:4: question c: spans must be a list, not a string`},
		{"turkish", `[
{"qid":"a","question":"?","doc_id":"1","doc_title":"T"},
 {
  "qid":"a","question":" ","doc_id":7,"doc_title":"T","answer_span":" ","source":" x","domain":"y"},
7, {"question":"?","doc_id":"1","doc_title":"T","answer_span":"s","second_annotation":{"answer_span":"", "note":1}},
{"qid":"b","question":"?","doc_id":"1","doc_title":"T","answer_span":"s","second_annotation":"s"}
]`, `g:2: question a: the field "answer_span" is missing
g:3: question a: unknown field "domain"; known are qid, question, doc_id, doc_title, answer_span, annotator, source, review, second_of, second_annotation
g:3: question a: the question is empty
g:3: question a: doc_id must be a string, not a number
g:3: question a: answer_span is empty
g:3: question a: source " x" begins or ends with white space
g:3: question a: two questions have this id; the first is on line 2
g:5: item 3: not a JSON object; an item is an object with the fields qid, question, doc_id, doc_title, answer_span
g:5: item 4: the field "qid" is missing
g:5: item 4: second_annotation: unknown field "note"; known are annotator, answer_span
g:5: item 4: second_annotation: the field "annotator" is missing
g:5: item 4: second_annotation: answer_span is empty
g:6: question b: second_annotation must be an object, not a string; write {"annotator": "…", "answer_span": "…"}`},
		{"broken list", "[\n{\"qid\":\n}]", "g:3: not valid JSON: invalid character '}' looking for beginning of value; the file is one JSON list of questions"},
		{"cut list", "[\n{\"qid\": \"a\"},\n", "g:2: not valid JSON: unexpected end of JSON input; the file is one JSON list of questions"},
		{"no UTF-8", "[\n\"\xff\"]", "g:2: not valid UTF-8; save the file as UTF-8"},
		{"empty list", "[]", "g: no question"},
		{"nothing", "", "g: no question; write one JSON object a line"},
	} {
		_, _, err := golden.Read("g", c.data, golden.Auto, golden.ReadOptions{})
		if !errors.As(err, new(golden.Problems)) || err.Error() != c.want {
			t.Errorf("%s: got\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
	if _, _, err := golden.Read("g", `{"qid":"a"}`, golden.Turkish, golden.ReadOptions{}); err == nil || err.Error() != "g: the file must be a JSON list of questions" {
		t.Errorf("an object for a list: %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, f := range golden.Formats() {
		if got, err := golden.ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if f, err := golden.ParseFormat(""); f != golden.Auto || err != nil {
		t.Errorf("%s, %v", f, err)
	}
	if _, err := golden.ParseFormat("beir"); err == nil || err.Error() != `there is no format "beir" of questions; there are auto, raglab, rag-eval, turkish-rag-eval` {
		t.Errorf("got %v", err)
	}
}

func TestWriteAs_whatDoesNotFit(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{
		{ID: "a", Tags: []string{"kind:lead", "source:x"}, Relevant: []golden.Relevant{{Doc: "d", Grade: 2}, {Doc: "d", Span: "s", Grade: 1}}},
		{ID: "b", Relevant: []golden.Relevant{{Doc: "d", Span: "s", Grade: 1}}},
	}}
	for format, want := range map[golden.Format]string{
		golden.RagEval: `question a: document d has the grade 2: the format rag-eval has no grades
question a: document d is judged as a whole and by a span: the format rag-eval cannot say both; leave one of them out`,
		golden.Turkish: `question a: the format turkish-rag-eval has one document and one span of it for each question, without a grade
question a: the format turkish-rag-eval has no place for the tag "kind:lead"
question b: the format turkish-rag-eval states the title of the document, which is not known here`,
	} {
		var b bytes.Buffer
		err := golden.WriteAs(&b, set, format)
		if err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("%s: got\n%v\nwant\n%s", format, err, want)
		}
	}
}

// The hand-labelled questions of the Turkish set, as they were published.
func TestRead_publishedGold(t *testing.T) {
	t.Parallel()
	path := testdata.Shared(t, "data/turkish-rag-eval/data/eval/gold.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, warnings, err := golden.Read(path, string(data), golden.Auto, golden.ReadOptions{})
	if err != nil || len(warnings) > 0 || len(set.Questions) != 58 {
		t.Fatal(warnings, err)
	}
	if q := set.Questions[1]; q.ID != "q002" || q.Pos.Line != 3 || q.Relevant[0].Title != "Diyabet" {
		t.Errorf("%+v", q)
	}
	if got := written(t, set, golden.Turkish); strings.TrimSpace(got) != strings.TrimSpace(string(data)) {
		t.Errorf("written as\n%s", got)
	}
}

func written(t interface{ Fatal(...any) }, set *golden.Set, f golden.Format) string {
	var b bytes.Buffer
	if err := golden.WriteAs(&b, set, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fitting makes a set fit a format.
func fitting(set *golden.Set, f golden.Format) {
	for i := range set.Questions {
		q := &set.Questions[i]
		if strings.TrimSpace(q.Text) == "" {
			q.Text = "?"
		}
		for j := range q.Relevant {
			q.Relevant[j].Grade = 1
		}
		if f != golden.Turkish {
			continue
		}
		q.Tags = nil
		doc := golden.Relevant{Doc: "d" + q.ID, Title: "T\"" + q.ID, Span: "<s>" + q.ID, Grade: 1}
		if len(q.Relevant) > 1 {
			q.Tags = []string{"annotator:a:" + q.ID, "source:wiki"}
			other := doc
			other.Span += " and more"
			q.Second = &golden.Annotation{Annotator: "b", Relevant: []golden.Relevant{other}}
		}
		q.Relevant = []golden.Relevant{doc}
	}
}

func TestWriteAs_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(golden.Formats()[1:]).Draw(t, "format")
		set := drawSet(t)
		fitting(set, f)
		if f == golden.Turkish { // the list opens on a line of its own
			for i := range set.Questions {
				set.Questions[i].Pos.Line++
			}
		}
		text := written(t, set, f)
		// A first line without relevant documents is for either of two formats.
		format := rapid.SampledFrom([]golden.Format{f, golden.Auto}).Draw(t, "read as")
		back, warnings, err := golden.Read("g", text, format, golden.ReadOptions{})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, %v\n%s", warnings, err, text)
		}
		if !reflect.DeepEqual(back, set) {
			t.Fatalf("got\n%+v\nwant\n%+v", back, set)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		ragEvalLines, turkishList, "\ufeff[]", "[\n{\"qid\":\"a\"}, 7]", `{"relevant_docs":["d"],"spans":[{"doc":"d","text":"x"},"x"]}`, `[[`, "\xff", `{"spans":null}`,
		`[{"qid":"a","question":"?","doc_id":"1","doc_title":"T","answer_span":"s","second_annotation":{"annotator":"b","answer_span":"\ud800"}}]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		format := golden.Detect(data)
		set, _, err := golden.Read("g", data, format, golden.ReadOptions{Drafts: true, Unsettled: true})
		if err != nil {
			if !errors.As(err, new(golden.Problems)) {
				t.Errorf("%T", err)
			}
			return
		}
		text := written(t, set, format)
		back, _, err := golden.Read("g", text, format, golden.ReadOptions{Drafts: true, Unsettled: true})
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, text, err)
		}
		if a, b := plain(set), plain(back); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v became %+v", a, b)
		}
	})
}

// plain is a set without positions and empty lists.
func plain(set *golden.Set) []golden.Question {
	out := slices.Clone(set.Questions)
	for i := range out {
		out[i].Pos = golden.Position{}
		if len(out[i].Tags) == 0 {
			out[i].Tags = nil
		}
	}
	return out
}
