package chunkertest

import (
	"strings"

	"pgregory.net/rapid"

	"raglab/axes"
)

// Documents are texts in which much can go wrong, in several languages.
func Documents() []axes.Document {
	prose := strings.Repeat("Дніпро тече з півночі на південь. Його довжина — 2201 км, з них 981 км у межах України! ", 12)
	return []axes.Document{
		{ID: "empty"},
		{ID: "title", Title: "Лише назва"},
		{ID: "plain", Title: "Дніпро", Text: prose + "\n\n" + prose},
		{ID: "crlf", Title: "Річка", Text: strings.ReplaceAll("# Річка\n\nПерший абзац.\n\nДругий абзац.\n\n## Притоки\n\n- Прип'ять\n- Десна\n", "\n", "\r\n"), Format: "markdown"},
		{ID: "turkish", Title: "Kahve", Format: "markdown", Text: "# Kahve\n\nKahve 16. yüzyılda İstanbul'a geldi. Prof. Dr. Ayşe Işık'a göre vb. içecekler yaygındı.\n\n" +
			"## Hazırlanışı\n\n1. Su kaynatılır.\n2. Kahve eklenir.\n\n### Cezve\n\n| Boy | Fincan |\n|---|---|\n| Küçük | 2 |\n| Büyük | 6 |\n\n" +
			"```\n# kod\n\ncezve --boy küçük\n```\n\n## Boş\n"},
		{ID: "wiki", Title: "Pizza", Text: "La pizza nacque a Napoli nel sec. XVIII.\n\n\n== Storia ==\nLa storia è lunga. Il sig. Esposito la raccontò.\n\n\n=== Nome ===\n\"Pizza\" è una parola antica (cfr. p. 5).\n\n\n== Vuota ==\n"},
		{ID: "setext", Title: "Інша назва", Format: "markdown", Text: "Вступ перед заголовком.\n\nПерший\n======\n\nТекст.\n\nДругий\n---\nБез порожнього рядка.\n\n***\n\n# \n\nКінець"},
		{ID: "headings", Title: "", Format: "markdown", Text: "# А\n## Б\n### В\n# Г"},
		{ID: "unbroken", Text: strings.Repeat("довжелезнеслово", 80)},
		{ID: "combining", Text: strings.Repeat("e\u0301\u0323", 400)},
		{ID: "emoji", Text: strings.Repeat("👩\u200d💻🏽 ", 150)},
		{ID: "chinese", Text: strings.Repeat("一個句子沒有空格。", 60)},
		{ID: "lines", Text: "\n\n  \n" + strings.Repeat("рядок без крапки\n", 300)},
	}
}

// Document generates documents of Markdown, MediaWiki's text and anything else.
func Document() *rapid.Generator[axes.Document] {
	line := rapid.SampledFrom([]string{
		"", "", "", " ", "\t", "# Один", "## Два ##", "### Three", "###### ", "#not", "    # code", "Title", "=====", "---", "***", "```", "~~~ go", "``` x ` y",
		"- item", "  - nested item", "1. перший", "2) second", "* ", "| a | b |", "|---|---|", "a | b", "--- | ---", "> quote", "<!-- # x", "-->", "<!-- y -->",
		"== Вікі ==", "=== h ===", "== ==", "Просте речення. Ще одне! І третє?", "Т. Г. Шевченко, 1814 р. у селі", "Dr. Smith said no.", "19. yüzyıl",
		"без крапки", "слово\u00a0слово", "e\u0301\u0301e", "👩\u200d💻", "a\tb   c", "дуже-довге-слово-" + strings.Repeat("слово", 9), "…", "「一。二。」", "\ufeff", "\u2028", "x\x00y", "\\# e",
	})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\n\n", "\r", " ", ""})
	return rapid.Custom(func(t *rapid.T) axes.Document {
		var text strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			text.WriteString(line.Draw(t, "line"))
			text.WriteString(end.Draw(t, "end"))
		}
		if rapid.IntRange(0, 9).Draw(t, "wild") == 0 {
			text.WriteString(rapid.String().Draw(t, "anything"))
		}
		return axes.Document{
			ID:     "d",
			Title:  rapid.SampledFrom([]string{"", "", "Один", "Title", "Назва з кількох слів. Навіть двох речень", "a\nb", " "}).Draw(t, "title"),
			Text:   text.String(),
			Format: rapid.SampledFrom([]string{"", "text", "markdown", "html"}).Draw(t, "format"),
		}
	})
}
