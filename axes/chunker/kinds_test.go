package chunker_test

import (
	"reflect"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
)

// cut returns the chunks of a document as "heading|text".
func cut(t *testing.T, c chunker.Chunker, doc axes.Document) []string {
	t.Helper()
	chunks, err := c.Chunk(doc)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(chunks))
	for i, chunk := range chunks {
		out[i] = chunk.Heading + "|" + chunk.Text
	}
	return out
}

func checkCut(t *testing.T, c chunker.Chunker, doc axes.Document, want ...string) {
	t.Helper()
	if got := cut(t, c, doc); !reflect.DeepEqual(got, want) {
		t.Errorf("document %+v:\n got %q\nwant %q", doc, got, want)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.Whole(), axes.Env{}, func(*chunker.WholeParams) {})
	checkCut(t, c, axes.Document{Title: "Назва", Text: "текст \r\n"}, "|Назва\nтекст")
	checkCut(t, c, axes.Document{Title: "Назва"}, "|Назва")
	keep := newChunker(t, chunker.Whole(), axes.Env{}, func(p *chunker.WholeParams) { p.Empty = "keep" })
	checkCut(t, keep, axes.Document{Text: " "}, "|")
}

func TestFixed(t *testing.T) {
	t.Parallel()
	doc := axes.Document{Title: "T", Text: "a b, c d e"}
	fixed := func(set func(*chunker.FixedParams)) chunker.Chunker {
		return newChunker(t, chunker.Fixed(), axes.Env{}, func(p *chunker.FixedParams) { p.Size, p.Overlap = 3, 1; set(p) })
	}
	checkCut(t, fixed(func(*chunker.FixedParams) {}), doc, "|T\na b", "|b, c", "|c d e")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Tail = "keep" }), doc, "|T\na b", "|b, c", "|c d e", "|e")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Tail, p.MinSize = "keep", 2 }), doc, "|T\na b", "|b, c", "|c d e")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Title = "heading" }), doc, "T|a b,", "T|, c d", "T|d e")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Title = "drop" }), doc, "|a b,", "|, c d", "|d e")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Unit, p.Overlap = "characters", 0 }), axes.Document{Text: "їжак  ї"}, "|їжа", "|к", "|ї")
	opened := axes.Document{Title: "T", Text: "# T\n\na b\n## H\nc", Format: "markdown"}
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Title, p.Headings = "heading", "drop" }), opened, "T|a b\n \nc")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Title, p.Headings, p.Collapse = "heading", "drop", "all" }), opened, "T|a b c")
	checkCut(t, fixed(func(p *chunker.FixedParams) { p.Title = "heading" }), axes.Document{Title: "T"}, "|T")
}

func TestFixed_offsetsLeadBackToTheContent(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.Fixed(), axes.Env{}, func(p *chunker.FixedParams) {
		p.Unit, p.Size, p.Overlap, p.Collapse = "characters", 9, 0, "all"
	})
	doc := axes.Document{Text: "  один \t два\r\n\r\nтри   чотири"}
	content := doc.Content()
	chunks, err := c.Chunk(doc)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chunk := range chunks {
		got = append(got, content[chunk.Start:chunk.End])
	}
	want := []string{"один \t два", "три   чотир", "и"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("slices %q, want %q", got, want)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	doc := axes.Document{Title: "Назва", Text: "Раз два. Три! Чотири п'ять шість сім вісім? Дев'ять."}
	sentence := func(set func(*chunker.SentenceParams)) chunker.Chunker {
		return newChunker(t, chunker.Sentence(), axes.Env{Language: "uk"}, func(p *chunker.SentenceParams) { p.MaxTokens = 6; set(p) })
	}
	checkCut(t, sentence(func(*chunker.SentenceParams) {}), doc,
		"|Назва\nРаз два. Три!", "|Чотири п'ять шість сім", "|вісім? Дев'ять.")
	checkCut(t, sentence(func(p *chunker.SentenceParams) { p.Long, p.Title = "keep", "heading" }), doc,
		"Назва|Раз два. Три!", "Назва|Чотири п'ять шість сім вісім?", "Назва|Дев'ять.")
	checkCut(t, sentence(func(p *chunker.SentenceParams) { p.Window, p.Stride, p.MaxTokens, p.Title = 2, 1, 99, "drop" }), doc,
		"|Раз два. Три!", "|Три! Чотири п'ять шість сім вісім?", "|Чотири п'ять шість сім вісім? Дев'ять.")
	checkCut(t, sentence(func(p *chunker.SentenceParams) { p.Window, p.MaxTokens, p.Title = 2, 99, "drop" }), doc,
		"|Раз два. Три!", "|Чотири п'ять шість сім вісім? Дев'ять.")
	checkCut(t, sentence(func(p *chunker.SentenceParams) { p.MinLast, p.MaxTokens, p.Title = 9, 9, "drop" }), doc, "|Раз два. Три!", "|Чотири п'ять шість сім вісім?")
}

