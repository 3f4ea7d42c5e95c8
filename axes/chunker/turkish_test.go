package chunker_test

import (
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
)

// The three chunkers of turkish-rag-eval in small: lengths of 70, and pieces of five
// characters and less dropped, where that has 700 and fifty.

func turkishAbbreviations() []string { return []string{"dr", "prof", "vb", "yy", "no", "bkz"} }

func turkishFixed(t testing.TB) chunker.Chunker {
	return newChunker(t, chunker.Fixed(), axes.Env{Language: "tr"}, func(p *chunker.FixedParams) {
		p.Unit, p.Size, p.Overlap, p.MinSize, p.Tail = "characters", 70, 10, 6, "keep"
		p.Collapse, p.Title, p.Headings, p.Syntax = "all", "heading", "drop", "mediawiki"
	})
}

func turkishSentence(t testing.TB) chunker.Chunker {
	return newChunker(t, chunker.Sentence(), axes.Env{Language: "tr"}, func(p *chunker.SentenceParams) {
		p.Unit, p.MaxTokens, p.MinLast, p.Long = "characters", 70, 6, "keep"
		p.Rules, p.Abbreviations, p.Collapse = "punctuation", turkishAbbreviations(), "stops"
		p.Title, p.Headings, p.Syntax = "heading", "drop", "mediawiki"
	})
}

func turkishHierarchical(t testing.TB) chunker.Chunker {
	return newChunker(t, chunker.MarkdownHeader(), axes.Env{Language: "tr"}, func(p *chunker.MarkdownHeaderParams) {
		p.Unit, p.MaxTokens, p.MinLast, p.Long = "characters", 70, 6, "keep"
		p.Rules, p.Abbreviations, p.Collapse, p.Split = "punctuation", turkishAbbreviations(), "stops", "sentence"
		p.Heading, p.Syntax = "path", "mediawiki"
	})
}

func TestTurkish_fixed(t *testing.T) {
	t.Parallel()
	c := turkishFixed(t)
	wiki := func(text string) axes.Document { return axes.Document{Title: "Madde", Text: text} }
	checkCut(t, c, wiki("Bir  iki\n\n== Başlık ==\nüç."), "Madde|Bir iki üç.")
	ten := "abcdefghi "
	checkCut(t, c, wiki(strings.Repeat(ten, 13)), // 129 characters: windows from 0, 60 and 120
		"Madde|"+strings.TrimSpace(strings.Repeat(ten, 7)), "Madde|"+strings.TrimSpace(strings.Repeat(ten, 7)), "Madde|abcdefghi")
	checkCut(t, c, wiki(strings.Repeat(ten, 12)+"abcde"), // the last window has five characters
		"Madde|"+strings.TrimSpace(strings.Repeat(ten, 7)), "Madde|"+strings.TrimSpace(strings.Repeat(ten, 6))+" abcde")
	if got := cut(t, c, wiki("kısa.")); len(got) > 0 {
		t.Errorf("five characters are kept: %q", got)
	}
	checkCut(t, c, wiki("uzunca"), "Madde|uzunca")
}

