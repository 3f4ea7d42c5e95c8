package tokenizer

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func wordsOf(t testing.TB, text, settings string) []string {
	t.Helper()
	r := &jsonReader{data: settings}
	all := readPreTokenizers(r)
	if r.end(); r.err != nil {
		t.Fatal(r.err)
	}
	var d draft
	d.reset(text, true)
	for _, p := range all {
		d.preTokenize(p)
	}
	var words []string
	for _, s := range d.segments {
		words = append(words, string(d.text[s.from:s.to]))
	}
	return words
}

// What the Rust library makes of each text.
func TestPreTokenizers(t *testing.T) {
	t.Parallel()
	split := func(pattern, behavior, invert string) string {
		return `{"type":"Split","pattern":` + pattern + `,"behavior":"` + behavior + `","invert":` + invert + `}`
	}
	const dash, text = `{"String":"-"}`, "the-final--countdown"
	for _, tt := range []struct {
		settings, text string
		want           string // words, joined by |
	}{
		{`null`, "a b", "a b"},
		{`{"type":"WhitespaceSplit"}`, " a\u00a0b,c\n", "a|b,c"},
		{`{"type":"Whitespace"}`, "м'яч, 2½ _x\u200d ٣", "м|'|яч|,|2|½|_x\u200d|٣"},
		{`{"type":"BertPreTokenizer"}`, "м'яч, «так»+!", "м|'|яч|,|«|так|»|+|!"},
		{`{"type":"Punctuation"}`, "a,,b c", "a|,|,|b c"},
		{`{"type":"Punctuation","behavior":"Contiguous"}`, "a,,b c", "a|,,|b c"},
		{`{"type":"Digits","individual_digits":true}`, "a12½", "a|1|2|½"},
		{`{"type":"Digits","individual_digits":false}`, "a12½b", "a|12½|b"},
		{`{"type":"CharDelimiterSplit","delimiter":"—"}`, "a—b——c", "a|b|c"},
		{split(dash, "Removed", "false"), text, "the|final|countdown"},
		{split(dash, "Isolated", "false"), text, "the|-|final|-|-|countdown"},
		{split(dash, "MergedWithPrevious", "false"), text, "the-|final-|-|countdown"},
		{split(dash, "MergedWithNext", "false"), text, "the|-final|-|-countdown"},
		{split(dash, "Contiguous", "false"), text, "the|-|final|--|countdown"},
		{split(dash, "MergedWithNext", "false"), "-a-", "-a|-"},
		{split(`{"Regex":"\\w+|[^\\w\\s]+"}`, "Removed", "true"), "a½ b!?", "a½|b|!?"},
		{split(`{"Regex":"\\p{L}{2}"}`, "Isolated", "false"), "абвгд", "аб|вг|д"},
		{`{"type":"Metaspace","replacement":"▁"}`, "a b", "▁a|▁b"},
		{`{"type":"Metaspace","replacement":"▁","add_prefix_space":true,"split":true}`, " a  b", "▁a|▁|▁b"},
		{`{"type":"Metaspace","replacement":"_","prepend_scheme":"never"}`, "a b_", "a|_b|_"},
		{`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, "a ▁b", "▁a▁▁b"},
		{`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]}`, "a b", "▁a|b"},
		{`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]}`, " a b", "a|b"},
	} {
		if got := strings.Join(wordsOf(t, tt.text, tt.settings), "|"); got != tt.want {
			t.Errorf("%s: %q became %s, want %s", tt.settings, tt.text, got, tt.want)
		}
	}
}

func TestPatterns_unsupported(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{`a(?!b)`, `(?<=a)b`, `(?<n>a)`, `(?>a)`, `\bа`, `\h`, `[a[b]]`, `[a&&b]`, `[\S]`, `a{,3}`, `a++`, `(`, `\`, `\1`} {
		if m, err := newRegexp(expr); err == nil {
			t.Errorf("%s became %v", expr, m)
		}
	}
	if _, err := literalMatcher(""); err == nil {
		t.Error("an empty pattern was taken")
	}
}

// A literal that repeats is matched without the regexp package, to the same end.
func TestRunMatcher_agreesWithRegexp(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{` {2,}`, `a+`, `ab`, `(?:ab){2,3}`, `a{2}`, `є{1,2}`} {
		m, err := newRegexp(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*runMatcher); !ok {
			t.Errorf("%s is not matched as a run", expr)
		}
		for _, text := range []string{"", " ", "    ", "a aa  aaab", "ababababab", "ab ab", "єєєєє", "xєxєє"} {
			want := regexpMatcher{regexp.MustCompile(expr)}.find(nil, []byte(text))
			if got := m.find(nil, []byte(text)); !slices.Equal(got, want) {
				t.Errorf("%s in %q: %v, want %v", expr, text, got, want)
			}
		}
	}
}

func TestAddedTokens(t *testing.T) {
	t.Parallel()
	data := `{"model":` + emptyModel + `,"pre_tokenizer":{"type":"WhitespaceSplit"},"normalizer":{"type":"Lowercase"},"added_tokens":[
		{"content":"[A]"},{"content":"[AB]"},{"content":"<m>","lstrip":true,"rstrip":true},{"content":"one","single_word":true},
		{"content":"ДЕНЬ","normalized":true},{"content":""},{"content":"[A]","lstrip":true}]}`
	tok, err := Parse(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const a, ab, m, one, day, unk = 1, 2, 3, 4, 5, 0
	for text, want := range map[string][]int32{
		"[A][AB]x":       {a, ab, unk},
		" [AB":           {unk},
		"x \n<m>\t<m> y": {unk, m, m, unk},
		"one ones one.":  {one, unk, one, unk},
		"День день":      {day, day},
		"[a]":            {unk},
	} {
		if got := tok.Encode(nil, text); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	want := []Span{{0, 1}, {1, 7}, {7, 11}, {11, 12}}
	if got := tok.Offsets("x \n<m>\t<m> y"); !slices.Equal(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
}