func TestSentence_endsAtRowsAndItems(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.Sentence(), axes.Env{}, func(p *chunker.SentenceParams) { p.MaxTokens = 10 })
	checkCut(t, c, axes.Document{Format: "markdown", Text: "| a. B | c |\n|---|---|\n| d. E | f |\n\n- one. Two\n- three\n"},
		"|| a. B | c |", "||---|---|", "|| d. E | f |\n\n- one.", "|Two\n- three")
}

func TestParagraph(t *testing.T) {
	t.Parallel()
	paragraph := func(most, least int) chunker.Chunker {
		return newChunker(t, chunker.Paragraph(), axes.Env{}, func(p *chunker.ParagraphParams) { p.MaxTokens, p.MinTokens = most, least })
	}
	doc := axes.Document{Title: "T", Text: "a b\r\n\r\nc d\n \ne f g\n\nh", Format: "text"}
	checkCut(t, paragraph(6, 0), doc, "|T\na b", "|c d", "|e f g", "|h")
	checkCut(t, paragraph(6, 4), doc, "|T\na b\r\n\r\nc d", "|e f g\n\nh")
	checkCut(t, paragraph(6, 6), doc, "|T\na b\r\n\r\nc d", "|e f g\n\nh")
	long := axes.Document{Format: "markdown", Text: "# H\n\nOne two. Three four. Five six.\n\n## I\n\n```\na\n\nb\n```\n\nz"}
	checkCut(t, paragraph(6, 0), long, "|# H\n\nOne two.", "|Three four. Five six.", "|## I\n\n```", "|a\n\nb\n```", "|z")
	checkCut(t, paragraph(11, 0), long, "|# H\n\nOne two. Three four. Five six.", "|## I\n\n```\na\n\nb\n```", "|z")
	checkCut(t, paragraph(12, 4), long, "|# H\n\nOne two. Three four. Five six.", "|## I\n\n```\na\n\nb\n```\n\nz")
}

const river = "Вступ.\n\n# Дніпро\n\nРічка.\n\n## Притоки\n\nДесна. Прип'ять.\n\n```\n# не заголовок\n```\n\n### Десна\n\nЛіва.\n\n## Міста\n\n# Інше\n\nКінець.\n"

