package trec_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/trec"
)

func mustRun(t *testing.T, text string) *trec.Run {
	t.Helper()
	run, err := trec.ParseRun("run", text)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// shown writes a run as "question: doc doc; …".
func shown(run *trec.Run) string {
	var b strings.Builder
	for _, r := range run.Rankings {
		b.WriteString(r.Question + ":")
		for _, e := range r.Entries {
			b.WriteString(" " + e.Doc)
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestParseRun(t *testing.T) {
	t.Parallel()
	run := mustRun(t, "q2 Q0 b 1 2.5 t\n\n  q1\tQ0  a 0 -1e3 t \nq2 Q0 a 2 .25 t\nq1 Q0 c 7 1 t")
	if got := shown(run); got != "q2: b a; q1: a c; " {
		t.Errorf("got %s", got)
	}
	if e := run.Rankings[1].Entries; e[0].Score != -1000 || e[1].Score != 1 || run.Rankings[0].Entries[1].Score != 0.25 {
		t.Errorf("scores %v", run.Rankings)
	}
	if got := mustRun(t, " \n"); len(got.Rankings) != 0 {
		t.Errorf("an empty run: %v", got.Rankings)
	}
}

// A run sorted by rank names every question again on every line.
func TestParseRun_interleavedQuestions(t *testing.T) {
	t.Parallel()
	run := mustRun(t, "a Q0 1 1 9 t\nb Q0 1 1 9 t\na Q0 2 2 8 t\nb Q0 2 2 8 t\na Q0 3 3 7 t\nc Q0 1 1 9 t\nb Q0 3 3 7 t\n")
	if got := shown(run); got != "a: 1 2 3; b: 1 2 3; c: 1; " {
		t.Errorf("got %s", got)
	}
}

func TestParseRun_everyBadLineIsNamed(t *testing.T) {
	t.Parallel()
	_, err := trec.ParseRun("my.run", strings.Join([]string{
		"q1 Q0 a 1 3 t",
		"q1 Q0 a 1 3",
		"q1 Q0 a 1 3 my tag",
		"q1 Q0 a first 3 t",
		"q1 Q0 a 2 high t",
		"q1 Q0 a 2 NaN t",
		"q1 Q0 a 2 1e999 t",
		"q1 Q0 a 2 - t",
		"q1 Q0 %%a 2 1 t",
		"q1 Q0 100%_sure 2 1 t",
	}, "\n"))
	want := `my.run:2: 5 fields; a run line has 6: "question Q0 document rank score tag"
my.run:3: 7 fields; a run line has 6: "question Q0 document rank score tag"
my.run:4: rank "first" is not a whole number
my.run:5: score "high" is not a finite number
my.run:6: score "NaN" is not a finite number
my.run:7: score "1e999" is not a finite number
my.run:8: score "-" is not a finite number
my.run:9: "%%a" begins with %%, which marks an escaped id, but is not one`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestParseRun_wrongKindOfFileDoesNotFloodTheScreen(t *testing.T) {
	t.Parallel()
	_, err := trec.ParseRun("x.json", strings.Repeat("{\"a\": 1}\n", 1000))
	if n := strings.Count(err.Error(), "\n"); n > 60 || !strings.HasSuffix(err.Error(), "reading stopped after 50 bad lines") {
		t.Errorf("%d lines: %v", n, err)
	}
}

func TestParse_unusualFilesAreReadWithAWarning(t *testing.T) {
	t.Parallel()
	run := mustRun(t, "\ufeffq Q0 a 1 2 t\r\nq Q0 b 2 1 t\r\n")
	if got := shown(run); got != "q: a b; " {
		t.Errorf("got %s", got)
	}
	if len(run.Warnings) != 2 || run.Warnings[0].String() != "run:1: a byte order mark was skipped" || !strings.Contains(run.Warnings[1].String(), "CRLF") {
		t.Errorf("warnings %v", run.Warnings)
	}
	if _, err := trec.ParseRun("run", "q Q0 a 1 2 t\nq Q0 \xff 2 1 t\n"); err == nil || err.Error() != "run:2: not valid UTF-8" {
		t.Errorf("invalid UTF-8: %v", err)
	}
}

// As trec_eval has it: neither the file's order nor the rank column counts, and
// of equal scores the larger id comes first.
func TestSortByScore(t *testing.T) {
	t.Parallel()
	run := mustRun(t, "q Q0 d10 1 1 t\nq Q0 d9 2 1 t\nq Q0 top 3 2.0000000001 t\nq Q0 low 4 2 t\nq Q0 D9 5 1.0 t\n")
	run.SortByScore()
	if got := shown(run); got != "q: top low d9 d10 D9; " {
		t.Errorf("got %s", got)
	}
}

func TestCheckOrder(t *testing.T) {
	t.Parallel()
	if err := mustRun(t, "q Q0 a 1 2 t\nq Q0 b 2 2 t\nr Q0 a 1 9 t\n").CheckOrder(); err != nil {
		t.Error(err)
	}
	err := mustRun(t, "q Q0 a 1 2 t\nq Q0 b 2 2.5 t\n").CheckOrder()
	if err == nil || !strings.Contains(err.Error(), "question q: document b (score 2.5) stands below a (score 2)") {
		t.Errorf("got %v", err)
	}
}

func TestScores_areReadAsTheStandardLibraryReadsThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringMatching(`-?[0-9]{0,12}(\.[0-9]{0,12})?`).Draw(t, "decimal")
		if rapid.Bool().Draw(t, "shortest") {
			field = formatFloat(rapid.Float64Range(-1e6, 1e6).Draw(t, "score"))
		}
		want, ok := parseFloat(field)
		run, err := trec.ParseRun("run", "q Q0 a 1 "+field+" t")
		if field == "" || !ok {
			if err == nil {
				t.Fatalf("%q is accepted", field)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Rankings[0].Entries[0].Score; math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: got %v, want %v", field, got, want)
		}
	})
}

// Ids of every kind come back, in the order written, whether a reader goes by
// the file's order or by the scores.
func TestRunWriter_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.String(), 1, 8, rapid.ID[string])
		questions, docs := ids.Draw(t, "questions"), ids.Draw(t, "docs")
		var b bytes.Buffer
		w := trec.NewRunWriter(&b, rapid.String().Draw(t, "tag"))
		for _, q := range questions {
			if err := w.Write(q, docs); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		run, err := trec.ParseRun("run", b.String())
		if err != nil {
			t.Fatal(err)
		}
		if err := run.CheckOrder(); err != nil {
			t.Fatal(err)
		}
		run.SortByScore()
		if len(run.Rankings) != len(questions) {
			t.Fatalf("%d questions of %d", len(run.Rankings), len(questions))
		}
		for i, r := range run.Rankings {
			if r.Question != questions[i] || len(r.Entries) != len(docs) {
				t.Fatalf("question %q became %q with %d documents", questions[i], r.Question, len(r.Entries))
			}
			for j, e := range r.Entries {
				if e.Doc != docs[j] || e.Score != float64(float32(e.Score)) {
					t.Fatalf("document %q became %q, score %v", docs[j], e.Doc, e.Score)
				}
			}
		}
	})
}

