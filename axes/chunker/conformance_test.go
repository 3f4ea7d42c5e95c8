package chunker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/chunker/chunkertest"
	"raglab/axes/source"
	"raglab/internal/markdown"
	"raglab/internal/testdata"
)

// newChunker makes a chunker of a kind from its defaults and what set changes.
func newChunker[P any](t testing.TB, kind axes.Kind[chunker.Chunker], env axes.Env, set func(*P)) chunker.Chunker {
	t.Helper()
	p := kind.Params().(*P)
	set(p)
	c, err := kind.New(p, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counter is that of a unit, the way the suite checks it.
func counter(unit string) chunker.Counter {
	if unit == "characters" {
		return chunker.Characters{}
	}
	return chunker.Words{}
}

func TestConformance_whole(t *testing.T) {
	t.Parallel()
	chunkertest.Run(t, newChunker(t, chunker.Whole(), axes.Env{}, func(*chunker.WholeParams) {}), chunkertest.Promise{})
}

func TestConformance_fixed(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"words", "characters"} {
		for _, tail := range []string{"drop", "keep"} {
			t.Run(unit+" "+tail, func(t *testing.T) {
				t.Parallel()
				c := newChunker(t, chunker.Fixed(), axes.Env{}, func(p *chunker.FixedParams) {
					p.Unit, p.Size, p.Overlap, p.Tail = unit, 20, 7, tail
				})
				chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: counter(unit), Overlaps: true, LineEnds: unit == "characters"})
			})
		}
	}
	t.Run("reworded", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.Fixed(), axes.Env{}, func(p *chunker.FixedParams) {
			p.Unit, p.Size, p.Overlap, p.Collapse, p.Headings, p.Title = "characters", 30, 10, "all", "drop", "heading"
		})
		chunkertest.Run(t, c, chunkertest.Promise{Max: 30, Counter: chunker.Characters{}, Overlaps: true, Reworded: true, Dropped: titleOrHeading})
	})
}

// titleOrHeading allows titles and headings to be left out.
func titleOrHeading(doc axes.Document, text string, _ []axes.Chunk) string {
	return leftOver(doc, text, func(string) string { return "" })
}

// leftOver hands the headings in a text that was left out to see, and reports
// anything else in it.
func leftOver(doc axes.Document, text string, see func(title string) string) string {
	text, titled := strings.CutPrefix(text, doc.Title+"\n")
	if titled && doc.Title != "" {
		if problem := see(doc.Title); problem != "" {
			return problem
		}
	}
	for _, b := range markdown.Blocks(text, markdown.Markdown) {
		if b.Kind == markdown.Heading {
			if problem := see(b.Title); problem != "" {
				return problem
			}
			continue
		}
		if rest := text[b.Start:b.End]; strings.TrimSpace(rest) != "" {
			return fmt.Sprintf("%q is in no chunk", rest)
		}
	}
	return ""
}

// inHeading allows headings to be left out that a chunk says.
func inHeading(doc axes.Document, text string, chunks []axes.Chunk) string {
	return leftOver(doc, text, func(title string) string {
		for _, c := range chunks {
			if title == "" || strings.Contains(c.Heading+"\n"+c.Text, title) {
				return ""
			}
		}
		return fmt.Sprintf("the heading %q is in no chunk", title)
	})
}

func TestConformance_sentence(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"words", "characters"} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			c := newChunker(t, chunker.Sentence(), axes.Env{Language: "uk"}, func(p *chunker.SentenceParams) { p.Unit, p.MaxTokens = unit, 20 })
			chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: counter(unit), LineEnds: unit == "characters"})
		})
	}
	t.Run("punctuation", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.Sentence(), axes.Env{}, func(p *chunker.SentenceParams) {
			p.Unit, p.MaxTokens, p.Rules, p.Abbreviations = "characters", 20, "punctuation", []string{"Dr."}
		})
		chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: chunker.Characters{}, LineEnds: true})
	})
	t.Run("long sentences kept", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.Sentence(), axes.Env{}, func(p *chunker.SentenceParams) {
			p.Unit, p.MaxTokens, p.Long, p.Collapse, p.Headings = "characters", 20, "keep", "blanks", "drop"
		})
		chunkertest.Run(t, c, chunkertest.Promise{Reworded: true, Dropped: titleOrHeading, LineEnds: true})
	})
	t.Run("windows", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.Sentence(), axes.Env{Language: "tr"}, func(p *chunker.SentenceParams) { p.Window, p.Stride = 3, 2 })
		chunkertest.Run(t, c, chunkertest.Promise{Overlaps: true, Counter: chunker.Words{}})
	})
}

