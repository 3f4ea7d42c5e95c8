package generate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"raglab/golden"
	"raglab/internal/markdown"
)

// words are runs of letters and digits in lower case.
func words(text string, emit func([]byte)) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		emit([]byte(w))
	}
}

// sentences end at a full stop and a blank.
func sentences(text string) []string {
	var out []string
	for s := range strings.SplitSeq(text, ". ") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, strings.TrimSuffix(s, ".")+".")
		}
	}
	return out
}

// lemmas takes a plural for its singular.
func lemmas(text string, emit func([]byte)) {
	words(text, func(w []byte) {
		if len(w) > 3 && w[len(w)-1] == 's' {
			w = w[:len(w)-1]
		}
		emit(w)
	})
}

var tools = Tools{Words: words, Sentences: sentences, Lemmas: lemmas}

// filler makes the corpus large enough for a term of one document to be rare.
func filler(n int) []Document {
	var out []Document
	for i := range n {
		out = append(out, Document{ID: fmt.Sprintf("filler%d", i), Title: fmt.Sprintf("Filler%d", i), Text: "nothing"})
	}
	return out
}

func made(t *testing.T, o Options, docs ...Document) *Result {
	t.Helper()
	if o.Language == "" {
		o.Language = "en"
	}
	o.Split = golden.Split{By: "hash", Dev: 0.5}
	r, err := Questions(t.Context(), append(docs, filler(10)...), tools, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts are the questions of a result, and its dropped candidates with reasons,
// without those of the filler.
func texts(r *Result) (asked, dropped []string) {
	for _, q := range r.Set.Questions {
		asked = append(asked, q.ID+": "+q.Text)
	}
	for _, d := range r.Dropped {
		if !strings.HasPrefix(d.Doc, "filler") {
			dropped = append(dropped, fmt.Sprintf("%s-%s %s: %s", d.Style, d.Doc, d.Reason, d.Question))
		}
	}
	return asked, dropped
}

func expect(t *testing.T, r *Result, asked, dropped []string) {
	t.Helper()
	a, d := texts(r)
	if !reflect.DeepEqual(a, asked) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(a, "\n"), strings.Join(asked, "\n"))
	}
	if !reflect.DeepEqual(d, dropped) {
		t.Errorf("dropped\n%s\nwant\n%s", strings.Join(d, "\n"), strings.Join(dropped, "\n"))
	}
}

const dnipro = `**Dnipro** (also [Dnieper](x.md), 2201 km) is the longest river of Ukraine and its main waterway. It flows south.

## Course

The Dnipro leaves the Valdai hills at 220 metres above the sea. Rapids once stopped boats below Kyiv.

## References

In 1999 some authors wrote books.
`

func TestQuestions_styles(t *testing.T) {
	t.Parallel()
	doc := Document{ID: "d", Title: "Dnipro", Text: dnipro, Syntax: markdown.Markdown}
	for style, want := range map[Style]string{
		Lead:    "lead-d: the longest river of Ukraine and its main waterway",
		Section: "section-d: Dnipro Course",
		Factoid: "factoid-d: The leaves the Valdai hills at metres above the sea",
		Lemma:   "lemma-d: rapid stopped boat kyiv",
	} {
		r := made(t, Options{Styles: []Style{style}, Source: "wiki"}, doc)
		if asked, _ := texts(r); !slices.Equal(asked, []string{want}) {
			t.Errorf("%s: %q, want %q; dropped %+v", style, asked, want, r.Dropped[:min(5, len(r.Dropped))])
			continue
		}
		q := r.Set.Questions[0]
		if !slices.Equal(q.Tags[1:], []string{"kind:" + string(style), "source:wiki:d"}) || !reflect.DeepEqual(q.Relevant, []golden.Relevant{{Doc: "d", Grade: 1}}) {
			t.Errorf("%+v", q)
		}
		if part := (golden.Split{By: "tag"}).Part(q); part != (golden.Split{By: "hash", Dev: 0.5}).Part(q) {
			t.Errorf("%s is tagged for %s", q.ID, part)
		}
	}
}

