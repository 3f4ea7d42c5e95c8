package chunker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/chunker/chunkertest"
	"raglab/internal/param"
	"raglab/internal/testdata"
	"raglab/internal/tokenizer"
)

// envWith is one whose only asset, "tiny", lies in a folder.
func envWith(dir string) axes.Env {
	return axes.Env{Asset: func(_ context.Context, name string) (string, error) {
		if name != "tiny" {
			return "", fmt.Errorf("no asset %s", name)
		}
		return dir, nil
	}}
}

func TestWords_count(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, " \n\t": 0, "слово": 1, "Київ, 2024 р.": 5, "п'ять": 3, "snake_case x2": 2, "e\u0301te\u0301": 1, "a—b": 3, "½ x²": 2, "一二": 1, "👍👍": 2, "\u00a0x\u2028y": 2,
	} {
		if got := (chunker.Words{}).Count(text); got != want {
			t.Errorf("%q: %d words, want %d", text, got, want)
		}
	}
}

func TestCounters_agreeWithTheirOffsets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := chunkertest.Document().Draw(t, "document").Text
		for _, c := range []chunker.Counter{chunker.Words{}, chunker.Characters{}} {
			spans := c.Offsets(text)
			if len(spans) != c.Count(text) {
				t.Fatalf("%T of %q: count %d, offsets %v", c, text, c.Count(text), spans)
			}
			at := 0
			for _, s := range spans {
				if s.Start < at || s.End <= s.Start || strings.TrimSpace(text[at:s.Start]) != "" {
					t.Fatalf("%T of %q: span %v after %d", c, text, s, at)
				}
				at = s.End
			}
		}
	})
}

// modelCounter counts as a tokenizer does.
type modelCounter struct{ *tokenizer.Tokenizer }

func (m modelCounter) Offsets(text string) []chunker.Span {
	var spans []chunker.Span
	for _, s := range m.Tokenizer.Offsets(text) {
		spans = append(spans, chunker.Span{Start: s.Start, End: s.End})
	}
	return spans
}

func TestTokens_countAsTheModelDoes(t *testing.T) {
	t.Parallel()
	env := tinyTokenizer(t)
	c := newChunker(t, chunker.Sentence(), env, func(p *chunker.SentenceParams) { p.Unit, p.Tokenizer, p.MaxTokens = "tokens", "tiny", 6 })
	chunks, err := c.Chunk(axes.Document{ID: "d", Text: "слово рядок. слове без. " + strings.Repeat("слово ", 7)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chunk := range chunks {
		got = append(got, fmt.Sprint(chunk.Tokens, " ", chunk.Text))
	}
	want := []string{"6 слово рядок.", "3 слове без.", "6 слово слово слово", "6 слово слово слово", "2 слово"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTokens_realModels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"models/multilingual-e5-small/tokenizer.json.gz", "models/wordpiece/tokenizer.json.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(testdata.Shared(t, name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), raw, 0o644); err != nil {
				t.Fatal(err)
			}
			tok, err := tokenizer.Open(filepath.Join(dir, "tokenizer.json"))
			if err != nil {
				t.Fatal(err)
			}
			// Pieces of unbroken words may be cut otherwise by themselves, so the
			// bound is checked on texts with blanks.
			c := newChunker(t, chunker.MarkdownHeader(), envWith(dir), func(p *chunker.MarkdownHeaderParams) {
				p.Unit, p.Tokenizer, p.MaxTokens = "tokens", "tiny", 40
			})
			for _, doc := range chunkertest.Documents() {
				switch doc.ID {
				case "plain", "crlf", "turkish", "wiki", "setext", "lines":
					chunkertest.Check(t, c, chunkertest.Promise{Max: 40, Counter: modelCounter{tok}, Dropped: inHeading}, doc)
				default:
					chunkertest.Check(t, c, chunkertest.Promise{Dropped: inHeading}, doc)
				}
			}
		})
	}
}

func TestTokens_needTheAsset(t *testing.T) {
	t.Parallel()
	kind := chunker.Fixed()
	p := kind.Params().(*chunker.FixedParams)
	if needs := kind.Needs(p); len(needs.Assets) != 0 {
		t.Errorf("words need %v", needs)
	}
	p.Unit, p.Tokenizer = "tokens", "tiny"
	if needs := kind.Needs(p); len(needs.Assets) != 1 || needs.Assets[0] != "tiny" {
		t.Errorf("tokens need %v", needs)
	}
	c, err := kind.New(p, envWith(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Chunk(axes.Document{ID: "d", Text: "x"}); err == nil || !strings.Contains(err.Error(), "open tokenizer of tiny") {
		t.Errorf("error %v", err)
	}
}

func TestKinds_contradictions(t *testing.T) {
	t.Parallel()
	fixed := func(set func(*chunker.FixedParams)) error {
		p := chunker.Fixed().Params().(*chunker.FixedParams)
		set(p)
		_, err := chunker.Fixed().New(p, axes.Env{})
		return err
	}
	sentence := func(set func(*chunker.SentenceParams)) error {
		p := chunker.Sentence().Params().(*chunker.SentenceParams)
		set(p)
		_, err := chunker.Sentence().New(p, axes.Env{})
		return err
	}
	header := func(set func(*chunker.MarkdownHeaderParams)) error {
		p := chunker.MarkdownHeader().Params().(*chunker.MarkdownHeaderParams)
		set(p)
		_, err := chunker.MarkdownHeader().New(p, axes.Env{})
		return err
	}
	for attribute, errs := range map[string][]error{
		"overlap":       {fixed(func(p *chunker.FixedParams) { p.Size, p.Overlap = 10, 10 })},
		"tokenizer":     {fixed(func(p *chunker.FixedParams) { p.Unit = "tokens" }), fixed(func(p *chunker.FixedParams) { p.Tokenizer = "x" })},
		"stride":        {sentence(func(p *chunker.SentenceParams) { p.Window, p.Stride = 2, 3 })},
		"abbreviations": {sentence(func(p *chunker.SentenceParams) { p.Abbreviations = []string{"x"} })},
		"min_tokens": {
			header(func(p *chunker.MarkdownHeaderParams) { p.MinTokens = p.MaxTokens + 1 }),
			header(func(p *chunker.MarkdownHeaderParams) { p.MinTokens, p.Heading = 5, "drop" }),
		},
	} {
		for _, err := range errs {
			if e, ok := err.(*param.Error); !ok || e.Attribute != attribute {
				t.Errorf("%s: error %v", attribute, err)
			}
		}
	}
}
