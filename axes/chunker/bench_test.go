package chunker_test

import (
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
)

// benchDocument is an article of some 60 kB.
func benchDocument() axes.Document {
	section := "## Притоки\n\nДніпро тече з півночі на південь. Його довжина — 2201 км, з них 981 км у межах України! Т. Г. Шевченко писав про нього в 1845 р. у поемі.\n\n" +
		"Ліві притоки: Десна, Сула, Псел, Ворскла, Самара. Праві: Прип'ять, Тетерів, Рось, Інгулець. Усі вони живлять головну ріку, і без них вона була б мілка.\n\n" +
		"- Десна\n- Сула\n\n| Річка | Довжина |\n|---|---|\n| Десна | 1130 км |\n\n"
	return axes.Document{ID: "d", Title: "Дніпро", Format: "markdown", Text: "# Дніпро\n\n" + strings.Repeat(section, 70)}
}

func BenchmarkChunkers(b *testing.B) {
	uk := axes.Env{Language: "uk"}
	doc := benchDocument()
	for _, bench := range []struct {
		name string
		c    chunker.Chunker
	}{
		{"fixed", newChunker(b, chunker.Fixed(), uk, func(*chunker.FixedParams) {})},
		{"fixed_characters", newChunker(b, chunker.Fixed(), uk, func(p *chunker.FixedParams) { p.Unit, p.Size, p.Overlap, p.Collapse = "characters", 700, 100, "all" })},
		{"sentence", newChunker(b, chunker.Sentence(), uk, func(*chunker.SentenceParams) {})},
		{"sentence_punctuation", newChunker(b, chunker.Sentence(), uk, func(p *chunker.SentenceParams) { p.Rules = "punctuation" })},
		{"paragraph", newChunker(b, chunker.Paragraph(), uk, func(*chunker.ParagraphParams) {})},
		{"markdown_header", newChunker(b, chunker.MarkdownHeader(), uk, func(*chunker.MarkdownHeaderParams) {})},
		{"markdown_header_short", newChunker(b, chunker.MarkdownHeader(), uk, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens = 40 })},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc.Text)))
			for b.Loop() {
				if _, err := bench.c.Chunk(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
