package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"raglab/internal/pg/pgtest"
	"raglab/internal/report"
)

const documentsSpec = `experiment "made" {}
corpus "jsonl" { path = "docs.jsonl" }
golden { file = "golden.jsonl" }
axis "chunker" {
  use = ["whole"]
  option "fixed" { size = 4000 }
}
fixed "retriever" { use = "bm25" }
score { metrics = ["ndcg@5"] }
`

// long is a text of about so many bytes with so many different words.
func long(bytes, different int) string {
	random, words := rand.New(rand.NewPCG(5, 5)), vocabulary(different)
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		w := words[random.IntN(1000)]
		if i < different {
			w = words[i]
		}
		b.WriteString(w + " ")
	}
	return b.String()
}

// TestApply_documentsThatFitBadly gives Postgres a NUL, and a document of 20 MB that
// is too long for one tsvector: that is named, and what to do, and all that cuts it
// goes on.
func TestApply_documentsThatFitBadly(t *testing.T) {
	t.Parallel()
	store := fmt.Sprintf("store \"postgres\" { dsn = %q }\n", pgtest.Named(t))
	dir := newMade(t, strings.Replace(documentsSpec, "bm25", "tsvector", 1)+store, 0)
	docs := []any{
		map[string]string{"_id": "zero", "text": "left\x00right"},
		map[string]string{"_id": "grinning", "text": "\U0001F600 pond"},
		map[string]string{"_id": "long", "text": long(20<<20, 100_000) + "needle"},
	}
	writeLines(t, filepath.Join(dir, "docs.jsonl"), docs...)
	var golden []any
	for doc, question := range map[string]string{"zero": "left\x00right", "grinning": "pond", "long": "needle"} {
		golden = append(golden, map[string]any{"id": doc, "question": question, "relevant": []map[string]string{{"doc": doc}}})
	}
	writeLines(t, filepath.Join(dir, "golden.jsonl"), golden...)
	p := startProgram(dir, dir, "raglab", "apply", "-json", "made.hcl")
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit code %d, want %d:\n%s", code, exitFailed, p.err.String())
	}
	r, causes := outcomeOf(t, p.out.String())
	if len(causes) != 1 || !strings.Contains(causes[0], "chunk long#0: its terms take") || !strings.Contains(causes[0], "such as fixed") {
		t.Errorf("the causes are %q", causes)
	}
	for _, c := range r.Configurations {
		for _, doc := range []string{"zero", "grinning", "long"} {
			var got *float64
			if c.PerQuestion != nil {
				got = c.PerQuestion[doc]["ndcg@5"]
			}
			if found := got != nil && *got == 1; found != (c.Name == "fixed") {
				t.Errorf("%s: the score of %s is %v", c.Name, doc, got)
			}
		}
	}
}

// TestApply_halfACharacter has half of a surrogate pair in a document and in a
// question: no file of the cache could hold it, and the line is named.
func TestApply_halfACharacter(t *testing.T) {
	t.Parallel()
	for file, line := range map[string]string{
		"docs.jsonl":   `{"_id": "half", "text": "a \ud83d b"}`,
		"golden.jsonl": `{"id": "half", "question": "a \ude00 b", "relevant": [{"doc": "d1"}]}`,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := newMade(t, documentsSpec, 3)
			writeFile(t, filepath.Join(dir, file), line+"\n")
			p := startProgram(dir, dir, "raglab", "apply", "-quiet", "made.hcl")
			if code := p.wait(); code != exitError {
				t.Errorf("exit code %d, want %d", code, exitError)
			}
			if text := p.err.String(); strings.Count(text, fmt.Sprintf("%s:1: ", file)) != 1 || !strings.Contains(text, "surrogate") {
				t.Errorf("it does not say which line, and what is wrong, once:\n%s", text)
			}
		})
	}
}

// outcomeOf reads from an apply's events its results and why stages failed.
func outcomeOf(t *testing.T, out string) (r report.Report, causes []string) {
	t.Helper()
	for line := range strings.Lines(out) {
		var e struct {
			Type       string         `json:"type"`
			Report     report.Report  `json:"report"`
			Diagnostic diagnosticJSON `json:"diagnostic"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "result":
			r = e.Report
		case "diagnostic":
			causes = append(causes, e.Diagnostic.Detail)
		}
	}
	return r, causes
}