func TestQuestions_definitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, title, text, want string }{
		{"uk", "Дніпро", "Дніпро́ (рос Днепр — річка) — найбільша річка України, четверта за довжиною в Європі.", "найбільша річка України, четверта за довжиною в Європі"},
		{"uk", "Борщ", "Борщ це страва, яку варять з буряка, капусти та борщу.", "страва, яку варять з буряка, капусти та"},
		{"it", "Etna", "L'Etna è un vulcano attivo sulla costa orientale della Sicilia.", "un vulcano attivo sulla costa orientale della Sicilia"},
		{"tr", "Mars", "Mars, Güneş Sisteminin dördüncü ve kızıl renkli gezegenidir.", "Güneş Sisteminin dördüncü ve kızıl renkli gezegenidir"},
		{"de", "Rhein", "Der Rhein – ein mächtiger Strom zwischen hohen Bergen.", "ein mächtiger Strom zwischen hohen Bergen"},
	} {
		r := made(t, Options{Styles: []Style{Lead}, Language: c.language}, Document{ID: "d", Title: c.title, Text: c.text, Syntax: markdown.Plain})
		if asked, dropped := texts(r); !slices.Equal(asked, []string{"lead-d: " + c.want}) {
			t.Errorf("%s: %q, dropped %q", c.language, asked, dropped)
		}
	}
}

func TestQuestions_reasons(t *testing.T) {
	t.Parallel()
	plain := func(id, title, text string) Document {
		return Document{ID: id, Title: title, Text: text, Syntax: markdown.Plain}
	}
	long := strings.Repeat("many different words stand here ", 5)
	r := made(
		t, Options{Styles: []Style{Lead, Section}},
		plain("none", "Alpha", "Alpha flows to the sea."),
		plain("short", "Beta", "Beta is big blue river."),
		plain("long", "Gamma", "Gamma is "+long),
		plain("content", "Delta", "Delta is not what it was before the river."),
		plain("leak", "Rivers of Wonderful Places", "Nothing is about rivers wonderful places blue."),
		plain("first", "Eta", "Eta is a quick brown fox jumping."),
		plain("second", "Theta", "Theta is the jumping quick brown fox."),
		Document{ID: "sections", Title: "Iota", Text: "## See also\n\nx\n\n## Lore\n\ny", Syntax: markdown.Markdown},
		Document{ID: "untitled", Text: "## Lore\n\ny", Syntax: markdown.Markdown},
	)
	expect(t, r, []string{
		"lead-first: a quick brown fox jumping", "section-sections: Iota Lore",
	}, []string{
		"lead-none no_definition: Alpha flows to the sea.",
		"lead-short too_short: big blue river",
		"lead-long too_long: " + strings.TrimSpace(long),
		"lead-content few_content_words: not what it was before the river",
		"lead-leak too_short: about blue",
		"lead-second duplicate: the jumping quick brown fox",
		"lead-sections no_definition: y.",
		"section-sections about_article: Iota See also",
		"lead-untitled no_definition: y.",
		"section-untitled no_title: Lore",
	})
}

// The words of a title are taken out of a sentence; what is left may still lean
// on it by a form that is not seen as one, so that the rule has a test of its own.
func TestCurate_leak(t *testing.T) {
	t.Parallel()
	g := &generator{Tools: Tools{Words: words}, language: languageOf("uk"), documents: 10, held: map[string]int{}}
	for _, c := range []struct {
		title, question string
		want            bool
	}{
		{"Тарас Шевченко", "поет якого звали Шевченко художник кріпак", true},
		{"Битва під Полтавою", "переможець битви мазепа карл", true},
		{"Історія міста Київ давнього", "давня легенда засновник човен", false},
		{"Меркурій (планета)", "планета найближча сонця орбіта", false},
		{"Київ", "містом столиця дніпро пагорби", false},
		{"", "містом столиця дніпро пагорби", false},
	} {
		cand := &candidate{style: Lead}
		g.finish(cand, c.question)
		g.curate(cand, c.title)
		if got := cand.reason == LeaksTitle; got != c.want {
			t.Errorf("%q in %q: %s", c.title, c.question, cand.reason)
		}
	}
}

func TestQuestions_termsThatAFifthOfTheCorpusHolds(t *testing.T) {
	t.Parallel()
	docs := func(n int) []Document {
		var out []Document
		for i := range n {
			out = append(out, Document{ID: fmt.Sprint(i), Title: "Thing", Text: "Thing is one common green apple.", Syntax: markdown.Plain})
		}
		return out
	}
	// Of 12 documents 2 hold the words, fewer than a fifth; of 15, 3 are one.
	if r := made(t, Options{Styles: []Style{Lead}}, docs(2)...); len(r.Set.Questions) != 1 {
		t.Errorf("%+v", r.Dropped)
	}
	r := made(t, Options{Styles: []Style{Lead}}, append(docs(3), filler(2)...)...)
	if len(r.Set.Questions) != 0 || r.Dropped[0].Reason != NoRareTerm {
		t.Errorf("%+v", r.Dropped)
	}
}

