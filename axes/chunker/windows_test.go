package chunker_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/chunker"
)

// Plain definitions of windows and of greedy packing, as published for Turkish
// question answering over Wikipedia, to compare the kinds with.

var (
	wikiHeading = regexp.MustCompile(`(?m)^(={2,6})[ ]*([^=\n]+?)[ ]*={2,6}$`)
	anySpace    = regexp.MustCompile(`\s+`)
	blanks      = regexp.MustCompile(`[ \t]+`)
	sentenceEnd = regexp.MustCompile(`[.!?]\s+`)
)

func plainWindows(text string, size, step, longerThan int) []string {
	text = strings.TrimSpace(anySpace.ReplaceAllString(wikiHeading.ReplaceAllString(text, " "), " "))
	runes := []rune(text)
	var out []string
	for at := 0; at < len(runes); at += step {
		body := strings.TrimSpace(string(runes[at:min(at+size, len(runes))]))
		if utf8.RuneCountInString(body) > longerThan {
			out = append(out, body)
		}
	}
	return out
}

func plainSentences(text string, abbreviations []string) []string {
	var out []string
	for text != "" {
		end := len(text)
		if m := sentenceEnd.FindStringIndex(text); m != nil {
			end = m[1]
		}
		part := strings.TrimSpace(text[:end])
		text = text[end:]
		if part == "" {
			continue
		}
		if len(out) > 0 {
			fields := strings.Fields(out[len(out)-1])
			last := strings.ToLower(strings.TrimRight(fields[len(fields)-1], "."))
			if slices.Contains(abbreviations, last) || last != "" && strings.Trim(last, "0123456789") == "" {
				out[len(out)-1] += " " + part
				continue
			}
		}
		out = append(out, part)
	}
	return out
}

func plainPacks(text string, size, longerThan int, abbreviations []string) []string {
	text = blanks.ReplaceAllString(wikiHeading.ReplaceAllString(text, " "), " ")
	var out []string
	pack := ""
	for _, s := range plainSentences(text, abbreviations) {
		if pack != "" && utf8.RuneCountInString(pack)+utf8.RuneCountInString(s)+1 > size {
			out = append(out, pack)
			pack = ""
		}
		pack = strings.TrimSpace(pack + " " + s)
	}
	if utf8.RuneCountInString(pack) > longerThan {
		out = append(out, pack)
	}
	return out
}

// wikiText generates texts like MediaWiki's extracts.
func wikiText() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"İlk cümle burada.", "İkinci cümle mi?", "Evet!", "Prof. Dr. Işık geldi.", "Elma, armut vb. meyveler.", "Yıl 1923.", "noktasız", "çok  boşluk\t var.",
		"\n\n\n== Tarihçe ==\n", "\n=== Alt başlık ===\n", "\n\n", "\n", "Uzun bir cümle, hiç bitmeyecekmiş gibi sürüp gider ve sonunda durur.", "a=b == c", "3.5 kat.",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), " ")
	})
}

func words(texts []string) [][]string {
	out := make([][]string, len(texts))
	for i, text := range texts {
		out[i] = strings.Fields(text)
	}
	return out
}

func texts(t *rapid.T, c chunker.Chunker, doc axes.Document) []string {
	chunks, err := c.Chunk(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, chunk := range chunks {
		if chunk.Heading != doc.Title {
			t.Fatalf("chunk %+v is not headed by the title", chunk)
		}
		out = append(out, chunk.Text)
	}
	return out
}

func TestFixed_isThePlainDefinition(t *testing.T) {
	t.Parallel()
	c := newChunker(t, chunker.Fixed(), axes.Env{}, func(p *chunker.FixedParams) {
		p.Unit, p.Size, p.Overlap, p.MinSize, p.Tail = "characters", 70, 10, 6, "keep"
		p.Collapse, p.Title, p.Headings, p.Syntax = "all", "heading", "drop", "mediawiki"
	})
	rapid.Check(t, func(t *rapid.T) {
		text := "Başlangıç. " + wikiText().Draw(t, "text")
		got := texts(t, c, axes.Document{ID: "d", Title: "Başlık", Text: text})
		if want := plainWindows(text, 70, 60, 5); !slices.Equal(got, want) {
			t.Fatalf("text %q\n got %q\nwant %q", text, got, want)
		}
	})
}

func TestSentence_isThePlainDefinition(t *testing.T) {
	t.Parallel()
	abbreviations := []string{"prof", "dr", "vb"}
	c := newChunker(t, chunker.Sentence(), axes.Env{Language: "tr"}, func(p *chunker.SentenceParams) {
		p.Unit, p.MaxTokens, p.MinLast, p.Long = "characters", 60, 6, "keep"
		p.Rules, p.Abbreviations = "punctuation", abbreviations
		p.Collapse, p.Title, p.Headings, p.Syntax = "blanks", "heading", "drop", "mediawiki"
	})
	rapid.Check(t, func(t *rapid.T) {
		text := "Başlangıç. " + wikiText().Draw(t, "text")
		got := texts(t, c, axes.Document{ID: "d", Title: "Başlık", Text: text})
		want := plainPacks(text, 60, 5, abbreviations)
		if !slices.EqualFunc(words(got), words(want), slices.Equal) {
			t.Fatalf("text %q\n got %q\nwant %q", text, got, want)
		}
	})
}

func TestSentence_isThePlainDefinitionToTheBlank(t *testing.T) {
	t.Parallel()
	abbreviations := []string{"prof", "dr", "vb"}
	c := newChunker(t, chunker.Sentence(), axes.Env{Language: "tr"}, func(p *chunker.SentenceParams) {
		p.Unit, p.MaxTokens, p.MinLast, p.Long = "characters", 60, 6, "keep"
		p.Rules, p.Abbreviations = "punctuation", abbreviations
		p.Collapse, p.Title, p.Headings, p.Syntax = "stops", "heading", "drop", "mediawiki"
	})
	rapid.Check(t, func(t *rapid.T) {
		text := "Başlangıç. " + wikiText().Draw(t, "text")
		got := texts(t, c, axes.Document{ID: "d", Title: "Başlık", Text: text})
		if want := plainPacks(text, 60, 5, abbreviations); !slices.Equal(got, want) {
			t.Fatalf("text %q\n got %q\nwant %q", text, got, want)
		}
	})
}
