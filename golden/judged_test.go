package golden_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"raglab/golden"
	"raglab/internal/testdata"
)

func at(line int) golden.Position { return golden.Position{File: "queries", Line: line} }

func TestParseJudged(t *testing.T) {
	t.Parallel()
	want := []golden.Question{
		{ID: "2", Text: "two?", Relevant: []golden.Relevant{{Doc: "b", Grade: 2}}, Pos: at(1)},
		{ID: "1", Text: "one?", Relevant: []golden.Relevant{{Doc: "a", Grade: 1}, {Doc: "b", Grade: 0}}, Pos: at(2)},
	}
	for name, c := range map[string]struct{ queries, qrels string }{
		"beir": {
			`{"_id": "2", "text": "two?"}` + "\n" + `{"_id": "1", "text": "one?", "metadata": {"x": 1}}`,
			"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n1\tb\t0\n",
		},
		"trec": {"2\ttwo?\n1\tone?\n", "1 0 a 1\n1 0 b 0\n2 0 b 2\n"},
	} {
		set, warnings, err := golden.ParseJudged("queries", c.queries, "qrels", c.qrels)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, warnings, err)
			continue
		}
		if !reflect.DeepEqual(set.Questions, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, set.Questions, want)
		}
	}
}

func TestParseJudged_whatDoesNotFitIsTold(t *testing.T) {
	t.Parallel()
	set, warnings, err := golden.ParseJudged("queries", "\ufeff"+`{"_id": "1", "text": "?", "lang": "uk"}`+"\r\n"+`{"_id": "2", "text": "?", "lang": "uk"}`+"\n3\tthree\n",
		"qrels", "9 0 a 1\n1 0 a 1\n8 0 a 1\n")
	if err != nil || len(set.Questions) != 1 {
		t.Fatalf("%+v, %v", set, err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		"queries:1: a byte order mark was skipped",
		"queries:1: lines end in CRLF; the carriage returns were dropped",
		`queries:1: the field "lang" is not used`,
		"qrels: no judgement of 2, 3; left out",
		"qrels: judgements without a question: 9, 8; left out",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseJudged_problemsOfBothFiles(t *testing.T) {
	t.Parallel()
	_, _, err := golden.ParseJudged("queries", strings.Join([]string{
		`{"_id": "1", "text": ""}`, `{"_id": 2, "title": "?"}`, "3 three", "3\tthree\tfour", "4\tok", "4\tagain", "{}}",
	}, "\n"), "qrels", "1 0 a\n4 0 a yes\n")
	want := `qrels:1: 3 fields; a qrels line has 4: "question 0 document grade"
qrels:2: grade "yes" is not a whole number of 32 bits
queries:1: question 1: the question is empty
queries:2: _id must be a string, not a number
queries:2: the field "text" is missing
queries:3: a line of queries is an id, a tab and the text, or a JSON object with "_id" and "text"
queries:4: a line of queries is an id, a tab and the text, or a JSON object with "_id" and "text"
queries:6: question 4: two questions have this id; the first is on line 5
queries:7: something follows the JSON object on the line`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestParseJudged_nothingInCommon(t *testing.T) {
	t.Parallel()
	_, _, err := golden.ParseJudged("queries", "1\t?\n", "qrels", "q1 0 a 1\n")
	if err == nil || !strings.Contains(err.Error(), "no question of queries is judged") {
		t.Errorf("got %v", err)
	}
}

func TestParseJudged_publicData(t *testing.T) {
	t.Parallel()
	for folder, questions := range map[string]int{"uk-unlp/neutral": 461, "scifact/neutral": 300} {
		files := map[string]string{}
		for _, name := range []string{"queries.jsonl", "qrels.tsv"} {
			data, err := os.ReadFile(testdata.Shared(t, "data/"+folder+"/"+name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(data)
		}
		set, warnings, err := golden.ParseJudged("queries.jsonl", files["queries.jsonl"], "qrels.tsv", files["qrels.tsv"])
		if err != nil || len(set.Questions) != questions {
			t.Errorf("%s: %v, %v", folder, warnings, err)
			continue
		}
		qrels := set.Qrels()
		if len(qrels) != questions || qrels[0].Question != set.Questions[0].ID || qrels[0].Docs[0].Doc != set.Questions[0].Relevant[0].Doc {
			t.Errorf("%s: qrels %+v", folder, qrels[0])
		}
	}
}

func TestSet_qrelsHaveEachDocumentOnce(t *testing.T) {
	t.Parallel()
	set := &golden.Set{Questions: []golden.Question{{ID: "q", Relevant: []golden.Relevant{
		{Doc: "a", Span: "x", Grade: 1}, {Doc: "b", Grade: 0}, {Doc: "a", Span: "y", Grade: 2},
	}}}}
	docs := set.Qrels()[0].Docs
	if len(docs) != 2 || docs[0].Doc != "a" || docs[0].Grade != 2 || docs[1].Grade != 0 {
		t.Errorf("got %+v", docs)
	}
}

func FuzzParseJudged(f *testing.F) {
	f.Add(`{"_id": "1", "text": "?"}`, "query-id\tcorpus-id\tscore\n1\ta\t1\n")
	f.Add("1\t?\r\n2\t?", "1 0 a 1\n2 0 b -1\n")
	f.Add("\ufeff1\t\xff", "1\t0\ta\t1")
	f.Fuzz(func(t *testing.T, queries, qrels string) {
		set, _, err := golden.ParseJudged("queries", queries, "qrels", qrels)
		if err != nil {
			if !errors.As(err, new(golden.Problems)) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, q := range set.Questions {
			if seen[q.ID] || q.ID == "" || strings.TrimSpace(q.Text) == "" || len(q.Relevant) == 0 {
				t.Errorf("%+v", q)
			}
			seen[q.ID] = true
		}
	})
}