func TestQuestions_noDictionary(t *testing.T) {
	t.Parallel()
	without := tools
	without.Lemmas, without.NoLemmas = nil, "there is none"
	r, err := Questions(t.Context(), filler(1), without, Options{})
	if err != nil || r.Skipped[Lemma] != "there is none" {
		t.Errorf("%v, %v", r.Skipped, err)
	}
	if _, err := Questions(t.Context(), filler(1), without, Options{Styles: []Style{Lemma}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestQuestions_nestedBracketsTakeNoTime(t *testing.T) {
	t.Parallel()
	const n = 100_000
	text := "Nest is " + strings.Repeat("(", n) + strings.Repeat(")", n) + " one two three four five"
	r := made(t, Options{}, Document{ID: "d", Title: "Nest", Text: text, Syntax: markdown.Plain})
	if r.Documents != 11 {
		t.Errorf("%d documents", r.Documents)
	}
}

func TestSyntaxOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]markdown.Syntax{
		"a\n\n== B ==\nc\n": markdown.MediaWiki, "# A\n\nb": markdown.Markdown, "a = b == c": markdown.Plain, "": markdown.Plain,
	} {
		if got := SyntaxOf(text, false); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := SyntaxOf("plain", true); got != markdown.Markdown {
		t.Errorf("%s", got)
	}
}

// drawCorpus draws documents of few words, so that every rule comes up.
func drawCorpus(t *rapid.T) []Document {
	word := rapid.SampledFrom(strings.Fields("is the river long old 1999 of town Kyiv Dnipro rivers hills boats fox . . , — ( ) # == ’s ї"))
	var docs []Document
	for i := range rapid.IntRange(1, 8).Draw(t, "documents") {
		text := ""
		for range rapid.IntRange(0, 6).Draw(t, "paragraphs") {
			text += strings.Join(rapid.SliceOfN(word, 1, 20).Draw(t, "words"), " ") + rapid.SampledFrom([]string{"\n\n", "\n\n## Old town\n\n", "\n== Hills ==\n"}).Draw(t, "break")
		}
		docs = append(docs, Document{
			ID: fmt.Sprintf("d%d", i), Title: strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "title"), " "), Text: text,
			Syntax: rapid.SampledFrom([]markdown.Syntax{markdown.Markdown, markdown.MediaWiki, markdown.Plain}).Draw(t, "syntax"),
		})
	}
	return docs
}

func TestQuestions_properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := append(drawCorpus(t), filler(8)...)
		o := Options{Count: rapid.IntRange(0, 3).Draw(t, "count"), Seed: rapid.Uint64().Draw(t, "seed"), Language: "en", Split: golden.Split{By: "hash", Dev: 0.5}}
		one, err := Questions(t.Context(), docs, tools, o)
		if err != nil {
			t.Fatal(err)
		}
		two, err := Questions(t.Context(), docs, tools, o)
		if err != nil || !reflect.DeepEqual(one, two) {
			t.Fatalf("the same corpus and seed gave\n%+v\nand\n%+v", one, two)
		}
		articles, contents, styles := map[string]bool{}, map[string]bool{}, map[string]int{}
		g := &generator{language: languageOf("en"), Tools: tools}
		for _, q := range one.Set.Questions {
			style, doc, _ := strings.Cut(q.ID, "-")
			terms := g.terms(q.Text)
			content := g.contentOf(terms)
			key := strings.Join(slices.Sorted(slices.Values(content)), " ")
			styles[style]++
			least, leastContent := 4, 3
			if style == "section" {
				least, leastContent = 2, 1
			}
			switch {
			case articles[doc]:
				t.Fatalf("two questions of %s", doc)
			case contents[key]:
				t.Fatalf("%q twice", key)
			case len(terms) < least || len(terms) > 24 || len(content) < leastContent:
				t.Fatalf("%q", q.Text)
			case style == "factoid" && strings.ContainsAny(q.Text, "0123456789"):
				t.Fatalf("%q", q.Text)
			case o.Count > 0 && styles[style] > o.Count:
				t.Fatalf("%d of %s", styles[style], style)
			}
			articles[doc], contents[key] = true, true
		}
		for _, d := range one.Dropped {
			if !slices.Contains(Reasons(), d.Reason) {
				t.Fatalf("%+v", d)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("Dnipro", dnipro)
	f.Add("", "== a ==\n== b ==\n\xff (1) [[x|y]] ''z''")
	f.Fuzz(func(t *testing.T, title, text string) {
		for _, syntax := range []markdown.Syntax{markdown.Markdown, markdown.MediaWiki, markdown.Plain} {
			r, err := Questions(t.Context(), append([]Document{{ID: "d", Title: title, Text: text, Syntax: syntax}}, filler(6)...), tools, Options{Language: "uk"})
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range r.Set.Questions {
				if strings.ContainsAny(q.Text, "\n\r") || strings.TrimSpace(q.Text) != q.Text {
					t.Errorf("%q", q.Text)
				}
			}
		}
	})
}
