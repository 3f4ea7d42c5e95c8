package text_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/text"
	"raglab/internal/assets/assetstest"
	"raglab/internal/param"
)

// ownWords is a small dictionary with what is hard: names that are also forms of
// common nouns, apostrophes of three code points, lemmas of several words, of
// none, and with capitals.
var ownWords = map[string]string{
	"міста": "місто", "Міста": "Міста", "києві": "кий", "Києві": "Київ", "Києва": "Київ", "КНР": "Китай",
	"п'яти": "п’ять", "п’ятьох": "п'ять", "об'єктів": "обʼєкт", "обʼєкту": "об'єкт",
	"їжак": "їжак", "Ґанок": "ґанок", "замки": "замок", "ії": "ій", "Йй": "Ї",
	"cafés": "Café au lait", "café": "Cafe\u0301", "don't": "do not", "x": "…", "foo_bar": "foo", "e": "E'e ee", "9": "nine",
	"σίσυφος": "Σίσυφος", "İstanbul'da": "İstanbul", "ısparta": "Isparta", "ilim": "ilim", "i": "I", "a": "A", "ά": "α",
	"zx-401": "zx", "quoted": "quote", "ǆ": "dz", "ß": "ss", "ii": "i",
}

// dictionaryFile writes a dictionary and returns its path.
func dictionaryFile(tb testing.TB, words map[string]string) string {
	tb.Helper()
	var lines strings.Builder
	for form, lemma := range words {
		lines.WriteString(form + "\t" + lemma + "\n")
	}
	path := filepath.Join(tb.TempDir(), "lemmas.tsv")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// own makes an opened analyzer over a dictionary file.
func own(tb testing.TB, path, language string, set func(*text.LemmaParams)) text.Analyzer {
	tb.Helper()
	a := analyzer(tb, "lemma", language, func(p *text.LemmaParams) {
		p.File = path
		if set != nil {
			set(p)
		}
	})
	if err := text.Open(tb.Context(), a); err != nil {
		tb.Fatal(err)
	}
	return a
}

// published makes an opened analyzer over one of the dictionaries that raglab gets.
func published(tb testing.TB, dictionary string, set func(*text.LemmaParams)) text.Analyzer {
	tb.Helper()
	p := kind(tb, "lemma").Params().(*text.LemmaParams)
	p.Dictionary = dictionary
	if set != nil {
		set(p)
	}
	a, err := kind(tb, "lemma").New(p, axes.Env{Language: dictionary, Asset: assetOf(tb)})
	if err == nil {
		err = text.Open(tb.Context(), a)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// assetOf returns an environment's function that gets assets as
// [assetstest.Dir] does.
func assetOf(tb testing.TB) func(context.Context, string) (string, error) {
	return func(_ context.Context, name string) (string, error) {
		return assetstest.Dir(tb, name), nil
	}
}

func TestLemma(t *testing.T) {
	t.Parallel()
	path := dictionaryFile(t, ownWords)
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "lemma"), Set: func(p any) { p.(*text.LemmaParams).File = path },
		Reference: plainLemma(ownWords),
		Golden:    map[string]string{"1": "ecf0a6bfdb6153ba"},
	})
}

// TestLemma_parameters records what the other parameters make of the sample.
func TestLemma_parameters(t *testing.T) {
	t.Parallel()
	path := dictionaryFile(t, ownWords)
	axestest.RunText(t, axestest.Text{
		Kind: kind(t, "lemma"), Set: func(p any) {
			l := p.(*text.LemmaParams)
			l.File, l.Case, l.Joiners, l.Stop, l.MinLength = path, "lower", "-", []string{"є", "п’ять"}, 2
		},
		Golden: map[string]string{"1": "50f03d1fb33909cd"},
	})
}

// TestLemma_published records what the dictionaries that raglab gets make of a
// sample, each with its language's casing.
func TestLemma_published(t *testing.T) {
	t.Parallel()
	for dictionary, digest := range map[string]string{"uk": "f3c2035f8675b2d0", "tr": "1bbf0044ee05f11a", "it": "a5df97632e82dcb8"} {
		t.Run(dictionary, func(t *testing.T) {
			t.Parallel()
			axestest.RunText(t, axestest.Text{
				Kind: kind(t, "lemma"), Set: func(p any) { p.(*text.LemmaParams).Dictionary = dictionary },
				Env:    axes.Env{Language: dictionary, Asset: assetOf(t)},
				Golden: map[string]string{"1": digest},
			})
		})
	}
}