func TestRunWriter_bytes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := trec.NewRunWriter(&b, "my run")
	if err := w.Write("q 1", []string{"x", "", "50%"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "%%q%201 Q0 x 1 3 %%my%20run\n%%q%201 Q0 %% 2 2 %%my%20run\n%%q%201 Q0 50% 3 1 %%my%20run\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestRun_lines(t *testing.T) {
	t.Parallel()
	run := mustRun(t, "q Q0 a 1 3 t\n\nq Q0 b 2 2 t\nr Q0 a 1 3 t\nq Q0 a 3 1 t\n")
	if got := run.Lines("q", "a"); len(got) != 2 || got[0] != 1 || got[1] != 5 {
		t.Errorf("got %v", got)
	}
}

func FuzzParseRun(f *testing.F) {
	for _, s := range []string{"q Q0 a 1 2 t\nq Q0 b 2 1 t\n", "\ufeffq Q0 %%a%20b 1 2 t\r\n", "q Q0 a 1 2\xff t", "q Q0 a 1 -.5 t", "\r\r\n\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run, err := trec.ParseRun("run", text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		w := trec.NewRunWriter(&b, "t")
		for _, r := range run.Rankings {
			docs := make([]string, len(r.Entries))
			for i, e := range r.Entries {
				docs[i] = e.Doc
			}
			if err := w.Write(r.Question, docs); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if again := mustRun(t, b.String()); shown(again) != shown(run) {
			t.Errorf("%s became %s", shown(run), shown(again))
		}
	})
}
