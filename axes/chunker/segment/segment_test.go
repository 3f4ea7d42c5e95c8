package segment_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"raglab/axes/chunker/segment"
)

func split(language, text string) []string {
	var out []string
	for _, s := range segment.For(language).Sentences(text) {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestSentences(t *testing.T) {
	t.Parallel()
	// A bar stands where a sentence ends.
	for language, texts := range map[string][]string{
		"": {
			"One.| Two!| Three?| Four", "", "  \n ", "No stop", "Wait... what?| Yes.", "He left…| Then he came back.",
			"Pi is 3.14 and e is 2.71.| See example.com for more.", "Really?!| Yes.", "(One.)| Two.", "“One.”| Two.",
			"The end.[12]| Next one.", "First paragraph\n\n|second paragraph", "Items:\n|- one\n|- two", "A. B. Author wrote it.",
			"see e.g. the table", "all lower case.| no capitals here.| none", "一。|二！|三", "Один абзац.\r\n\r\n|Другий",
			"1. First\n2. Second", "cost 5.| Then", "Ends with abbreviation etc.| New one.", "*Bold.*| Next.",
		},
		"uk": {
			"Київ — столиця.| Львів — ні.", "Народився у м. Києві на вул. Садовій.| Жив там.", "Т. Г. Шевченко народився 1814 р. у Моринцях.| Він поет.",
			"У 1991 р. відбувся референдум.|", "Це було в 1991 р.| Україна стала незалежною.", "Сталося це в XIX ст. на Поділлі.| Потім усе змінилося.", "Яблука, груші і т. д. ростуть тут.",
			"Яблука, груші і т. д.| Далі йшли сливи.", "Це було 300 р. до н. е.| Потім прийшли римляни.", "«Хто там?» — спитав він.| «Я», — відповіла вона.",
			"Див. рис. 5 на с. 10.| Там усе є.", "Площа 12 тис. км² і 3 млн. людей.", "24. 8. 1991 проголошено незалежність.", "Дата 24.08.1991.| Свято.",
			"А.С. Макаренко писав.| Добре.", "Він спитав: «Чому?»| Ніхто не знав.", "Так…| Ні.", "Проф. І. Пулюй та акад. Вернадський.", "Книги, зошити та ін. речі.",
			"Розчин 5 мг. на добу.", "Розчин 5 мг.| Лікар сказав.", "Діалог.\n|– Так.\n|– Ні.",
		},
		"tr": {
			"Prof. Dr. Ahmet geldi.| Sonra gitti.", "19. yüzyılda oldu.| Bitti.", "III. Selim tahta çıktı.| Sonra öldü.", "3. Murad öldü.| Yerine oğlu geçti.",
			"Elma, armut vb. meyveler.| Hepsi var.", "Elma, armut vb.| Hepsi var.", "M.Ö. 500 yılında kuruldu.", "Bkz. sayfa 5. Orada yazıyor.",
			"Değer 3,5 ve 2.5 idi.| Tamam.", "Hz. Muhammed doğdu.", "İyi misin?| İyiyim!", "Yıl 1938.| Atatürk öldü.",
		},
		"it": {
			"Il sig. Rossi abita in p.za Garibaldi.| È vero.", "Nacque nel 63 a.C. a Roma.| Morì dopo.", "Nacque nel 63 a.C.| Morì dopo.",
			"Pane, vino ecc. erano finiti.", "Vedi art. 5 e pag. 10.| Basta.", "Il dott. Bianchi è qui.| Anche l'avv. Verdi.", "Costa 3.50 euro.| Poco.", "«Chi è?» chiese.| «Io.»",
		},
		"en": {
			"Dr. Smith met Mr. Jones at 5 p.m. on Monday.| They talked.", "The U.S. economy grew.| It did.", "See Fig. 3 and p. 12.| Done.", "I said no. 5 is mine.",
			"I said no.| He left.", "Inc. and Ltd. are words.", "Born in 1991.| Died later.", "\"Go.\"| Then he left.", "\"Go!\" he said.| She went.", "Mix e.g. water, i.e. H2O.",
			"J. R. R. Tolkien wrote.| Indeed.",
		},
	} {
		for _, marked := range texts {
			var want []string
			for part := range strings.SplitSeq(marked, "|") {
				if part = strings.TrimSpace(part); part != "" {
					want = append(want, part)
				}
			}
			if got := split(language, strings.ReplaceAll(marked, "|", "")); !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n got %q\nwant %q", language, got, want)
			}
		}
	}
}

func checkSpans(t interface{ Fatalf(string, ...any) }, text string, spans []segment.Span) {
	at := 0
	for _, s := range spans {
		if s.Start < at || s.End <= s.Start || s.End > len(text) {
			t.Fatalf("%q: span %v after %d", text, s, at)
		}
		if strings.TrimFunc(text[at:s.Start], unicode.IsSpace) != "" {
			t.Fatalf("%q: %q is in no sentence", text, text[at:s.Start])
		}
		part := text[s.Start:s.End]
		if !utf8.ValidString(part) || strings.TrimFunc(part, unicode.IsSpace) != part {
			t.Fatalf("%q: sentence %q is cut in a character or not trimmed", text, part)
		}
		at = s.End
	}
	if strings.TrimFunc(text[at:], unicode.IsSpace) != "" {
		t.Fatalf("%q: the rest %q is in no sentence", text, text[at:])
	}
}

func TestSentences_holdAllText(t *testing.T) {
	t.Parallel()
	languages := []string{"", "uk", "tr", "it", "en", "ja"}
	rules := make([]*segment.Rules, len(languages))
	for i, language := range languages {
		rules[i] = segment.For(language)
	}
	pieces := rapid.SampledFrom([]string{
		" ", "\n", "\r\n", "\n\n", ".", "!", "?", "…", "»", "«", "\"", "[1]", "(", ")", "А", "б", "т", "д", "12", "XIX", "Слово", "word", "- ", "。", "é", "e\u0301", "\u00a0", "😀", "м", "р", "İ", "ı",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "")
		checkSpans(t, text, rapid.SampledFrom(rules).Draw(t, "rules").Sentences(text))
	})
}

func FuzzSentences(f *testing.F) {
	f.Add("Т. Г. Шевченко народився 1814 р. у Моринцях. Він поет!", "uk")
	f.Add("a.\n\nb [1]. «c» … 。", "")
	f.Fuzz(func(t *testing.T, text, language string) {
		if utf8.ValidString(text) {
			checkSpans(t, text, segment.For(language).Sentences(text))
		}
	})
}

func BenchmarkSentences(b *testing.B) {
	text := strings.Repeat("Т. Г. Шевченко народився 1814 р. у Моринцях. Він поет, художник і т. д. Хто не знає його віршів? Усі знають!\n\n", 1000)
	rules := segment.For("uk")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		rules.Sentences(text)
	}
}
