package golden_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
)

func TestParse(t *testing.T) {
	t.Parallel()
	set, warnings, err := golden.Parse("g.jsonl", `{"id": "q1", "question": "Хто?", "relevant": [{"doc": "d/1", "span": "це  він"}, {"doc": "d2", "grade": 0}, {"doc": "d2", "span": "x", "grade": 3}], "tags": ["kind:lead"]}

{"relevant": [], "question": "\ufffd \ud83d\ude00?", "id": "q2"}
`)
	if err != nil || len(warnings) != 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	want := []golden.Question{
		{
			ID: "q1", Text: "Хто?", Tags: []string{"kind:lead"}, Pos: golden.Position{File: "g.jsonl", Line: 1},
			Relevant: []golden.Relevant{{Doc: "d/1", Span: "це  він", Grade: 1}, {Doc: "d2"}, {Doc: "d2", Span: "x", Grade: 3}},
		},
		{ID: "q2", Text: "\ufffd 😀?", Relevant: []golden.Relevant{}, Pos: golden.Position{File: "g.jsonl", Line: 3}},
	}
	if !reflect.DeepEqual(set.Questions, want) {
		t.Errorf("got\n%+v\nwant\n%+v", set.Questions, want)
	}
}

func TestParse_everythingWrongIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := golden.Parse("g.jsonl", strings.Join([]string{
		`{"id": "ok", "question": "?", "relevant": [{"doc": "d"}]}`,
		`{"id": "q", "question": "?", "relevant": [{"doc": "d"}]`,
		`["id"]`,
		`{"id": "ok", "question": " ", "relevant": [{"doc": ""}]}`,
		`{"id": "q5", "text": "?", "relevants": [{"doc": "d"}]}`,
		`{"id": "q6", "question": 7, "relevant": [{"doc_id": "d", "grade": 1.5, "span": " "}], "tags": ["a", "a", " b", 3]}`,
		`{"id": "", "question": "?", "relevant": ["d"]}`,
		`{"id": "q8", "question": "?", "id": "q9", "relevant": [{"doc": "d"}, {"doc": "e"}, {"doc": "d"}]} x`,
		`{"id": "q8", "question": "?", "id": "q9", "relevant": [{"doc": "d"}, {"doc": "e"}, {"doc": "d"}]}`,
		`{"id": "q10", "question": "\ud800", "relevant": null, "tags": "a"}`,
		"{\"id\": \"q11\", \"question\": \"\xff\", \"relevant\": []}",
		`{"id": " q12", "question": "?", "relevant": [], "colour": 1}`,
	}, "\n"))
	want := `g.jsonl:2: not valid JSON: the line ends inside the object; a line is an object with the fields id, question, relevant and tags
g.jsonl:3: not a JSON object; a line is an object with the fields id, question, relevant and tags
g.jsonl:4: question ok: the question is empty
g.jsonl:4: question ok: relevant[0]: the document's id is empty
g.jsonl:4: question ok: two questions have this id; the first is on line 1
g.jsonl:5: question q5: unknown field "text"; did you mean "question"?
g.jsonl:5: question q5: unknown field "relevants"; did you mean "relevant"?
g.jsonl:5: question q5: the field "question" is missing
g.jsonl:5: question q5: the field "relevant" is missing; write "relevant": [] for a question that the corpus does not answer
g.jsonl:6: question q6: question must be a string, not a number
g.jsonl:6: question q6: relevant[0]: unknown field "doc_id"; did you mean "doc"?
g.jsonl:6: question q6: relevant[0]: the field "doc" is missing
g.jsonl:6: question q6: relevant[0]: the span is empty; leave the field out to judge the whole document
g.jsonl:6: question q6: relevant[0]: grade 1.5 is not a whole number of 32 bits; 1 or more for relevant, 0 for not relevant
g.jsonl:6: question q6: the tag "a" stands twice
g.jsonl:6: question q6: tags[2] " b" is empty or begins or ends with white space
g.jsonl:6: question q6: tags[3] must be a string, not a number
g.jsonl:7: the id is empty
g.jsonl:7: relevant[0] must be an object, not a string; write {"doc": "…"}
g.jsonl:8: something follows the JSON object on the line; a line is an object with the fields id, question, relevant and tags
g.jsonl:9: question q8: "id" stands twice
g.jsonl:9: question q8: relevant[0] and relevant[2] judge the same document and span
g.jsonl:10: question q10: question holds half of a surrogate pair
g.jsonl:10: question q10: relevant must be a list, not null
g.jsonl:10: question q10: tags must be a list, not a string
g.jsonl:11: not valid UTF-8; save the file as UTF-8
g.jsonl:12: the id " q12" begins or ends with white space
g.jsonl:12: unknown field "colour"; known are id, question, relevant, tags`
	var problems golden.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%T: %v", err, err)
	}
	got, wanted := strings.Split(err.Error(), "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(wanted)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(wanted) {
			w = wanted[i]
		}
		if g != w {
			t.Errorf("got\n\t%s\nwant\n\t%s", g, w)
		}
	}
	if problems[3].Question != "ok" || problems[3].Line != 4 || problems[3].File != "g.jsonl" {
		t.Errorf("%+v", problems[3])
	}
}

func TestParse_emptyFile(t *testing.T) {
	t.Parallel()
	_, _, err := golden.Parse("g.jsonl", "\n\n")
	if err == nil || err.Error() != "g.jsonl: no question; write one JSON object a line" {
		t.Errorf("got %v", err)
	}
}

