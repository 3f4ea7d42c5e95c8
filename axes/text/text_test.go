package text_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/text"
	"raglab/internal/param"
)

func kind(tb testing.TB, name string) axes.Kind[text.Analyzer] {
	tb.Helper()
	k, ok := axes.Find(text.Kinds, name)
	if !ok {
		tb.Fatalf("no kind %q", name)
	}
	return k
}

// analyzer makes an analyzer; set changes the default parameters.
func analyzer[P any](tb testing.TB, name, lang string, set func(*P)) text.Analyzer {
	tb.Helper()
	k := kind(tb, name)
	p := k.Params()
	if set != nil {
		set(p.(*P))
	}
	a, err := k.New(p, axes.Env{Language: lang})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

var (
	wordPattern   = regexp.MustCompile(`[\p{L}\p{N}_]+`)
	joinedPattern = regexp.MustCompile(`[\p{L}\p{N}_]+(?:'[\p{L}\p{N}_]+)*`)
)

// plain is simple in a few slow words.
func plain(s string) []string { return wordPattern.FindAllString(lower(norm.NFC.String(s)), -1) }

// lower is Python's str.lower.
func lower(s string) string {
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == 'İ':
			out.WriteString("i\u0307")
		case r == 'Σ' && final(s[:i], s[i+len("Σ"):]):
			out.WriteRune('ς')
		default:
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

func final(before, after string) bool {
	ignorable := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
			strings.ContainsRune("'.:·‘’․‧\u0387՟״︓﹒﹕＇．：", r)
	}
	cased := func(r rune) bool {
		return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
			unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, ignorable))
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, ignorable))
	return cased(last) && !cased(next)
}

// plainUnaccent is unaccent in a few slow words.
func plainUnaccent(s string) []string {
	const marks = "'`´‘’‛′‵ʹʻʼʽˈˊˋꞌ＇"
	s = norm.NFD.String(lower(norm.NFC.String(s)))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == 'ґ':
			return 'г'
		case strings.ContainsRune(marks, r):
			return '\''
		}
		return r
	}, s)
	var terms []string
	for _, t := range joinedPattern.FindAllString(norm.NFC.String(s), -1) {
		terms = append(terms, strings.ReplaceAll(t, "'", ""))
	}
	return terms
}

func plainPrefix(s string) []string {
	terms := plain(s)
	for i, t := range terms {
		runes := []rune(t)
		terms[i] = string(runes[:min(5, len(runes))])
	}
	return terms
}

func TestSimple(t *testing.T) {
	t.Parallel()
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "simple"), Reference: plain,
		Golden: map[string]string{"1": "ec176ffbda167b42"},
	})
}

func TestSimple_turkish(t *testing.T) {
	t.Parallel()
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "simple"), Env: axes.Env{Language: "tr-TR"},
		Golden: map[string]string{"1": "1bbf0044ee05f11a"},
	})
}

func TestUnaccent(t *testing.T) {
	t.Parallel()
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "unaccent"), Reference: plainUnaccent,
		Golden: map[string]string{"1": "2a1ef83fd72f28c3"},
	})
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "prefix"), Reference: plainPrefix,
		Golden: map[string]string{"1": "1e6322a5f4bbb83a"},
	})
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{axestest.TextSample, "", "а\u0306", "'\u0301'", "aΣ.\xffb", "\u0345Σ\u0345", "a'ʼb'"} {
		f.Add(s)
	}
	simple := analyzer[text.SimpleParams](f, "simple", "", nil)
	unaccent := analyzer[text.UnaccentParams](f, "unaccent", "", nil)
	f.Fuzz(func(t *testing.T, s string) {
		axestest.CheckText(t, simple, plain, s)
		axestest.CheckText(t, unaccent, plainUnaccent, s)
	})
}

