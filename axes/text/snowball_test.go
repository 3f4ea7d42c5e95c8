package text_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/turkish"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/text"
	"raglab/internal/param"
)

// plainSnowball is snowball in a few slow words, after words that are found by a
// function of the same kind.
func plainSnowball(words func(string) []string, stem func(*snowballstem.Env) bool) func(string) []string {
	return func(s string) []string {
		terms := words(s)
		for i, t := range terms {
			env := snowballstem.NewEnv(t)
			stem(env)
			if env.Current() != "" && len([]rune(t)) <= 100 {
				terms[i] = env.Current()
			}
		}
		return terms
	}
}

func inEnglish(p any) { p.(*text.SnowballParams).Language = "en" }

func TestSnowball(t *testing.T) {
	t.Parallel()
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "snowball"), Set: inEnglish, Reference: plainSnowball(plain, english.Stem),
		Golden: map[string]string{"1": "f74668743ab7bac5"},
	})
}

func TestSnowball_turkish(t *testing.T) {
	t.Parallel()
	simple := analyzer[text.SimpleParams](t, "simple", "tr", nil)
	words := func(s string) []string { return axestest.Terms(simple, s) }
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "snowball"), Env: axes.Env{Language: "tr-TR"}, Reference: plainSnowball(words, turkish.Stem),
		Golden: map[string]string{"1": "8586cf3c279ce636"},
	})
}

func FuzzSnowball(f *testing.F) {
	languages := []string{"ar", "da", "de", "en", "es", "fi", "fr", "ga", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta", "tr"}
	var analyzers []text.Analyzer
	for _, l := range languages {
		analyzers = append(analyzers, analyzer[text.SnowballParams](f, "snowball", l, nil))
	}
	for _, s := range []string{axestest.TextSample, "", "yyy ying 'ly", "hastalıklarının", "நிறுவனங்களின்", "\xff", "niederländisch", "qu que gü ñ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, a := range analyzers {
			axestest.CheckText(t, a, nil, s)
		}
	})
}

// TestSnowball_languages has words whose stems Snowball's own program gave.
func TestSnowball_languages(t *testing.T) {
	t.Parallel()
	tests := []struct{ language, in, want string }{
		{"ar", "الكتاب والمدارس", "كتاب والمدارس"},
		{"da", "undersøgelserne venligheden", "undersøg ven"},
		{"nl", "mogelijkheden lopende", "mogelijk lopend"},
		{"en-GB", "Retrieval, relational ponies", "retriev relat poni"},
		{"fi", "taloissamme kirjastoista 244", "talo kirjasto 244"},
		{"fr", "Continuellement NATIONALITÉS", "continuel national"},
		{"de", "aufeinanderfolgenden Häuser", "aufeinanderfolg haus"},
		{"hu", "házaikban könyvtárak", "ház könyvtár"},
		{"ga", "bhfeirmeoir teangacha", "feirmeoir teangacha"},
		{"it", "abbandonata nazionali", "abbandon nazional"},
		{"nb", "havnedistriktene vennligheten", "havnedistrikt venn"},
		{"pt-BR", "boataria quilométricas", "boat quilométr"},
		{"ro", "naționale învăţământului", "naţional învăţământ"},
		{"ru", "возвращаться национальными", "возвраща национальн"},
		{"es", "cheque nacionalidades", "chequ nacional"},
		{"sv", "jaktkarlarne vänligheten", "jaktkarl vän"},
		{"tr", "EVLERİMİZDEN HASTALIKLARININ diyabetlilerde", "ev hastalık diyabetli"},
		{"en", "zx401 2024 " + strings.Repeat("walking", 20), "zx401 2024 " + strings.Repeat("walking", 20)},
	}
	for _, test := range tests {
		a := analyzer[text.SnowballParams](t, "snowball", test.language, nil)
		for range 2 { // found, then remembered
			if got := strings.Join(axestest.Terms(a, test.in), " "); got != test.want {
				t.Errorf("%s: %q gives %q, want %q", test.language, test.in, got, test.want)
			}
		}
	}
}

func TestSnowball_parameters(t *testing.T) {
	t.Parallel()
	a := analyzer(t, "snowball", "uk", func(p *text.SnowballParams) {
		p.Language, p.Stop, p.MinLength, p.Joiners = "en", []string{"Being"}, 3, "'"
	})
	if got := strings.Join(axestest.Terms(a, "being beings as ponies' don't IS İ"), " "); got != "be poni don't" {
		t.Errorf("got %q", got)
	}
	k := kind(t, "snowball")
	for language, problem := range map[string]string{
		"":      "must be set when the corpus states no language; there are stemmers for ar, da, de,",
		"uk-UA": `Snowball has no stemmer for the corpus's language "uk-UA", only for ar,`,
	} {
		_, err := k.New(k.Params(), axes.Env{Language: language})
		var wrong *param.Error
		if !errors.As(err, &wrong) || wrong.Attribute != "language" || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v", language, err)
		}
	}
}

// TestSnowball_forgets asks for more words than are remembered.
func TestSnowball_forgets(t *testing.T) {
	t.Parallel()
	a := analyzer[text.SnowballParams](t, "snowball", "en", nil)
	count := 0
	var words strings.Builder
	for i := range 140_000 {
		fmt.Fprintf(&words, "w%dabings ", i)
	}
	a.Terms(words.String(), func(term []byte) {
		if strings.HasSuffix(string(term), "ings") {
			count++
		}
	})
	if count != 0 {
		t.Errorf("%d words keep their endings", count)
	}
	if got := axestest.Terms(a, "w1abings walking"); got[1] != "walk" {
		t.Errorf("got %q", got)
	}
}