func TestMarkdownHeader(t *testing.T) {
	t.Parallel()
	header := func(set func(*chunker.MarkdownHeaderParams)) chunker.Chunker {
		return newChunker(t, chunker.MarkdownHeader(), axes.Env{Language: "uk"}, set)
	}
	doc := axes.Document{Title: "Дніпро", Text: river, Format: "markdown"}
	checkCut(t, header(func(*chunker.MarkdownHeaderParams) {}), doc,
		"Дніпро|Вступ.", "Дніпро|Річка.", "Дніпро > Притоки|Десна. Прип'ять.\n\n```\n# не заголовок\n```", "Дніпро > Притоки > Десна|Ліва.",
		"Дніпро|## Міста", "Дніпро > Інше|Кінець.")
	checkCut(t, header(func(p *chunker.MarkdownHeaderParams) { p.Heading = "keep" }), doc,
		"|Дніпро\nВступ.", "|# Дніпро\n\nРічка.", "|## Притоки\n\nДесна. Прип'ять.\n\n```\n# не заголовок\n```", "|### Десна\n\nЛіва.", "|## Міста\n\n# Інше\n\nКінець.")
	checkCut(t, header(func(p *chunker.MarkdownHeaderParams) { p.Heading = "drop" }), doc,
		"|Вступ.", "|Річка.", "|Десна. Прип'ять.\n\n```\n# не заголовок\n```", "|Ліва.", "|Кінець.")
	checkCut(t, header(func(p *chunker.MarkdownHeaderParams) { p.MinTokens, p.MaxTokens = 9, 30 }), doc,
		"Дніпро|Вступ.\n\n# Дніпро\n\nРічка.\n\n## Притоки\n\nДесна. Прип'ять.\n\n```\n# не заголовок\n```\n\n### Десна\n\nЛіва.", "Дніпро|## Міста\n\n# Інше\n\nКінець.")
	checkCut(t, header(func(p *chunker.MarkdownHeaderParams) { p.MaxTokens = 8 }), doc,
		"Дніпро|Вступ.", "Дніпро|Річка.", "Дніпро > Притоки|Десна. Прип'ять.", "Дніпро > Притоки|```\n# не заголовок", "Дніпро > Притоки|```",
		"Дніпро > Притоки > Десна|Ліва.", "Дніпро|## Міста", "Дніпро > Інше|Кінець.")
}

func TestMarkdownHeader_paths(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(*chunker.MarkdownHeaderParams) {})
	for name, test := range map[string]struct {
		doc  axes.Document
		want []string
	}{
		"opens with its title": {axes.Document{Title: "T", Text: "# T\n\na\n## B\nb", Format: "markdown"}, []string{"T|a", "T > B|b"}},
		"title alone":          {axes.Document{Title: "T"}, []string{"|T"}},
		"heading alone":        {axes.Document{Title: "T", Text: "# T\n", Format: "markdown"}, []string{"|# T"}},
		"no title":             {axes.Document{Text: "a\n# B\nb\n### C\nc\n## D\nd"}, []string{"|a", "B|b", "B > C|c", "B > D|d"}},
		"setext":               {axes.Document{Text: "Один\n====\na\n\nДва\n---\r\nb"}, []string{"Один|a", "Один > Два|b"}},
		"marks":                {axes.Document{Text: "#  B ## \r\nb\r\n####### c\r\n#d"}, []string{"B|b\r\n####### c\r\n#d"}},
		"only headings":        {axes.Document{Title: "T", Text: "# A\n## B\n# C"}, []string{"T > A|## B", "T|# C"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCut(t, c, test.doc, test.want...)
		})
	}
}

func TestMarkdownHeader_mediaWiki(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) { p.Syntax = "mediawiki" })
	checkCut(t, c, axes.Document{Title: "T", Text: "a\nb\n\n\n== H ==\nc\n\n=== I ===\nd # e\n== J =="}, "T|a\nb", "T > H|c", "T > H > I|d # e", "T|== J ==")
}

func TestMarkdownHeader_splitsLongSections(t *testing.T) {
	t.Parallel()
	text := "# A\n\nFirst one. Second one.\n\nThird paragraph.\n\n- item one\n- item two\n- item three\n\n" + strings.Repeat("word ", 9)
	c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens = 7 })
	checkCut(t, c, axes.Document{Text: text}, "A|First one. Second one.", "A|Third paragraph.\n\n- item one", "A|- item two\n- item three",
		"A|word word word word word word word", "A|word word")
	sentences := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens, p.Split = 7, "sentence" })
	checkCut(t, sentences, axes.Document{Text: "# A\n\nFirst one. Second one.\n\nThird paragraph."}, "A|First one. Second one.", "A|Third paragraph.")
}

func TestSplitLong_doesNotTearCharacters(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.Sentence(), axes.Env{}, func(p *chunker.SentenceParams) { p.Unit, p.MaxTokens = "characters", 5 })
	checkCut(t, c, axes.Document{Text: "e\u0301e\u0301e\u0301e\u0301"}, "|e\u0301e\u0301", "|e\u0301e\u0301")
	checkCut(t, c, axes.Document{Text: "довжелезне слово"}, "|довже", "|лезне", "|слово")
}