func TestTurkish_sentence(t *testing.T) {
	t.Parallel()
	c := turkishSentence(t)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"abbreviations and ordinals go on": {
			"Prof. Dr. Ali Bey 3. yüzyılda elma, armut vb. yiyecekleri anlattı. Sonra başka bir konuya geçti.",
			[]string{"Prof. Dr. Ali Bey 3. yüzyılda elma, armut vb. yiyecekleri anlattı.", "Sonra başka bir konuya geçti."},
		},
		"capitals are abbreviations too": {
			"PROF. Ali. Bkz. sayfa No. 5. bölüm burada. Yıl 1923. Cumhuriyet, çok uzun bir cümle.",
			[]string{"PROF. Ali. Bkz. sayfa No. 5. bölüm burada.", "Yıl 1923. Cumhuriyet, çok uzun bir cümle."},
		},
		"white space behind a stop is one blank": {"Bir cümle.\n\nİki  cümle!\t \nÜç\ncümle?", []string{"Bir cümle. İki cümle! Üç\ncümle?"}},
		"a heading becomes one blank":            {"Bir cümle.\n\n\n== Başlık ==\nİki cümle\n== Başlık ==\n=== Alt ===\nüç cümle.", []string{"Bir cümle. İki cümle\n \n \nüç cümle."}},
		"a sentence that is too long stays whole": {
			strings.Repeat("uzun ", 20) + "cümle. Kısa cümle.",
			[]string{strings.Repeat("uzun ", 20) + "cümle.", "Kısa cümle."},
		},
		"only the last piece may be too short": {"Kısa. " + strings.Repeat("a", 70) + ". Son.", []string{"Kısa.", strings.Repeat("a", 70) + "."}},
		"of six characters it is kept":         {strings.Repeat("a", 70) + ". Sonra.", []string{strings.Repeat("a", 70) + ".", "Sonra."}},
		"the blank between counts":             {strings.Repeat("a", 34) + ". " + strings.Repeat("b", 34) + ".", []string{strings.Repeat("a", 34) + ".", strings.Repeat("b", 34) + "."}},
		"up to the length they are packed":     {strings.Repeat("a", 34) + ". " + strings.Repeat("b", 33) + ".", []string{strings.Repeat("a", 34) + ". " + strings.Repeat("b", 33) + "."}},
		"stops within words end nothing":       {"Oran 3.5 kat. Bak a.b.c ve... Sonra?! Evet.", []string{"Oran 3.5 kat. Bak a.b.c ve... Sonra?! Evet."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := make([]string, len(test.want))
			for i, text := range test.want {
				want[i] = "Madde|" + text
			}
			checkCut(t, c, axes.Document{Title: "Madde", Text: test.text}, want...)
		})
	}
}

func TestTurkish_hierarchical(t *testing.T) {
	t.Parallel()
	c := turkishHierarchical(t)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"the path":               {"Giriş metni.\n\n\n== Bir ==\nMetin bir.\n\n=== İki ===\nMetin iki.\n== Üç ==\nMetin üç.", []string{"M|Giriş metni.", "M > Bir|Metin bir.", "M > Bir > İki|Metin iki.", "M > Üç|Metin üç."}},
		"no introduction":        {"== Bir ==\nMetin bir.", []string{"M > Bir|Metin bir."}},
		"a heading over nothing": {"== Bir ==\n=== İki ===\nMetin iki.\n== Hiçbir şey yok ==\n== Son ==\n", []string{"M > Bir > İki|Metin iki."}},
		"a level left out":       {"== A ==\nMetin a.\n==== B ====\nMetin b.\n==== C ====\nMetin c.\n=== D ===\nMetin d.", []string{"M > A|Metin a.", "M > A > B|Metin b.", "M > A > B > C|Metin c.", "M > A > D|Metin d."}},
		"the title again":        {"== M ==\nMetin m.", []string{"M > M|Metin m."}},
		"short ends, by section": {"== A ==\nKısa.\n== B ==\nUzunca.", []string{"M > B|Uzunca."}},
		"white space":            {"== A ==\nBir  metin.\n\nİki\nmetin.", []string{"M > A|Bir metin. İki\nmetin."}},
		"nothing but a title":    {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cut(t, c, axes.Document{Title: "M", Text: test.text})
			if strings.Join(got, "\n--\n") != strings.Join(test.want, "\n--\n") {
				t.Errorf("%q:\n got %q\nwant %q", test.text, got, test.want)
			}
		})
	}
	chunks, err := c.Chunk(axes.Document{Title: "M", Text: "== A ==\nMetin."})
	if err != nil || len(chunks) != 1 || chunks[0].Indexed() != "M > A\nMetin." {
		t.Errorf("embedded is %+v, %v", chunks, err)
	}
}

func TestTurkish_stopsAreOfPunctuation(t *testing.T) {
	t.Parallel()
	checkRefused(t, chunker.Sentence(), "collapse", func(p *chunker.SentenceParams) { p.Collapse = "stops" })
	checkRefused(t, chunker.MarkdownHeader(), "collapse", func(p *chunker.MarkdownHeaderParams) { p.Collapse, p.Rules = "stops", "punctuation" })
	checkRefused(t, chunker.MarkdownHeader(), "collapse", func(p *chunker.MarkdownHeaderParams) { p.Collapse, p.Split = "stops", "sentence" })
}
