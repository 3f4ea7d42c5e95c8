package golden_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/golden"
)

func TestWordings(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"dnipro": "The Dnipro flows south. It is long.", "lviv": "Lviv is in the west, with Rynok's square.", "empty": "",
	}
	judged := func(doc, span string) golden.Relevant { return golden.Relevant{Doc: doc, Span: span, Grade: 1} }
	set := &golden.Set{Questions: []golden.Question{
		{ID: "copied", Text: "Flows the DNIPRO south?", Relevant: []golden.Relevant{judged("dnipro", "flows south"), judged("gone", "")}},
		{ID: "own words", Text: "Rynoks west where", Relevant: []golden.Relevant{{Doc: "dnipro"}, judged("empty", ""), judged("lviv", "in the west")}},
		{ID: "no text", Text: "Dnipro", Relevant: []golden.Relevant{judged("gone", "")}},
		{ID: "no words", Text: "?!", Relevant: []golden.Relevant{judged("lviv", "")}},
		{ID: "nothing relevant", Text: "Dnipro", Relevant: []golden.Relevant{{Doc: "dnipro"}}},
	}}
	got := golden.Wordings(set, func(id string) (string, bool) { text, known := texts[id]; return text, known })
	for i, want := range []string{"1.00 0.00 0.50", "0.67 - 0.33", "", "", ""} {
		if said := wording(got[i]); said != want {
			t.Errorf("%s: %q, want %q", set.Questions[i].ID, said, want)
		}
	}
}

// wording is the document's share, the other one's and the span's.
func wording(w *golden.Wording) string {
	if w == nil {
		return ""
	}
	shares := []string{fmt.Sprintf("%.2f", w.Document)}
	for _, share := range []*float64{w.Other, w.Span} {
		if share == nil {
			shares = append(shares, "-")
			continue
		}
		shares = append(shares, fmt.Sprintf("%.2f", *share))
	}
	return strings.Join(shares, " ")
}

// bare are words between blanks and commas.
func bare(text string) []string { return strings.Fields(strings.ReplaceAll(text, ",", "")) }

// Shares are those of CopiedShare, a question made of its document's words is copied whole,
// and one of words that no document has is not at all.
func TestWordings_shares(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields("a b c d e f g h")), 1, 6)
	rapid.Check(t, func(rt *rapid.T) {
		document, asked := words.Draw(rt, "document"), words.Draw(rt, "question")
		set := &golden.Set{}
		for id, text := range map[string]string{"drawn": strings.Join(asked, " "), "copied": strings.Join(document[:1], " "), "own": "nobody"} {
			set.Questions = append(set.Questions, golden.Question{ID: id, Text: text, Relevant: []golden.Relevant{{Doc: "d", Grade: 1, Span: document[0]}}})
		}
		text := strings.Join(document, ", ")
		got := golden.Wordings(set, func(string) (string, bool) { return text, true })
		for i, q := range set.Questions {
			want := map[string]float64{"drawn": golden.CopiedShare(q.Text, text, bare), "copied": 1, "own": 0}[q.ID]
			if got[i].Document != want || got[i].Other != nil || *got[i].Span > want {
				rt.Fatalf("%s: %s, want %v", q.ID, wording(got[i]), want)
			}
		}
	})
}
