package chunker_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/chunker/chunkertest"
)

var update = flag.Bool("update", false, "add the digests of versions that testdata/digests.txt does not know")

const digestFile = "testdata/digests.txt"

// digestCases are the parameters under which each kind's output is watched.
func digestCases(t *testing.T) map[string]chunker.Chunker {
	tiny := tinyTokenizer(t)
	uk, tr := axes.Env{Language: "uk"}, axes.Env{Language: "tr"}
	return map[string]chunker.Chunker{
		"whole default":    newChunker(t, chunker.Whole(), uk, func(*chunker.WholeParams) {}),
		"fixed default":    newChunker(t, chunker.Fixed(), uk, func(*chunker.FixedParams) {}),
		"sentence default": newChunker(t, chunker.Sentence(), uk, func(*chunker.SentenceParams) {}),
		"sentence turkish": newChunker(t, chunker.Sentence(), tr, func(p *chunker.SentenceParams) { p.MaxTokens = 15 }),
		"sentence english": newChunker(t, chunker.Sentence(), axes.Env{Language: "en"}, func(p *chunker.SentenceParams) { p.MaxTokens = 15 }),
		"sentence italian": newChunker(t, chunker.Sentence(), axes.Env{Language: "it"}, func(p *chunker.SentenceParams) { p.MaxTokens = 15 }),
		"sentence window":  newChunker(t, chunker.Sentence(), uk, func(p *chunker.SentenceParams) { p.Window, p.Stride = 3, 1 }),
		"sentence plain": newChunker(t, chunker.Sentence(), tr, func(p *chunker.SentenceParams) {
			p.Unit, p.MaxTokens, p.Rules, p.Abbreviations, p.Collapse, p.Title = "characters", 120, "punctuation", []string{"dr", "vb"}, "blanks", "heading"
		}),
		"fixed characters": newChunker(t, chunker.Fixed(), tr, func(p *chunker.FixedParams) {
			p.Unit, p.Size, p.Overlap, p.Collapse, p.Title, p.Headings, p.MinSize, p.Tail = "characters", 70, 10, "all", "heading", "drop", 6, "keep"
		}),
		"fixed tokens": newChunker(t, chunker.Fixed(), tiny, func(p *chunker.FixedParams) {
			p.Unit, p.Tokenizer, p.Size, p.Overlap = "tokens", "tiny", 25, 5
		}),
		"paragraph default":       newChunker(t, chunker.Paragraph(), uk, func(*chunker.ParagraphParams) {}),
		"paragraph short":         newChunker(t, chunker.Paragraph(), uk, func(p *chunker.ParagraphParams) { p.MaxTokens, p.MinTokens = 30, 10 }),
		"markdown_header default": newChunker(t, chunker.MarkdownHeader(), uk, func(*chunker.MarkdownHeaderParams) {}),
		"markdown_header short": newChunker(t, chunker.MarkdownHeader(), uk, func(p *chunker.MarkdownHeaderParams) {
			p.MaxTokens, p.MinTokens = 30, 8
		}),
		"markdown_header keep": newChunker(t, chunker.MarkdownHeader(), uk, func(p *chunker.MarkdownHeaderParams) { p.MaxTokens, p.Heading = 30, "keep" }),
		"markdown_header path": newChunker(t, chunker.MarkdownHeader(), tr, func(p *chunker.MarkdownHeaderParams) {
			p.Unit, p.MaxTokens, p.Syntax, p.Split, p.MinLast, p.Rules = "characters", 100, "mediawiki", "sentence", 10, "punctuation"
			p.Heading, p.Collapse = "path", "stops"
		}),
		"sentence stops": newChunker(t, chunker.Sentence(), tr, func(p *chunker.SentenceParams) {
			p.Unit, p.MaxTokens, p.Rules, p.Collapse, p.Title, p.Headings = "characters", 100, "punctuation", "stops", "heading", "drop"
		}),
		"semantic default": chunkertest.WithVectors(newChunker(t, chunker.Semantic(), uk, func(*chunker.SemanticParams) {})),
		"semantic bounded": chunkertest.WithVectors(newChunker(t, chunker.Semantic(), tr, func(p *chunker.SemanticParams) {
			p.Cut, p.Threshold, p.Buffer, p.MinSize, p.MaxSize = "deviation", 0.5, 0, 8, 40
		})),
		"parent default": newChunker(t, chunker.Parent(), uk, func(*chunker.ParentParams) {}),
		"parent section": newChunker(t, chunker.Parent(), uk, func(p *chunker.ParentParams) {
			p.Passage, p.MaxTokens, p.MinTokens, p.Child, p.ChildSize, p.Overlap = "section", 60, 10, "fixed", 12, 4
		}),
		"parent sentence":         newChunker(t, chunker.Parent(), uk, func(p *chunker.ParentParams) { p.Passage, p.MaxTokens, p.ChildSize = "sentence", 60, 15 }),
		"sentence_window default": newChunker(t, chunker.SentenceWindow(), uk, func(*chunker.SentenceWindowParams) {}),
		"markdown_header wiki": newChunker(t, chunker.MarkdownHeader(), tr, func(p *chunker.MarkdownHeaderParams) {
			p.Unit, p.MaxTokens, p.Syntax, p.Split, p.MinLast = "characters", 100, "mediawiki", "sentence", 10
		}),
	}
}

// digest is that of a chunker's output for the suite's documents.
func digest(t *testing.T, c chunker.Chunker) string {
	h := sha256.New()
	for _, doc := range chunkertest.Documents() {
		chunks, err := c.Chunk(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range chunks {
			line, err := json.Marshal(chunk)
			if err != nil {
				t.Fatal(err)
			}
			h.Write(append(line, '\n'))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestDigests fails when a kind's output changes and its version does not.
func TestDigests(t *testing.T) {
	t.Parallel()
	known := readDigests(t)
	var added []string
	for name, c := range digestCases(t) {
		kind, _, _ := strings.Cut(name, " ")
		k, ok := axes.Find(chunker.Kinds(), kind)
		if !ok {
			t.Fatalf("no kind %q", kind)
		}
		key := fmt.Sprintf("%s@%s", name, k.Version)
		got := digest(t, c)
		switch want := known[key]; {
		case want == "" && *update:
			added = append(added, key+"\t"+got)
		case want == "":
			t.Errorf("%s has no digest for %s: run this test with -update", digestFile, key)
		case want != got:
			t.Errorf("%s: the output has changed but the kind's version has not: raise it", key)
		}
	}
	writeDigests(t, added)
}

func TestDigests_coverEveryKind(t *testing.T) {
	t.Parallel()
	cases := digestCases(t)
	for _, k := range chunker.Kinds() {
		if cases[k.Name+" default"] == nil {
			t.Errorf("no digest watches %s", k.Name)
		}
	}
}

func readDigests(t *testing.T) map[string]string {
	t.Helper()
	known := make(map[string]string)
	f, err := os.Open(digestFile)
	if os.IsNotExist(err) && *update {
		return known
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, sum, _ := strings.Cut(s.Text(), "\t")
		known[key] = sum
	}
	return known
}

// writeDigests appends lines to the file; lines that are there never change.
func writeDigests(t *testing.T, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	old, err := os.ReadFile(digestFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	text := string(old) + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(digestFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