func TestConformance_paragraph(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"words", "characters"} {
		for _, least := range []int{0, 10, 20} {
			t.Run(fmt.Sprint(unit, least), func(t *testing.T) {
				t.Parallel()
				c := newChunker(t, chunker.Paragraph(), axes.Env{Language: "it"}, func(p *chunker.ParagraphParams) {
					p.Unit, p.MaxTokens, p.MinTokens = unit, 20, least
				})
				chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: counter(unit), LineEnds: unit == "characters"})
			})
		}
	}
}

func TestConformance_markdownHeader(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"words", "characters"} {
		for _, least := range []int{0, 10} {
			for _, heading := range []string{"prepend", "keep"} {
				t.Run(fmt.Sprint(unit, least, heading), func(t *testing.T) {
					t.Parallel()
					c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) {
						p.Unit, p.MaxTokens, p.MinTokens, p.Heading = unit, 20, least, heading
					})
					promise := chunkertest.Promise{Max: 20, Counter: counter(unit), LineEnds: unit == "characters"}
					if heading == "prepend" {
						promise.Dropped = inHeading
					}
					chunkertest.Run(t, c, promise)
				})
			}
		}
	}
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) { p.Heading, p.MaxTokens = "drop", 20 })
		chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: chunker.Words{}, Dropped: titleOrHeading})
	})
	t.Run("sentences of mediawiki", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) {
			p.Unit, p.MaxTokens, p.Syntax, p.Split, p.Collapse, p.Heading = "characters", 40, "mediawiki", "sentence", "blanks", "keep"
		})
		chunkertest.Run(t, c, chunkertest.Promise{Reworded: true, LineEnds: true})
	})
}

func TestConformance_stops(t *testing.T) {
	t.Parallel()
	sentence := newChunker(t, chunker.Sentence(), axes.Env{}, func(p *chunker.SentenceParams) {
		p.Unit, p.MaxTokens, p.Rules, p.Collapse, p.Long, p.Headings, p.Title, p.Syntax = "characters", 40, "punctuation", "stops", "keep", "drop", "heading", "mediawiki"
	})
	t.Run("sentence", func(t *testing.T) {
		t.Parallel()
		chunkertest.Run(t, sentence, chunkertest.Promise{Reworded: true, LineEnds: true, Counter: chunker.Characters{}, Dropped: wikiHeadings})
	})
	header := newChunker(t, chunker.MarkdownHeader(), axes.Env{}, func(p *chunker.MarkdownHeaderParams) {
		p.Unit, p.MaxTokens, p.Rules, p.Collapse, p.Long, p.Split, p.Heading, p.Syntax = "characters", 40, "punctuation", "stops", "keep", "sentence", "path", "mediawiki"
	})
	t.Run("markdown_header", func(t *testing.T) {
		t.Parallel()
		chunkertest.Run(t, header, chunkertest.Promise{Reworded: true, LineEnds: true, Counter: chunker.Characters{}, Dropped: wikiHeadings})
	})
}

// wikiHeadings allows titles and the headings of MediaWiki to be left out.
func wikiHeadings(doc axes.Document, text string, _ []axes.Chunk) string {
	text, _ = strings.CutPrefix(text, doc.Title+"\n")
	if strings.TrimSpace(text) == "# "+doc.Title {
		return ""
	}
	for _, b := range markdown.Blocks(text, markdown.MediaWiki) {
		if rest := text[b.Start:b.End]; b.Kind != markdown.Heading && strings.TrimSpace(rest) != "" {
			return fmt.Sprintf("%q is in no chunk", rest)
		}
	}
	return ""
}

func TestConformance_semantic(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"words", "characters"} {
		for _, cut := range []string{"percentile", "deviation", "absolute"} {
			t.Run(unit+" "+cut, func(t *testing.T) {
				t.Parallel()
				c := newChunker(t, chunker.Semantic(), axes.Env{Language: "uk"}, func(p *chunker.SemanticParams) {
					p.Cut, p.Threshold, p.Unit, p.MaxSize, p.MinSize = cut, 0.3, unit, 20, 6
				})
				chunkertest.Run(t, chunkertest.WithVectors(c), chunkertest.Promise{Max: 20, Counter: counter(unit), LineEnds: unit == "characters"})
			})
		}
	}
}