// TestLemma_kyiv is about an observation that was published of the Ukrainian
// dictionary: that Києва and Києву become Київ, but Києві and even Київ become
// кий. So it is when a text is lower-cased before the lookup, because києві and
// київ are also forms of кий, a cue, and києва and києву are not. The dictionary
// knows all cases of the name.
func TestLemma_kyiv(t *testing.T) {
	t.Parallel()
	typed := published(t, "uk", nil)
	lower := published(t, "uk", func(p *text.LemmaParams) { p.Case = "lower" })
	tests := []struct{ in, typed, lower string }{
		{"Київ Києва Києву Києвом Києві Києве", "київ київ київ київ київ київ", "кий київ київ київ кий київ"},
		{"київ києва києву києвом києві", "кий київ київ київ кий", "кий київ київ київ кий"},
		{"КИЇВ КИЄВА", "кий київ", "кий київ"},
	}
	for _, test := range tests {
		if got := strings.Join(axestest.Terms(typed, test.in), " "); got != test.typed {
			t.Errorf("typed: %q gives %q, want %q", test.in, got, test.typed)
		}
		if got := strings.Join(axestest.Terms(lower, test.in), " "); got != test.lower {
			t.Errorf("in lower case: %q gives %q, want %q", test.in, got, test.lower)
		}
	}
}

func TestLemma_publishedTerms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dictionary string
		terms      map[string]string
	}{
		{"uk", map[string]string{
			"Львова Львові, Дніпра Дніпрі; ЛЬВОВА": "львів львів дніпро дніпро львів",
			"п'ятьох п’ятьох пʼятьох п`ятьох":      "п'ять п'ять п'ять п'ять",
			"Об’єкти міста; вулицями йшли люди":    "об'єкт місто вулиця йти людина",
		}},
		{"tr", map[string]string{
			"Evlerinde KİTAPLARI ISLAK, İstanbul’da İSTANBUL'DA": "ev kitap ıslak istanbul istanbul",
		}},
		{"it", map[string]string{
			"Gli amici dell’università mangiavano": "il amico dell università mangiare",
		}},
	}
	for _, test := range tests {
		a := published(t, test.dictionary, nil)
		for in, want := range test.terms {
			if got := strings.Join(axestest.Terms(a, in), " "); got != want {
				t.Errorf("%s: %q gives %q, want %q", test.dictionary, in, got, want)
			}
		}
	}
}

