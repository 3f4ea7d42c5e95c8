package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"raglab/axes"
	"raglab/internal/report"
	"raglab/spec"
)

// TestQuestions_wording holds that the stage says how much of the questions' wording is the
// documents' where it reads these for the sake of spans, and nothing where it does not.
func TestQuestions_wording(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "golden.jsonl")
	text := `{"id":"q1","question":"Where is Lviv?","relevant":[{"doc":"lviv","span":"in the west"}]}` + "\n" +
		`{"id":"q2","question":"The Dnipro flows","relevant":[{"doc":"dnipro","span":"flows south"}]}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	documents := lines(t, axes.Document{ID: "lviv", Text: "Lviv lies in the west."}, axes.Document{ID: "dnipro", Text: "The Dnipro flows south."})
	inputs := map[string][]byte{"order": plainLines(t, "lviv", "dnipro"), shardName("documents", 0): documents}
	for relevance, want := range map[string][]string{"span": {"0.33 0.00 0.00", "1.00 0.33 0.33"}, "document": {"", ""}} {
		out, err := newLab(t).run(t, questionsKind, questionsWork{golden: spec.Golden{File: path, Format: "raglab", Relevance: relevance}, shards: 1}, inputs)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(out["golden"]))
		for _, want := range want {
			var q report.GoldenQuestion
			if err := dec.Decode(&q); err != nil {
				t.Fatal(err)
			}
			got := ""
			if w := q.Wording; w != nil {
				got = fmt.Sprintf("%.2f %.2f %.2f", w.Document, *w.Other, *w.Span)
			}
			if got != want {
				t.Errorf("%s, %s: %q, want %q", relevance, q.ID, got, want)
			}
		}
	}
}
