package axestest

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/text"
)

// Text is a kind of text handling under test.
type Text struct {
	Kind axes.Kind[text.Analyzer]
	// Set changes the default parameters; it may be nil.
	Set func(params any)
	Env axes.Env
	// Reference is a slow and plain implementation, or nil.
	Reference func(s string) []string
	// Golden has the digest of the terms of [TextSample] by version.
	Golden map[string]string
}

// TextSample is what golden digests of text kinds are made over.
const TextSample = "Їжак з’їв п'ять об`єктів; Ґанок, ґрунт і за́мок. ЩО Є, ТЕ Є!\n" +
	"cafe\u0301 CAFÉ naïve Ångström Ångström ﬁne İstanbul ISPARTA ıssız IĞDIR_42 ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ x.Σ.y\n" +
	"foo_bar 3.14 zx-401 a.-b __init__ don't ’quoted’ ½ ² Ⅷ ٣ 中文 東京 हिन्दी 한국어 각 tailǅ ß ẞ\n" +
	"й и̌ ё ё ї ў \u0301 .\u0301 '\u0301 e\u0301\u0323 𐐀 𝒳 \u00a0\u200b\ufeff end"

// Terms collects an analyzer's terms.
func Terms(a text.Analyzer, s string) []string {
	var terms []string
	a.Terms(s, func(term []byte) { terms = append(terms, string(term)) })
	return terms
}

// RunText runs the suite for a kind of text handling.
func RunText(t *testing.T, k Text) {
	a := instance(t, k.Kind, k.Set, k.Env)
	t.Run("golden", func(t *testing.T) {
		t.Parallel()
		golden(t, k.Kind.Meta, []byte(strings.Join(Terms(a, TextSample), "\n")), k.Golden)
	})
	t.Run("invariants", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { CheckText(t, a, k.Reference, Texts().Draw(t, "s")) })
	})
	t.Run("white space separates", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			left, right := Texts().Draw(t, "left"), Texts().Draw(t, "right")
			want := append(Terms(a, left), Terms(a, right)...)
			if diff := cmp.Diff(want, Terms(a, left+"\n"+right)); diff != "" {
				t.Fatalf("%q and %q (-apart +together):\n%s", left, right, diff)
			}
		})
	})
	t.Run("concurrent use", func(t *testing.T) {
		t.Parallel()
		want := Terms(a, TextSample)
		var group errgroup.Group
		for range 8 {
			group.Go(func() error {
				for range 50 {
					if got := Terms(a, TextSample); !slices.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
				}
				return nil
			})
		}
		_ = group.Wait() // its functions return nil
	})
}

// CheckText checks what holds for any text, valid UTF-8 or not. Fuzz tests call
// it, too. The reference may be nil.
func CheckText(t rapid.TB, a text.Analyzer, reference func(string) []string, s string) {
	t.Helper()
	terms := Terms(a, s)
	for _, term := range terms {
		if term == "" || !utf8.ValidString(term) {
			t.Errorf("term %q of %q", term, s)
		}
	}
	if again := Terms(a, s); !slices.Equal(terms, again) {
		t.Errorf("%q gives %q, then %q", s, terms, again)
	}
	if utf8.ValidString(s) {
		if other := Terms(a, norm.NFD.String(s)); !slices.Equal(terms, other) {
			t.Errorf("%q gives %q, its decomposed form %q", s, terms, other)
		}
	}
	if reference != nil {
		if want := reference(s); !slices.Equal(terms, want) {
			t.Errorf("%+q gives %+q, want %+q", s, terms, want)
		}
	}
}

// Texts draws texts that are hard on analyzers: letters of several scripts,
// combining marks, apostrophes, case that depends on context, broken UTF-8.
func Texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "\n", ".", "'", "’", "ʼ", "`", "_", "-", ":", "·", "\u00ad", "\u200b", "\u0301", "\u0306", "\u0307", "\u0308",
			"\u0323", "\u0345", "\u0327", "Σ", "σ", "İ", "I", "ı", "i", "й", "Й", "ї", "Ґ", "ґ", "e", "A", "9", "\u037a", "ß", "Å",
			"\u212a", "\u1100", "\u1161", "\u11a8", "각", "가", "中", "か", "\u3099", "𐐀", "𝒳", "ᾳ", "ǅ", "ﬁ", "\u0340", "\u0374", "क", "ि", "\u093c",
			"\xff", "\xc3", "\xe2\x80", "\u2028", "\ufffd", "\u0f73", "\U0001d15e", "½", "Ⅷ", "＇",
		}),
		rapid.StringN(0, 4, -1),
		rapid.StringMatching(`[а-яА-ЯіїєґІЇЄҐ]{1,7}`),
		rapid.StringMatching(`[a-zA-Z0-9]{1,5}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
}