func TestLemma_terms(t *testing.T) {
	t.Parallel()
	path := dictionaryFile(t, ownWords)
	plain := func(*text.LemmaParams) {}
	lower := func(p *text.LemmaParams) { p.Case = "lower" }
	filters := func(p *text.LemmaParams) { p.Stop, p.MinLength = []string{"П’ЯТИ", "Та"}, 3 }
	hyphens := func(p *text.LemmaParams) { p.Joiners = "-" }
	apostrophe := func(p *text.LemmaParams) { p.Joiners = "'" }
	ascii := func(p *text.LemmaParams) { p.Characters = "ascii" }
	tests := []struct {
		name, language string
		set            func(*text.LemmaParams)
		in, want       string
	}{
		{"as typed", "uk", plain, "міста Міста МІСТА", "місто міста місто"},
		{"in lower case first", "uk", lower, "міста Міста МІСТА Києва Києві КНР", "місто місто місто київ кий кнр"},
		{"the other cases", "uk", plain, "києва КИЄВА Замки ЗАМКИ замкИ ґанок кнр КНР", "київ київ замок замок замок ґанок кнр китай"},
		{"apostrophes", "uk", plain, "п'яти п’яти пʼяти п`яти П＇ЯТИ п'ятьох обʼєктів об'єкту", "п'ять п'ять п'ять п'ять п'ять п'ять об'єкт об'єкт"},
		{"apostrophes of words that are not there", "uk", plain, "м'ята м’ята мʼята міста'замки", "м ята м ята мʼята місто замок"},
		{"apostrophes not in words", "uk", plain, "'п'яти' п''яти", "п'ять п яти"},
		{"several words, none", "", plain, "Cafés x X don’t", "café au lait x x do not"},
		{"a lemma in another form", "", plain, "cafe\u0301", "café"},
		{"filters before the lookup", "uk", filters, "п'яти пʼяти п'ятьох та x ii міста їжак", "п'ять місто їжак"},
		{"hyphens", "", hyphens, "zx-401 ZX-401 ab-cd zx-'401", "zx zx ab-cd zx 401"},
		{"the user's own apostrophe", "uk", apostrophe, "м'ята м’ята п’яти", "м'ята м ята п'ять"},
		{"ascii", "", ascii, "dont don't Café п'яти", "dont do not caf"},
		{"Turkish casing", "tr", plain, "İSTANBUL'DA İstanbul’da ISPARTA İLİM İ", "istanbul istanbul ısparta ilim ı"},
		{"another casing", "", plain, "ISPARTA İLİM", "isparta i li m"},
		{"Greek", "", plain, "ΣΊΣΥΦΟΣ Σίσυφος ΟΔΌΣ", "σίσυφος σίσυφος οδός"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(axestest.Terms(own(t, path, test.language, test.set), test.in), " ")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

// TestLemma_isSimpleWithoutWords compares with the kind simple, parameters and
// all, over a dictionary that has none of the words.
func TestLemma_isSimpleWithoutWords(t *testing.T) {
	t.Parallel()
	path := dictionaryFile(t, map[string]string{"не є слово": "слово"})
	tests := []struct {
		language string
		text.SimpleParams
	}{
		{"uk", text.SimpleParams{Characters: "word", MinLength: 1}},
		{"", text.SimpleParams{Characters: "alnum", Joiners: "-", MinLength: 2}},
		{"tr", text.SimpleParams{Characters: "ascii", Letters: "ç", Joiners: "'", Stop: []string{"a", "i9"}, MinLength: 1}},
		{"el", text.SimpleParams{Characters: "word", Letters: "·", Joiners: "’-", Stop: []string{"a", "й", "ς"}, MinLength: 1}},
		{"tr", text.SimpleParams{Characters: "word", Joiners: ".:", MinLength: 3}},
	}
	for _, test := range tests {
		p := test.SimpleParams
		for _, first := range []string{"typed", "lower"} {
			plain := analyzer(t, "simple", test.language, func(s *text.SimpleParams) { *s = p })
			a := own(t, path, test.language, func(l *text.LemmaParams) {
				l.Case = first
				l.Characters, l.Letters, l.Joiners, l.Stop, l.MinLength = p.Characters, p.Letters, p.Joiners, p.Stop, p.MinLength
			})
			rapid.Check(t, func(rt *rapid.T) {
				s := axestest.Texts().Draw(rt, "s")
				if diff := cmp.Diff(axestest.Terms(plain, s), axestest.Terms(a, s)); diff != "" {
					rt.Fatalf("%+v: %+q (-simple +lemma):\n%s", test, s, diff)
				}
			})
		}
	}
}

func FuzzLemma(f *testing.F) {
	for _, s := range []string{axestest.TextSample, "Києві п’яти'м`ята", "E'e ΑΣ'ΑΣ", "a\u0301'\u0301Й"} {
		f.Add(s)
	}
	a, reference := own(f, dictionaryFile(f, ownWords), "", nil), plainLemma(ownWords)
	f.Fuzz(func(t *testing.T, s string) { axestest.CheckText(t, a, reference, s) })
}

func TestLemma_countsUnknown(t *testing.T) {
	t.Parallel()
	path := dictionaryFile(t, ownWords)
	tests := []struct {
		in             string
		words, unknown int
	}{
		{"", 0, 0},
		{"Міста та замки, x", 4, 1},
		{"2024 9-й 7а 9", 4, 2}, // 9 is in the dictionary, 2024 is no word
		{"м'ята п’яти мʼята cafés", 5, 3},
	}
	for _, test := range tests {
		words, unknown := own(t, path, "uk", nil).(text.Counter).Unknown(test.in)
		if words != test.words || unknown != test.unknown {
			t.Errorf("%q: %d words, %d unknown, want %d and %d", test.in, words, unknown, test.words, test.unknown)
		}
	}
	if m := own(t, path, "uk", nil).(text.Counter).Memory(); m < 500 || m > 5000 {
		t.Errorf("%d bytes for %d forms", m, len(ownWords))
	}
}

func TestLemma_doesNotAllocate(t *testing.T) {
	a := own(t, dictionaryFile(t, ownWords), "uk", nil)
	s := strings.Repeat("Міста, замки та п’яти об`єктів; м'ята Києві cafés 2024. ", 50)
	n := 0
	emit := func(term []byte) { n += len(term) }
	a.Terms(s, emit)
	// A few for the call are allowed: under the race detector pools lose things.
	if allocs := testing.AllocsPerRun(50, func() { a.Terms(s, emit) }); allocs > 9 {
		t.Errorf("%v allocations for %d words", allocs, 50*9)
	}
}

func TestLemma_refusesParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		attribute string
		set       func(*text.LemmaParams)
	}{
		{"dictionary", func(*text.LemmaParams) {}},
		{"file", func(p *text.LemmaParams) { p.Dictionary, p.File = "uk", "x.tsv" }},
		{"letters", func(p *text.LemmaParams) { p.Dictionary, p.Letters = "uk", "Ç" }},
		{"joiners", func(p *text.LemmaParams) { p.Dictionary, p.Joiners = "uk", "ʼ" }},
		{"stop", func(p *text.LemmaParams) { p.Dictionary, p.Stop = "uk", []string{"two words"} }},
	}
	for _, test := range tests {
		p := kind(t, "lemma").Params().(*text.LemmaParams)
		test.set(p)
		_, err := kind(t, "lemma").New(p, axes.Env{})
		var wrong *param.Error
		if !errors.As(err, &wrong) || wrong.Attribute != test.attribute {
			t.Errorf("%+v: %v, want an error of %s", p, err, test.attribute)
		}
	}
}

func TestLemma_needs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		params text.LemmaParams
		want   axes.Needs
	}{
		{text.LemmaParams{Dictionary: "uk"}, axes.Needs{Assets: []string{"simplemma-uk"}}},
		{text.LemmaParams{File: "x.tsv"}, axes.Needs{Files: []string{"x.tsv"}}},
		{text.LemmaParams{}, axes.Needs{}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, kind(t, "lemma").Needs(&test.params)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.params, diff)
		}
	}
}

