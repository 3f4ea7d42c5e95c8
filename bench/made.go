package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// text of made corpora: syllables put together to words, words to sentences,
// sentences to paragraphs under headings. The same seed gives the same texts.
type writer struct {
	rng   *rand.Rand
	words []string
}

func newWriter(seed uint64) *writer {
	w := &writer{rng: rand.New(rand.NewPCG(seed, 7))}
	syllables := strings.Fields("ба ве ги го да де жу за ки ко ла лі ма ми на не ні по ра ри ро са се та ти ту ха ця ча ше що ює ям")
	for len(w.words) < 6000 {
		word := ""
		for range 2 + w.rng.IntN(3) {
			word += syllables[w.rng.IntN(len(syllables))]
		}
		w.words = append(w.words, word)
	}
	return w
}

// word draws a word: the few first ones often, the many others seldom.
func (w *writer) word() string {
	u := w.rng.Float64()
	return w.words[int(math.Pow(u, 3)*float64(len(w.words)))]
}

// sentence is so many words with a capital and a full stop.
func (w *writer) sentence(words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = w.word()
	}
	first := []rune(out[0])
	out[0] = strings.ToUpper(string(first[:1])) + string(first[1:])
	return strings.Join(out, " ") + "."
}

// article is some sections of some paragraphs, in Markdown.
func (w *writer) article() string {
	var b strings.Builder
	for section := range 3 + w.rng.IntN(3) {
		if section > 0 {
			fmt.Fprintf(&b, "## %s\n\n", strings.TrimSuffix(w.sentence(2), "."))
		}
		for range 1 + w.rng.IntN(3) {
			var sentences []string
			for range 2 + w.rng.IntN(4) {
				sentences = append(sentences, w.sentence(6+w.rng.IntN(12)))
			}
			b.WriteString(strings.Join(sentences, " ") + "\n\n")
		}
	}
	return b.String()
}

// makeQuestions writes docs.jsonl, queries.jsonl and qrels.tsv: so many articles,
// and questions of a few words that one of them has.
func makeQuestions(dir string, documents, questions int) error {
	w := newWriter(11)
	texts := make([]string, documents)
	docs, queries, qrels := make([]any, documents), make([]any, questions), []string{"query-id\tcorpus-id\tscore"}
	for i := range texts {
		texts[i] = w.article()
		docs[i] = map[string]string{"_id": fmt.Sprintf("d%d", i), "title": strings.TrimSuffix(w.sentence(3), "."), "text": texts[i]}
	}
	for i := range questions {
		d := w.rng.IntN(documents)
		words := strings.Fields(strings.NewReplacer("#", "", ".", "").Replace(texts[d]))
		var asked []string
		for range 3 + w.rng.IntN(5) {
			asked = append(asked, words[w.rng.IntN(len(words))])
		}
		queries[i] = map[string]string{"_id": fmt.Sprintf("q%d", i), "text": strings.Join(asked, " ")}
		qrels = append(qrels, fmt.Sprintf("q%d\td%d\t1", i, d))
	}
	if err := writeLines(filepath.Join(dir, "docs.jsonl"), docs); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, "queries.jsonl"), queries); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "qrels.tsv"), []byte(strings.Join(qrels, "\n")+"\n"), 0o644)
}

// writeLines writes one JSON object a line.
func writeLines(path string, values []any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return out.Flush()
}

// gridSpec crosses 4 chunkers, 2 texts and 5 retrievers: 40 configurations.
const gridSpec = `experiment "grid" { title = "40 configurations without embeddings" }

corpus "jsonl" {
  path     = "docs.jsonl"
  format   = "markdown"
  language = "uk"
}

golden {
  queries   = "queries.jsonl"
  qrels     = "qrels.tsv"
  relevance = "document"
}

axis "chunker" {
  option "whole" {}
  option "fixed" {
    size    = 80
    overlap = 20
  }
  option "sentence" { max_tokens = 60 }
  option "markdown_header" { max_tokens = 120 }
}

axis "text" { use = ["simple", "prefix"] }

axis "retriever" {
  option "bm25" {}
  option "okapi" {
    kind    = "bm25"
    variant = "okapi"
  }
  option "flat" {
    kind = "bm25"
    b    = 0.3
  }
  option "rrf" { legs = ["bm25", "okapi"] }
  option "weighted" { legs = ["bm25", "flat"] }
}

score {
  depth   = 30
  metrics = ["recall@5", "ndcg@10", "mrr@10"]
  primary = "ndcg@10"
}
`

// freeAxesSpec crosses two free axes of so many values each, which the retriever
// reads: a plan of any length over a corpus of any size.
func freeAxesSpec(k1, b int) string {
	return fmt.Sprintf(`experiment "free_axes" { title = "As many stages as asked for" }

corpus "jsonl" { path = "docs.jsonl" }

golden {
  queries   = "queries.jsonl"
  qrels     = "qrels.tsv"
  relevance = "document"
}

axis "k1" { values = [for i in range(%d) : i / 100] }
axis "b" { values = [for i in range(%d) : i / %d] }

fixed "retriever" {
  option "bm25" {
    k1 = axis.k1
    b  = axis.b
  }
}

score {
  depth   = 10
  metrics = ["ndcg@10"]
  primary = "ndcg@10"
}
`, k1, b, b)
}