func TestConformance_parent(t *testing.T) {
	t.Parallel()
	for _, passage := range []string{"section", "paragraph", "sentence"} {
		for _, child := range []string{"sentence", "fixed"} {
			for _, unit := range []string{"words", "characters"} {
				t.Run(passage+" "+child+" "+unit, func(t *testing.T) {
					t.Parallel()
					c := newChunker(t, chunker.Parent(), axes.Env{Language: "uk"}, func(p *chunker.ParentParams) {
						p.Passage, p.Child, p.Unit, p.MaxTokens, p.MinTokens, p.ChildSize = passage, child, unit, 30, 10, 8
						if child == "fixed" {
							p.Overlap = 3
						}
					})
					promise := chunkertest.Promise{
						Max: 8, Counter: counter(unit), LineEnds: unit == "characters", Passages: true, MaxPassage: 30, Overlaps: child == "fixed",
					}
					if passage == "section" {
						promise.Dropped = inHeading
					}
					chunkertest.Run(t, c, promise)
				})
			}
		}
	}
}

func TestConformance_sentenceWindow(t *testing.T) {
	t.Parallel()
	for _, window := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			c := newChunker(t, chunker.SentenceWindow(), axes.Env{Language: "tr"}, func(p *chunker.SentenceWindowParams) { p.Window, p.MaxTokens = window, 20 })
			chunkertest.Run(t, c, chunkertest.Promise{Max: 20, Counter: chunker.Words{}, Passages: true, MaxPassage: 20 * (2*window + 1)})
		})
	}
	t.Run("headings dropped", func(t *testing.T) {
		t.Parallel()
		c := newChunker(t, chunker.SentenceWindow(), axes.Env{}, func(p *chunker.SentenceWindowParams) { p.Headings, p.Title = "drop", "heading" })
		chunkertest.Run(t, c, chunkertest.Promise{Passages: true, Reworded: true, Dropped: titleOrHeading})
	})
}

// TestConformance_realCorpora checks the kinds over what people have written.
func TestConformance_realCorpora(t *testing.T) {
	t.Parallel()
	env := axes.Env{Language: "uk"}
	unit := counter("words")
	for _, name := range []string{"uk-unlp/neutral", "more/tquad/neutral-dev"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := corpus(t, testdata.Shared(t, "data/"+name+"/docs.jsonl"))
			for _, doc := range docs {
				chunkertest.Check(t, newChunker(t, chunker.Fixed(), env, func(*chunker.FixedParams) {}), chunkertest.Promise{Max: 350, Counter: unit, Overlaps: true}, doc)
				chunkertest.Check(t, newChunker(t, chunker.Sentence(), env, func(p *chunker.SentenceParams) { p.MaxTokens = 60 }), chunkertest.Promise{Max: 60, Counter: unit}, doc)
				chunkertest.Check(t, newChunker(t, chunker.Paragraph(), env, func(p *chunker.ParagraphParams) { p.MaxTokens, p.MinTokens = 60, 40 }), chunkertest.Promise{Max: 60, Counter: unit}, doc)
				chunkertest.Check(t, newChunker(t, chunker.MarkdownHeader(), env, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens = 60 }), chunkertest.Promise{Max: 60, Counter: unit, Dropped: inHeading}, doc)
				chunkertest.Check(t, newChunker(t, chunker.Parent(), env, func(p *chunker.ParentParams) { p.MaxTokens, p.ChildSize, p.MinTokens = 90, 20, 60 }), chunkertest.Promise{Max: 20, Counter: unit, Passages: true, MaxPassage: 90}, doc)
				chunkertest.Check(t, newChunker(t, chunker.SentenceWindow(), env, func(p *chunker.SentenceWindowParams) { p.MaxTokens = 60 }), chunkertest.Promise{Max: 60, Counter: unit, Passages: true, MaxPassage: 420}, doc)
				chunkertest.Check(t, chunkertest.WithVectors(newChunker(t, chunker.Semantic(), env, func(p *chunker.SemanticParams) { p.MaxSize = 60 })), chunkertest.Promise{Max: 60, Counter: unit}, doc)
			}
		})
	}
}