func TestOpen_reportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	why := errors.New("no network")
	dir := t.TempDir()
	for name, content := range map[string]string{"bad.tsv": "a\tb\nc\n", "uk.plzma": "not XZ"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(context.Context, string) (string, error) { return dir, nil }
	tests := []struct {
		params text.LemmaParams
		asset  func(context.Context, string) (string, error)
		want   string
	}{
		{text.LemmaParams{Dictionary: "uk"}, nil, "read dictionary simplemma-uk: no assets are to be had here"},
		{text.LemmaParams{Dictionary: "uk"}, func(context.Context, string) (string, error) { return "", why }, "read dictionary simplemma-uk: no network"},
		{text.LemmaParams{Dictionary: "uk"}, folder, "simplemma-uk: unpack dictionary: this is no XZ file, or one that is damaged"},
		{text.LemmaParams{Dictionary: "tr"}, folder, "read dictionary simplemma-tr: open " + filepath.Join(dir, "tr.plzma")},
		{text.LemmaParams{File: filepath.Join(dir, "bad.tsv")}, nil, "bad.tsv:2: expected a form, a tab and its lemma, found 0 tabs"},
		{text.LemmaParams{File: filepath.Join(dir, "none.tsv")}, nil, "read dictionary: open " + filepath.Join(dir, "none.tsv")},
	}
	for _, test := range tests {
		a, err := kind(t, "lemma").New(&test.params, axes.Env{Asset: test.asset})
		if err != nil {
			t.Fatal(err)
		}
		if err := text.Open(t.Context(), a); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if !panics(func() { a.Terms("x", func([]byte) {}) }) {
			t.Errorf("%+v: terms without a dictionary", test.params)
		}
	}
	if err := text.Open(t.Context(), analyzer[text.SimpleParams](t, "simple", "", nil)); err != nil {
		t.Error(err)
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestOpen_readsOnce opens from many goroutines, after a first try that was
// cancelled.
func TestOpen_readsOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	dictionary := assetOf(t)
	asset := func(ctx context.Context, name string) (string, error) {
		calls.Add(1)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return dictionary(ctx, name)
	}
	a, err := kind(t, "lemma").New(&text.LemmaParams{Dictionary: "it"}, axes.Env{Asset: asset})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dictionary(t.Context(), "simplemma-it"); err != nil {
		t.Fatal(err)
	}
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := text.Open(ctx, a); !errors.Is(err, why) {
		t.Errorf("opened when cancelled: %v", err)
	}
	var group errgroup.Group
	for range 8 {
		group.Go(func() error { return text.Open(t.Context(), a) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("the asset was asked for %d times, want once in vain and once", n)
	}
}