func TestTerms(t *testing.T) {
	t.Parallel()
	simple := func(lang string, set func(*text.SimpleParams)) text.Analyzer {
		return analyzer(t, "simple", lang, set)
	}
	prefix := func(lang string, set func(*text.PrefixParams)) text.Analyzer {
		return analyzer(t, "prefix", lang, set)
	}
	unaccent := func(set func(*text.UnaccentParams)) text.Analyzer { return analyzer(t, "unaccent", "uk", set) }
	compounds := func(p *text.SimpleParams) { p.Characters, p.Joiners = "ascii", "._-" }
	turkish := func(p *text.PrefixParams) {
		p.Characters, p.Letters, p.MinLength, p.Stop = "ascii", "çğıöşü", 2, []string{"Ve", "İLE"}
	}
	tests := []struct {
		name string
		a    text.Analyzer
		in   string
		want string
	}{
		{"words", simple("", nil), "Їжак, їжак_2 і п'ять!", "їжак їжак_2 і п ять"},
		{"composed first", simple("", nil), "и\u0306 E\u0301", "й é"},
		{"a mark without a composed form separates", simple("", nil), "за\u0301мок", "за мок"},
		{"Python's lower case of a dotted capital", simple("", nil), "İstanbul", "i stanbul"},
		{"Turkish casing", simple("tr", nil), "IĞDIR İzmir I\u0307zmir", "ığdır izmir izmir"},
		{"Azerbaijani casing", simple("az-Latn-AZ", nil), "QIZ", "qız"},
		{"final sigma", simple("el", nil), "ΟΔΟΣ ΟΣΑ Σ ΑΣ'Α ΑΣ'", "οδος οσα σ ασ α ας"},
		{"letters and digits", simple("", func(p *text.SimpleParams) { p.Characters = "alnum" }), "a_b __ №5½", "a b 5½"},
		{"compounds", simple("", compounds), "Version 3.5, zx-401; a.-b -c_ d... é e-é", "version 3.5 zx-401 a b c d e"},
		{"filters", simple("", func(p *text.SimpleParams) { p.MinLength, p.Stop = 3, []string{"АБО"} }), "або ні це так", "так"},
		{"unaccent", unaccent(nil), "Й ї Ґанок за\u0301мок é ё", "и і ганок замок e е"},
		{"apostrophes", unaccent(nil), "п'ять п’ять пʼять п`ять 'п' п''ять п'", "пять пять пять пять п п ять п"},
		{"an apostrophe under a mark", unaccent(nil), "п'\u0301ять", "пять"},
		{"unaccent filters", unaccent(func(p *text.UnaccentParams) { p.Stop = []string{"м'яч"} }), "М’яч мяч мій", "міи"},
		{"prefix", prefix("uk", nil), "національний їжа нація2 п", "націо їжа нація п"},
		{"Turkish prefixes", prefix("tr", turkish), "Diyabetin ve ILIKLAŞTIRMA ile Kâğıt o", "diyab ılıkl ğıt"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, strings.Join(axestest.Terms(test.a, test.in), " ")); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestKinds_refuseParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		attribute string
		set       func(*text.SimpleParams)
	}{
		{"stop", func(p *text.SimpleParams) { p.Stop = []string{"two words"} }},
		{"stop", func(p *text.SimpleParams) { p.Stop = []string{"…"} }},
		{"letters", func(p *text.SimpleParams) { p.Letters = "Ç" }},
		{"letters", func(p *text.SimpleParams) { p.Letters = "a b" }},
		{"joiners", func(p *text.SimpleParams) { p.Joiners = "-_" }},
		{"joiners", func(p *text.SimpleParams) { p.Joiners = " " }},
	}
	for _, test := range tests {
		k := kind(t, "simple")
		p := k.Params()
		test.set(p.(*text.SimpleParams))
		_, err := k.New(p, axes.Env{})
		var wrong *param.Error
		if !errors.As(err, &wrong) || wrong.Attribute != test.attribute {
			t.Errorf("%+v: %v, want an error of %s", p, err, test.attribute)
		}
	}
}

// TestTerms_longWords has words longer than any buffer at first, before and
// after what takes the long way.
func TestTerms_longWords(t *testing.T) {
	t.Parallel()
	a := analyzer[text.SimpleParams](t, "simple", "", nil)
	for _, n := range []int{60, 61, 62, 63, 64, 65, 1000} {
		long := strings.Repeat("ї", n)
		in := long + " " + long + "и\u0306" + long + " " + strings.Repeat("x", n)
		want := []string{long, long + "й" + long, strings.Repeat("x", n)}
		if got := axestest.Terms(a, in); !slices.Equal(got, want) {
			t.Errorf("%d letters: %q", n, got)
		}
	}
}