// corpus reads the documents of a JSONL file.
func corpus(t *testing.T, path string) []axes.Document {
	t.Helper()
	p := source.JSONL().Params().(*source.JSONLParams)
	p.Path, p.Empty = path, "keep"
	s, err := source.JSONL().New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []axes.Document
	for doc, err := range s.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// tinyTokenizer is a WordPiece tokenizer that knows a few pieces, written where
// an asset would be.
func tinyTokenizer(t testing.TB) axes.Env {
	t.Helper()
	dir := t.TempDir()
	file := `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"decoder":null,
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
		"vocab":{"[UNK]":0,"с":1,"##лово":2,"##е":3,"р":4,"##яд":5,"##ок":6,".":7,"без":8,"a":9,"b":10,"##л":11,"e":12,"Title":13,"item":14,"-":15}}}`
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	return envWith(dir)
}

func FuzzChunkers(f *testing.F) {
	for _, doc := range chunkertest.Documents() {
		f.Add(doc.Title, doc.Text, doc.Format)
	}
	env := axes.Env{Language: "uk"}
	header := newChunker(f, chunker.MarkdownHeader(), env, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens, p.MinTokens = 12, 5 })
	paragraph := newChunker(f, chunker.Paragraph(), env, func(p *chunker.ParagraphParams) { p.Unit, p.MaxTokens, p.MinTokens = "characters", 30, 20 })
	sentence := newChunker(f, chunker.Sentence(), env, func(p *chunker.SentenceParams) { p.MaxTokens = 12 })
	fixed := newChunker(f, chunker.Fixed(), env, func(p *chunker.FixedParams) {
		p.Unit, p.Size, p.Overlap, p.Collapse, p.Headings = "characters", 30, 10, "all", "drop"
	})
	parent := newChunker(f, chunker.Parent(), env, func(p *chunker.ParentParams) { p.Passage, p.MaxTokens, p.MinTokens, p.ChildSize = "section", 20, 10, 6 })
	window := newChunker(f, chunker.SentenceWindow(), env, func(p *chunker.SentenceWindowParams) { p.Window, p.MaxTokens = 1, 12 })
	semantic := chunkertest.WithVectors(newChunker(f, chunker.Semantic(), env, func(p *chunker.SemanticParams) {
		p.Threshold, p.MinSize, p.MaxSize = 60, 5, 12
	}))
	path := newChunker(f, chunker.MarkdownHeader(), env, func(p *chunker.MarkdownHeaderParams) {
		p.Unit, p.MaxTokens, p.Rules, p.Collapse, p.Long, p.Split, p.Heading, p.Syntax = "characters", 30, "punctuation", "stops", "keep", "sentence", "path", "mediawiki"
	})
	f.Fuzz(func(t *testing.T, title, text, format string) {
		if !utf8.ValidString(title) || !utf8.ValidString(text) {
			t.Skip("documents are valid UTF-8")
		}
		doc := axes.Document{ID: "d", Title: title, Text: text, Format: format}
		chunkertest.Check(t, header, chunkertest.Promise{Max: 12, Counter: chunker.Words{}, Dropped: titleOrHeading}, doc)
		chunkertest.Check(t, paragraph, chunkertest.Promise{Max: 30, Counter: chunker.Characters{}, LineEnds: true}, doc)
		chunkertest.Check(t, sentence, chunkertest.Promise{Max: 12, Counter: chunker.Words{}}, doc)
		chunkertest.Check(t, fixed, chunkertest.Promise{Max: 30, Counter: chunker.Characters{}, Overlaps: true, Reworded: true, Dropped: titleOrHeading}, doc)
		chunkertest.Check(t, parent, chunkertest.Promise{Max: 6, Counter: chunker.Words{}, Passages: true, MaxPassage: 20, Dropped: titleOrHeading}, doc)
		chunkertest.Check(t, window, chunkertest.Promise{Max: 12, Counter: chunker.Words{}, Passages: true, MaxPassage: 36}, doc)
		chunkertest.Check(t, semantic, chunkertest.Promise{Max: 12, Counter: chunker.Words{}}, doc)
		chunkertest.Check(t, path, chunkertest.Promise{Counter: chunker.Characters{}, LineEnds: true, Reworded: true, Dropped: wikiHeadings}, doc)
	})
}
