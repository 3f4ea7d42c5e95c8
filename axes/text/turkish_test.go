package text_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/text"
	"raglab/internal/testdata"
)

// turkishStop are words without a meaning of their own.
var turkishStop = []string{
	"ama", "ancak", "bazı", "bir", "bu", "da", "daha", "de", "en", "fakat", "gibi", "hem", "her", "için",
	"ile", "ise", "ki", "mi", "o", "olan", "olarak", "olur", "the", "ve", "veya", "ya", "çok", "şu",
}

var turkishPattern = regexp.MustCompile(`[0-9a-zçğıöşü]+`)

// plainTurkish is what Python programs do to Turkish text, in a few slow words:
// composed form, the capitals of the Turkish alphabet, str.lower, runs of its
// letters and of digits that are no stop words and have two letters; cut is the
// letters kept, or 0.
func plainTurkish(cut int) func(string) []string {
	capitals := strings.NewReplacer("I", "ı", "İ", "i", "Ğ", "ğ", "Ü", "ü", "Ş", "ş", "Ö", "ö", "Ç", "ç")
	return func(s string) []string {
		var terms []string
		for _, t := range turkishPattern.FindAllString(lower(capitals.Replace(norm.NFC.String(s))), -1) {
			runes := []rune(t)
			if slices.Contains(turkishStop, t) || len(runes) < 2 {
				continue
			}
			if cut > 0 {
				runes = runes[:min(cut, len(runes))]
			}
			terms = append(terms, string(runes))
		}
		return terms
	}
}

// turkishAnalyzers are the two ways in which text is handled by the parameters of
// kinds, and the same in slow words.
func turkishAnalyzers(t *testing.T) map[string]struct {
	text.Analyzer
	reference func(string) []string
} {
	return map[string]struct {
		text.Analyzer
		reference func(string) []string
	}{
		"stem5": {analyzer(t, "prefix", "tr", func(p *text.PrefixParams) {
			p.Length, p.Characters, p.Letters, p.MinLength, p.Stop = 5, "ascii", "çğıöşü", 2, turkishStop
		}), plainTurkish(5)},
		"nostem": {analyzer(t, "simple", "tr", func(p *text.SimpleParams) {
			p.Characters, p.Letters, p.MinLength, p.Stop = "ascii", "çğıöşü", 2, turkishStop
		}), plainTurkish(0)},
	}
}

// TestTurkish compares over every text and question of the Turkish data sets, and
// over hard strings.
func TestTurkish(t *testing.T) {
	t.Parallel()
	for name, a := range turkishAnalyzers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { axestest.CheckText(t, a, a.reference, axestest.Texts().Draw(t, "s")) })
			texts := 0
			for _, folder := range []string{"xquad-tr/neutral-tr", "xquad-tr/neutral-en", "tquad/neutral-dev", "tquad/neutral-train"} {
				for _, file := range []string{"docs.jsonl", "queries.jsonl"} {
					for _, s := range contents(t, testdata.Shared(t, "data/more/"+folder+"/"+file)) {
						texts++
						if got, want := axestest.Terms(a, s), a.reference(s); !slices.Equal(got, want) {
							t.Fatalf("%q gives %q, want %q", s, got, want)
						}
					}
				}
			}
			t.Logf("%d texts", texts)
		})
	}
}

// contents returns what is chunked or asked of a file of documents or questions.
func contents(tb testing.TB, path string) []string {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		var d axes.Document
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		out = append(out, d.Content())
	}
	return out
}