func TestParse_wrongKindOfFileDoesNotFloodTheScreen(t *testing.T) {
	t.Parallel()
	_, _, err := golden.Parse("g.jsonl", strings.Repeat("q1\td1\t1\n", 1000))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 51 || lines[50] != "and 950 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestParse_windowsFileIsReadWithAWarning(t *testing.T) {
	t.Parallel()
	line := `{"id": "q%", "question": "?", "relevant": [{"doc": "d"}]}`
	set, warnings, err := golden.Parse("g", "\ufeff"+strings.ReplaceAll(line, "%", "1")+"\r\n"+strings.ReplaceAll(line, "%", "2")+"\r\n")
	if err != nil || len(set.Questions) != 2 || set.Questions[0].ID != "q1" {
		t.Fatalf("%+v, %v", set, err)
	}
	if len(warnings) != 2 || warnings[0].String() != "g:1: a byte order mark was skipped" || warnings[1].String() != "g:1: lines end in CRLF; the carriage returns were dropped" {
		t.Errorf("warnings %v", warnings)
	}
}

func TestParse_quickstart(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("quickstart.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	set, warnings, err := golden.Parse("quickstart.jsonl", string(data))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	if len(set.Questions) < 72 {
		t.Errorf("%d questions", len(set.Questions))
	}
	if odd := golden.Lint(set); len(odd) > 0 {
		t.Errorf("%v", odd)
	}
}

func drawSet(t *rapid.T) *golden.Set {
	id := rapid.StringMatching(`[A-Za-zа-яІї0-9<>:&/_#.-]{1,10}`)
	set := &golden.Set{}
	for i, q := range rapid.SliceOfNDistinct(id, 1, 5, rapid.ID[string]).Draw(t, "ids") {
		question := golden.Question{ID: q, Text: rapid.StringMatching(`[^ ]`).Draw(t, "first") + rapid.String().Draw(t, "text"), Relevant: []golden.Relevant{}}
		for _, doc := range rapid.SliceOfNDistinct(id, 0, 4, rapid.ID[string]).Draw(t, "docs") {
			question.Relevant = append(question.Relevant, golden.Relevant{
				Doc: doc, Span: rapid.SampledFrom([]string{"", "x", "a\nb", "<&>\u2028"}).Draw(t, "span"), Grade: int(rapid.Int32Range(-1, 3).Draw(t, "grade")),
			})
		}
		question.Tags = rapid.SliceOfNDistinct(id, 0, 3, rapid.ID[string]).Draw(t, "tags")
		if len(question.Tags) == 0 {
			question.Tags = nil
		}
		question.Pos = golden.Position{File: "g", Line: i + 1}
		set.Questions = append(set.Questions, question)
	}
	return set
}

func TestWrite_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := drawSet(t)
		for i := range set.Questions {
			if strings.TrimSpace(set.Questions[i].Text) == "" {
				set.Questions[i].Text = "?"
			}
		}
		var b bytes.Buffer
		if err := golden.Write(&b, set); err != nil {
			t.Fatal(err)
		}
		back, warnings, err := golden.Parse("g", b.String())
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, %v\n%s", warnings, err, b.String())
		}
		if !reflect.DeepEqual(back, set) {
			t.Fatalf("got\n%+v\nwant\n%+v", back, set)
		}
	})
}

func TestWrite_bytes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := golden.Write(&b, &golden.Set{Questions: []golden.Question{
		{ID: "a", Text: "<&>", Relevant: []golden.Relevant{{Doc: "d", Grade: 1}, {Doc: "<e>", Span: "s", Grade: 0}}, Tags: []string{"t"}},
		{ID: "b", Text: "?"},
	}})
	want := `{"id":"a","question":"<&>","relevant":[{"doc":"d"},{"doc":"<e>","span":"s","grade":0}],"tags":["t"]}
{"id":"b","question":"?","relevant":[]}
`
	if err != nil || b.String() != want {
		t.Errorf("got\n%s%v\nwant\n%s", b.String(), err, want)
	}
}

// Plain JSON decoding, without the checks, keeps the default of the grade.
func TestRelevant_gradeIsOneWhenNotStated(t *testing.T) {
	t.Parallel()
	var got []golden.Relevant
	if err := json.Unmarshal([]byte(`[{"doc":"a"},{"doc":"b","grade":0},{"doc":"c","grade":2,"span":"s"}]`), &got); err != nil {
		t.Fatal(err)
	}
	want := []golden.Relevant{{Doc: "a", Grade: 1}, {Doc: "b"}, {Doc: "c", Span: "s", Grade: 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"id": "q1", "question": "?", "relevant": [{"doc": "d", "span": "s", "grade": 2}], "tags": ["t"]}`,
		"\ufeff{\"id\": \"q1\", \"question\": \"?\", \"relevant\": []}\r\n", `{"id": "\ud800"}`, `{"relevant": [{}, 1, null]}`, "\xff\n{", `{"id":"a","id":"b"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		set, _, err := golden.Parse("g", data)
		if err != nil {
			if !errors.As(err, new(golden.Problems)) {
				t.Errorf("%T", err)
			}
			return
		}
		var b bytes.Buffer
		if err := golden.Write(&b, set); err != nil {
			t.Fatal(err)
		}
		back, _, err := golden.Parse("g", b.String())
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, b.String(), err)
		}
		for i := range back.Questions {
			back.Questions[i].Pos, set.Questions[i].Pos = golden.Position{}, golden.Position{}
			if len(set.Questions[i].Tags) == 0 {
				set.Questions[i].Tags = nil
			}
		}
		if !reflect.DeepEqual(back, set) {
			t.Errorf("%+v became %+v", set, back)
		}
	})
}
