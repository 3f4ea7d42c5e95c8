package tokenizer_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"raglab/internal/tokenizer"
)

func openSmall(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Open("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The ids of the two small tokenizers are the Rust library's.
func TestEncode_unigram(t *testing.T) {
	t.Parallel()
	tok := openSmall(t, "unigram")
	for _, tt := range []struct {
		text string
		want []int32
	}{
		{"", []int32{0, 1}},
		{"Київ", []int32{0, 13, 1}},
		{"київ  рік", []int32{0, 13, 18, 1}},
		{"ріка в Києві", []int32{0, 18, 8, 23, 12, 2, 7, 24, 1}},
		{"ﬁn", []int32{0, 3, 19, 22, 1}},
		{"КИЇВ\tрі", []int32{0, 13, 3, 16, 1}},
		{"пп ки п", []int32{0, 3, 2, 12, 3, 2, 1}},
		{"a <mask> Київ", []int32{0, 3, 2, 25, 13, 1}},
		{"у дніпро!", []int32{0, 3, 2, 26, 3, 2, 1}},
		{"дніпровий", []int32{0, 3, 2, 24, 2, 9, 2, 7, 5, 2, 1}},
		{"Дніпро <s>в</s>", []int32{0, 26, 0, 23, 1, 1}},
		{"<unk>", []int32{0, 3, 2, 1}},
		{"▁", []int32{0, 3, 1}},
		{"и\u0306ї", []int32{0, 3, 2, 6, 1}},
		{"\x00рік", []int32{0, 3, 2, 17, 1}},
		{"\xffрік", []int32{0, 3, 2, 17, 1}}, // read as U+FFFD
	} {
		if got := tok.Encode(nil, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestEncode_wordPiece(t *testing.T) {
	t.Parallel()
	tok := openSmall(t, "wordpiece")
	for _, tt := range []struct {
		text string
		want []int32
	}{
		{"", []int32{2, 3}},
		{"Unaffable", []int32{2, 4, 5, 6, 3}},
		{"unaffabl", []int32{2, 4, 5, 7, 8, 3}},
		{"unaffabx", []int32{2, 1, 3}},
		{"Café, ISTAN", []int32{2, 10, 13, 11, 12, 3}},
		{"İstan", []int32{2, 11, 12, 3}},
		{"北京", []int32{2, 15, 16, 3}},
		{"київ", []int32{2, 18, 20, 3}},
		{strings.Repeat("a", 12), append([]int32{2, 21}, append(slices.Repeat([]int32{22}, 11), 3)...)},
		{strings.Repeat("a", 13), []int32{2, 1, 3}},
		{"a'a", []int32{2, 21, 14, 21, 3}},
		{"[SEP]a[CLS]", []int32{2, 3, 21, 2, 3}},
		{"a\u200ba\aa\ufffd", []int32{2, 21, 22, 22, 3}},
		{"а\u0301", []int32{2, 1, 3}},
	} {
		if got := tok.Encode(nil, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestEncodePair(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		ids, types []int32
	}{
		{"unigram", "київ", "рік", []int32{0, 13, 1, 18, 1}, []int32{0, 0, 0, 1, 1}},
		{"wordpiece", "a", "un a", []int32{2, 21, 3, 4, 21, 3}, []int32{0, 0, 0, 1, 1, 1}},
		{"wordpiece", "", "", []int32{2, 3, 3}, []int32{0, 0, 1}},
	} {
		tok := openSmall(t, tt.name)
		ids, types := tok.EncodePair([]int32{7}, []int32{8}, tt.a, tt.b)
		if want := append([]int32{7}, tt.ids...); !slices.Equal(ids, want) {
			t.Errorf("%s: ids %v, want %v", tt.name, ids, want)
		}
		if want := append([]int32{8}, tt.types...); !slices.Equal(types, want) {
			t.Errorf("%s: types %v, want %v", tt.name, types, want)
		}
	}
}

// The lengths that are kept are those of the Rust library's longest_first.
func TestEncodePairTruncated_cutsTheLongerFirst(t *testing.T) {
	t.Parallel()
	tok := openSmall(t, "wordpiece")
	text := func(tokens int) string { return strings.Repeat("a ", tokens) }
	for _, tt := range []struct {
		a, b, limit  int
		keepA, keepB int
	}{
		{3, 4, 10, 3, 4},
		{3, 5, 10, 3, 4},
		{5, 3, 10, 4, 3},
		{8, 9, 10, 3, 4},
		{9, 8, 10, 4, 3},
		{1, 9, 10, 1, 6},
		{9, 1, 10, 6, 1},
		{5, 5, 3, 0, 0},
		{5, 5, 0, 0, 0},
		{0, 9, 5, 0, 2},
	} {
		ids, types, truncated := tok.EncodePairTruncated(nil, nil, text(tt.a), text(tt.b), tt.limit)
		want := slices.Concat([]int32{2}, slices.Repeat([]int32{21}, tt.keepA), []int32{3},
			slices.Repeat([]int32{21}, tt.keepB), []int32{3})
		if !slices.Equal(ids, want) || len(types) != len(ids) {
			t.Errorf("%+v: got %v (%d types), want %v", tt, ids, len(types), want)
		}
		if cut := tt.keepA < tt.a || tt.keepB < tt.b; truncated != cut {
			t.Errorf("%+v: truncated is %v", tt, truncated)
		}
	}
}

// The question of a pair stays whole as long as it fits.
func TestEncodePairSecond_keepsTheFirst(t *testing.T) {
	t.Parallel()
	tok := openSmall(t, "wordpiece")
	text := func(tokens int) string { return strings.Repeat("a ", tokens) }
	for _, tt := range []struct {
		a, b, limit  int
		keepA, keepB int
	}{
		{3, 4, 10, 3, 4},
		{3, 5, 10, 3, 4},
		{5, 3, 10, 5, 2},
		{6, 9, 10, 6, 1},
		{7, 9, 10, 7, 0},
		{9, 9, 10, 7, 0},
		{5, 5, 3, 0, 0},
		{5, 5, 0, 0, 0},
	} {
		ids, types, truncated := tok.EncodePairSecond(nil, nil, text(tt.a), text(tt.b), tt.limit)
		want := slices.Concat([]int32{2}, slices.Repeat([]int32{21}, tt.keepA), []int32{3},
			slices.Repeat([]int32{21}, tt.keepB), []int32{3})
		if !slices.Equal(ids, want) || len(types) != len(ids) {
			t.Errorf("%+v: got %v (%d types), want %v", tt, ids, len(types), want)
		}
		if cut := tt.keepA < tt.a || tt.keepB < tt.b; truncated != cut {
			t.Errorf("%+v: truncated is %v", tt, truncated)
		}
	}
}

func TestOffsets(t *testing.T) {
	t.Parallel()
	type spans = []tokenizer.Span
	for _, tt := range []struct {
		name, text string
		want       spans
	}{
		{"unigram", "київ  рік", spans{{0, 8}, {10, 16}}},
		{"unigram", "КИЇВ\tрі", spans{{0, 8}, {9, 9}, {9, 13}}},
		{"unigram", "ﬁn", spans{{0, 0}, {0, 3}, {3, 4}}},
		{"unigram", "в <mask> в", spans{{0, 2}, {2, 9}, {10, 12}}},
		{"unigram", "\xffрік", spans{{0, 0}, {0, 1}, {1, 7}}},
		{"wordpiece", "Café, un", spans{{0, 5}, {5, 6}, {7, 9}}},
		{"wordpiece", "北京", spans{{0, 3}, {3, 6}}},
		{"wordpiece", "a\u200ba", spans{{0, 1}, {4, 5}}},
	} {
		if diff := cmp.Diff(tt.want, openSmall(t, tt.name).Offsets(tt.text)); diff != "" {
			t.Errorf("%s %q: %s", tt.name, tt.text, diff)
		}
	}
}

func TestTokenizer_facts(t *testing.T) {
	t.Parallel()
	unigram, wordPiece := openSmall(t, "unigram"), openSmall(t, "wordpiece")
	if got := unigram.VocabSize(); got != 27 {
		t.Errorf("Unigram vocabulary: %d tokens, want 27", got)
	}
	if got := wordPiece.VocabSize(); got != 23 {
		t.Errorf("WordPiece vocabulary: %d tokens, want 23", got)
	}
	if got := wordPiece.PadID(); got != 0 {
		t.Errorf("pad id %d, want 0", got)
	}
	for token, want := range map[string]int32{"<mask>": 25, "▁київ": 13, "Дніпро": 26} {
		if got, ok := unigram.ID(token); got != want || !ok {
			t.Errorf("id of %s: %d, %v; want %d", token, got, ok, want)
		}
	}
	if _, ok := wordPiece.ID("##"); ok {
		t.Error("## is no token, but has an id")
	}
}

// anyText draws texts with the things that tokenizers stumble over.
func anyText() *rapid.Generator[string] {
	parts := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "  ", "\t", "\r\n", "\u00a0", "\u200b", "\u0301", "и\u0306", "ї", "ﬁ", "½", "İ", "北", "<mask>", "<s>",
			"[SEP]", "Дніпро", "київ", "рік", "un", "able", "▁", "\x00", "\xff", "\xe2\x96", "👩\u200d👩", "🇺🇦", "\ufffd",
		}),
		rapid.StringN(0, 4, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(parts, 0, 24), func(s []string) string { return strings.Join(s, "") })
}

func TestProperties(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"unigram", "wordpiece"} {
		tok := openSmall(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { checkText(t, tok, anyText().Draw(t, "text")) })
		})
	}
}

// checkText checks what holds for any text and any tokenizer that puts one
// special token on either side.
func checkText(t rapid.TB, tok *tokenizer.Tokenizer, text string) {
	t.Helper()
	ids := tok.Encode(nil, text)
	if again := tok.Encode(nil, text); !slices.Equal(again, ids) {
		t.Fatalf("%q: first %v, then %v", text, ids, again)
	}
	content := ids[1 : len(ids)-1]
	if got := tok.Count(text); got != len(content) {
		t.Fatalf("%q: counted %d tokens of %d", text, got, len(content))
	}
	for _, limit := range []int{0, 1, 2, 3, len(ids) - 1, len(ids), len(ids) + 1} {
		got, truncated := tok.EncodeTruncated(nil, text, limit)
		keep := min(len(content), max(0, limit-2))
		want := slices.Concat(ids[:1], content[:keep], ids[len(ids)-1:])
		if !slices.Equal(got, want) || truncated != (keep < len(content)) {
			t.Fatalf("%q at most %d: %v, %v; want %v", text, limit, got, truncated, want)
		}
	}
	checkSpans(t, text, tok.Offsets(text), len(content))
}

func checkSpans(t rapid.TB, text string, spans []tokenizer.Span, want int) {
	t.Helper()
	if len(spans) != want {
		t.Fatalf("%q: %d spans for %d tokens", text, len(spans), want)
	}
	boundary := make([]bool, len(text)+1)
	for i := range text {
		boundary[i] = true
	}
	boundary[len(text)] = true
	end := 0
	for _, s := range spans {
		if s.Start < end || s.End < s.Start || s.End > len(text) {
			t.Fatalf("%q: spans %v overlap, are out of order or leave the text", text, spans)
		}
		if !boundary[s.Start] || !boundary[s.End] {
			t.Fatalf("%q: span %v cuts a rune", text, s)
		}
		end = s.End
	}
}

func FuzzEncode(f *testing.F) {
	for _, text := range []string{"", "Київ — столиця", "a<mask>\t[SEP]", "\xff\xc0\xaf", "и\u0306\u0301", "ﬁ½İ北"} {
		f.Add(text)
	}
	unigram, wordPiece := openSmall(f, "unigram"), openSmall(f, "wordpiece")
	f.Fuzz(func(t *testing.T, text string) {
		checkText(t, unigram, text)
		checkText(t, wordPiece, text)
		valid := strings.ToValidUTF8(text, "")
		if !utf8.ValidString(valid) {
			t.Fatal("not valid UTF-8")
		}
		checkText(t, unigram, valid)
	})
}

func TestEncode_allocatesNothingForKnownWords(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it holds")
	}
	text := strings.Repeat("Київ в рік і ріка, café un able <mask> и\u0306 ﬁn\n", 20)
	for _, name := range []string{"unigram", "wordpiece"} {
		tok := openSmall(t, name)
		ids := tok.Encode(nil, text)
		if n := testing.AllocsPerRun(100, func() { ids = tok.Encode(ids[:0], text) }); n != 0 {
			t.Errorf("%s: Encode allocates %v times", name, n)
		}
		var types []int32
		ids, types = tok.EncodePair(ids[:0], types, text, text)
		if n := testing.AllocsPerRun(100, func() { ids, types = tok.EncodePair(ids[:0], types[:0], text, text) }); n != 0 {
			t.Errorf("%s: EncodePair allocates %v times", name, n)
		}
		if n := testing.AllocsPerRun(100, func() { tok.Count(text) }); n != 0 {
			t.Errorf("%s: Count allocates %v times", name, n)
		}
	}
}

func TestTokenizer_isSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	tok := openSmall(t, "unigram")
	texts := []string{"київ рік", "ріка в києві", "ﬁn <mask>", strings.Repeat("ки ", 50), "дніпро"}
	var want [][]int32
	for _, text := range texts {
		want = append(want, openSmall(t, "unigram").Encode(nil, text))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for i, text := range texts {
					if got := tok.Encode(nil, text); !slices.Equal(got, want[i]) {
						t.Errorf("%q: got %v, want %v", text, got, want[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestOpen_missingFile(t *testing.T) {
	t.Parallel()
	if _, err := tokenizer.Open("testdata/nothing.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
