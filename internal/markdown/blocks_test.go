package markdown_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/internal/markdown"
)

// kinds writes a block's kind as one letter.
var kinds = map[markdown.Kind]string{
	markdown.Paragraph: "P", markdown.Heading: "H", markdown.List: "L", markdown.Table: "T",
	markdown.Code: "C", markdown.Rule: "R", markdown.Comment: "X",
}

// outline writes blocks as "kind:text", headings as "H2:title".
func outline(text string, syntax markdown.Syntax) []string {
	var out []string
	for _, b := range markdown.Blocks(text, syntax) {
		if b.Kind == markdown.Heading {
			out = append(out, fmt.Sprintf("H%d:%s", b.Level, b.Title))
			continue
		}
		out = append(out, kinds[b.Kind]+":"+text[b.Start:b.End])
	}
	return out
}

func TestBlocks_markdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":               {" \n\r\n\t\n", nil},
		"atx":                 {"# A\n## B ##\n###\tC\n####\n####### no\n#no\n   # D #x\n    # code", []string{"H1:A", "H2:B", "H3:C", "H4:", "P:####### no\n#no", "H1:D #x", "P:    # code"}},
		"escaped mark":        {"\\# A", []string{"P:\\# A"}},
		"setext":              {"A\nb\n===\nC\n-\n\n---\n\n=", []string{"H1:A b", "H2:C", "R:---", "P:="}},
		"rules":               {"***\n_ _ _\n* * x\n**", []string{"R:***", "R:_ _ _", "L:* * x\n**"}},
		"fence":               {"a\n```go\n# x\n\n``\n```\nb", []string{"P:a", "C:```go\n# x\n\n``\n```", "P:b"}},
		"longer fence":        {"~~~~\n~~~\n```\n~~~~~\nb", []string{"C:~~~~\n~~~\n```\n~~~~~", "P:b"}},
		"open fence":          {"```\n# x", []string{"C:```\n# x"}},
		"code span":           {"```a```\nb", []string{"P:```a```\nb"}},
		"lists":               {"a\n- b\n  c\n- d\n\ne", []string{"P:a", "L:- b\n  c\n- d", "P:e"}},
		"numbers":             {"in\n1991. x\n\n1. a\n2. b", []string{"P:in\n1991. x", "L:1. a\n2. b"}},
		"heading in an item":  {"- a\n\n  # b\n\nc\n# d", []string{"L:- a", "P:  # b", "P:c", "H1:d"}},
		"fence in an item":    {"- a\n\n      ```\n      # b\n      ```\n# c", []string{"L:- a", "C:      ```\n      # b\n      ```", "H1:c"}},
		"table":               {"a | b\n--- | :-:\n1 | 2\nend", []string{"T:a | b\n--- | :-:\n1 | 2", "P:end"}},
		"table with edges":    {"x\n| a | b |\n|---|---|\n\n| c |", []string{"P:x", "T:| a | b |\n|---|---|", "T:| c |"}},
		"comment":             {"<!-- a\n# b\n-->\n# c\n<!-- d -->\ne", []string{"X:<!-- a\n# b\n-->", "H1:c", "X:<!-- d -->", "P:e"}},
		"crlf":                {"# A #\r\n\r\nB\r\n===\r\n\r\nc\r\nd\r\n", []string{"H1:A", "H1:B", "P:c\r\nd"}},
		"quote":               {"> # a\n> b", []string{"P:> # a\n> b"}},
		"paragraph then rule": {"a\n***\nb", []string{"P:a", "R:***", "P:b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := outline(c.text, markdown.Markdown); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

func TestBlocks_otherSyntaxes(t *testing.T) {
	t.Parallel()
	text := "a\nb\n\n== C ==\nd\n=== E ===  \r\n= f =\n== ==\n==g\n== h ===\n# i\n"
	want := []string{"P:a", "P:b", "H1:C", "P:d", "H2:E", "P:= f =", "P:== ==", "P:==g", "H1:h =", "P:# i"}
	if got := outline(text, markdown.MediaWiki); !reflect.DeepEqual(got, want) {
		t.Errorf("mediawiki:\n got %q\nwant %q", got, want)
	}
	if got := outline("# a\nb\n \t\nc\r\n\r\nd", markdown.Plain); !reflect.DeepEqual(got, []string{"P:# a\nb", "P:c", "P:d"}) {
		t.Errorf("text: got %q", got)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"- a\n  b\n- c\n   - d\n1) e": {"- a\n  b", "- c", "   - d", "1) e"},
		"| a |\r\n|---|\r\n| b |":     {"| a |\r", "|---|\r", "| b |"},
		"```\na\n\nb\n```":            {"```", "a", "b", "```"},
		"a\nb":                        {"a\nb"},
	} {
		var got []string
		for _, b := range markdown.Blocks(text, markdown.Markdown) {
			for _, s := range markdown.Items(text, b) {
				got = append(got, text[s.Start:s.End])
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// checkBlocks checks that blocks are in order, hold whole lines, and all text.
func checkBlocks(t interface{ Fatalf(string, ...any) }, text string, syntax markdown.Syntax) {
	at := 0
	for _, b := range markdown.Blocks(text, syntax) {
		if b.Start < at || b.End <= b.Start || b.End > len(text) || strings.TrimSpace(text[at:b.Start]) != "" {
			t.Fatalf("%s %q: block %+v after %d", syntax, text, b, at)
		}
		if b.Start > 0 && text[b.Start-1] != '\n' || b.End < len(text) && text[b.End] != '\n' && text[b.End] != '\r' {
			t.Fatalf("%s %q: block %+v does not hold whole lines", syntax, text, b)
		}
		if (b.Level > 0) != (b.Kind == markdown.Heading) {
			t.Fatalf("%s %q: block %+v has a level and is no heading, or the other way round", syntax, text, b)
		}
		from := b.Start
		for _, s := range markdown.Items(text, b) {
			if s.Start < from || s.End <= s.Start || s.End > b.End || strings.TrimSpace(text[from:s.Start]) != "" {
				t.Fatalf("%s %q: item %+v of block %+v", syntax, text, s, b)
			}
			from = s.End
		}
		if strings.TrimSpace(text[from:b.End]) != "" {
			t.Fatalf("%s %q: the items of block %+v end at %d", syntax, text, b, from)
		}
		at = b.End
	}
	if strings.TrimSpace(text[at:]) != "" {
		t.Fatalf("%s %q: %q is in no block", syntax, text, text[at:])
	}
}

func TestBlocks_holdAllText(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", " ", "  ", "    ", "\t", "#", "# ", "=", "---", "```", "~~~", "- ", "1. ", "|", "--- | ---", "<!--", "-->", "==", "a", "слово", "\u00a0", "\u2028", ">"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		for _, syntax := range []markdown.Syntax{markdown.Markdown, markdown.MediaWiki, markdown.Plain} {
			checkBlocks(t, text, syntax)
		}
	})
}

func FuzzBlocks(f *testing.F) {
	f.Add("# A\n\n```\n# b\n```\n- c\n  d\n\n| e |\n|---|\n")
	f.Add("== A ==\r\nb\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, syntax := range []markdown.Syntax{markdown.Markdown, markdown.MediaWiki, markdown.Plain} {
			checkBlocks(t, text, syntax)
		}
	})
}

func TestFirstHeading(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n\n## b\n# c\n# d": "c", "a\n===\n": "", "```\n# a\n```\n  # b": "b", "": "",
	} {
		if got := markdown.FirstHeading(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
