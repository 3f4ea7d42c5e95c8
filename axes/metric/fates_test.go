package metric

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/golden"
)

func TestFindPiece(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, span, text, want string
		share                  float64
	}{
		{"whole", "the Answer", "Here is\n the\tanswer. No more", "the\tanswer", 1},
		{"at the end", "the answer", "This is THE ANSWER", "THE ANSWER", 1},
		{"half", "one two three four", "and then three  four.", "three  four", 9.0 / 15},
		{"letters that grow in lower case", "istanbul", "bul İstanbul", "stanbul", 7.0 / 8},
		{"Cyrillic", "Київ столиця", "У місті КИЇВ", "КИЇВ", 4.0 / 11},
		{"bytes that are no text", "xyz", "a\xffxyz\xe2\x82", "xyz", 1},
		{"nothing", "xyz", "abc", "", 0},
		{"no span", " ", "abc", "", 0},
		{"no text", "xyz", "", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := FindPiece(tc.span, tc.text)
			if got := tc.text[p.Start:p.End]; got != tc.want || math.Abs(p.Share-tc.share) > 1e-12 {
				t.Errorf("%q, share %v, want %q, %v", got, p.Share, tc.want, tc.share)
			}
		})
	}
}

// TestFindPiece_agreesWithSpans holds the share of a piece, and the text that it names,
// against what spans are judged by.
func TestFindPiece_agreesWithSpans(t *testing.T) {
	t.Parallel()
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("aAbİи \n")), 1, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		span, text := letters.Draw(rt, "span"), letters.Draw(rt, "text")
		folded, places := foldPlaces(text)
		if folded != golden.Fold(text) || len(places) != len(folded)+1 {
			rt.Fatalf("folded %q with %d places, want %q", folded, len(places), golden.Fold(text))
		}
		if golden.Fold(span) == "" {
			return
		}
		spans, err := NewSpans([]golden.Question{{ID: "q", Relevant: []golden.Relevant{{Doc: "d", Span: span, Grade: 1}}}}, 1)
		if err != nil {
			rt.Fatal(err)
		}
		spans.Add(0, axes.Chunk{Doc: "d", Text: text})
		p := FindPiece(span, text)
		if fates := spans.Fates(0); math.Abs(fates[0].Share-p.Share) > 1e-12 {
			rt.Errorf("span %q in %q: share %v, spans say %v", span, text, p.Share, fates[0].Share)
		}
		if piece := golden.Fold(text[p.Start:p.End]); !strings.Contains(golden.Fold(span), piece) && p.Share < 1 && !strings.ContainsRune(text, 'İ') {
			rt.Errorf("span %q in %q: found %q", span, text, piece)
		}
	})
}

func TestSpans_fates(t *testing.T) {
	t.Parallel()
	questions := []golden.Question{{ID: "q", Relevant: []golden.Relevant{
		{Doc: "d", Span: "one two", Grade: 1},
		{Doc: "d", Span: "two three", Grade: 1},
		{Doc: "d", Span: "never there", Grade: 2},
		{Doc: "d", Span: "one", Grade: 0},
	}}}
	spans, err := NewSpans(questions, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range []string{"one two", "three four"} {
		spans.Add(uint32(n), axes.Chunk{Doc: "d", N: n, Text: text})
	}
	var got []string
	for _, f := range spans.Fates(0) {
		got = append(got, f.Fate)
	}
	if want := []string{SpanWhole, SpanCut, SpanDropped}; !slices.Equal(got, want) {
		t.Errorf("fates %v, want %v", got, want)
	}
	if c := spans.Counts(); c.Whole != 1 || c.Cut != 1 || c.Dropped != 1 {
		t.Errorf("counts %+v", c)
	}
}

func BenchmarkFindPiece(b *testing.B) {
	text := strings.Repeat("Дніпро — найбільша річка України. ", 60)
	for b.Loop() {
		FindPiece("впадає в Чорне море біля Херсона, за лиманом", text)
	}
}
