package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Made passages: words as often as in natural text, one of rank r as often as 1/r,
// out of a million; a document is some passages with a blank line between them.
const (
	largeWords        = 1 << 20
	passageWords      = 60 // on average
	passagesPerDoc    = 4
	questionsOfLarge  = 500
	wordsOfAQuestion  = 6
	syllablesOfALarge = "ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu za ze zi zo zu"
)

// passages makes texts of any length in the same memory.
type passages struct {
	rng       *rand.Rand
	syllables []string
}

func newPassages(seed uint64) *passages {
	return &passages{rand.New(rand.NewPCG(seed, 7)), strings.Fields(syllablesOfALarge)}
}

// rank draws a word by its rank, from 1.
func (p *passages) rank() int { return int(math.Pow(largeWords, p.rng.Float64())) }

// appendWord spells the word of a rank: short ones for frequent ranks, no two alike.
func (p *passages) appendWord(b []byte, rank int) []byte {
	n := len(p.syllables)
	for ; rank > 0; rank = (rank - 1) / n {
		b = append(b, p.syllables[(rank-1)%n]...)
	}
	return b
}

func (p *passages) appendPassage(b []byte) []byte {
	for i := range passageWords/2 + p.rng.IntN(passageWords+1) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = p.appendWord(b, p.rank())
	}
	return append(b, '.')
}

// question is words of a document, the most frequent of which are seldom taken: by
// chance, as in what people ask.
func (p *passages) question(text string) string {
	words := strings.Fields(strings.ReplaceAll(text, ".", ""))
	var asked []string
	for len(asked) < wordsOfAQuestion {
		w := words[p.rng.IntN(len(words))]
		if len(w) > 2 || p.rng.IntN(4) == 0 {
			asked = append(asked, w)
		}
	}
	return strings.Join(asked, " ")
}

// makePassages writes docs.jsonl with so many passages, and questions about some of
// its documents.
func makePassages(dir string, passages int) error {
	f, err := os.Create(filepath.Join(dir, "docs.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	documents := passages / passagesPerDoc
	p, asks, every := newPassages(17), newPassages(19), documents/questionsOfLarge
	var questions []any
	qrels := []string{"query-id\tcorpus-id\tscore"}
	var text []byte
	for i := range documents {
		text = text[:0]
		for j := range passagesPerDoc {
			if j > 0 {
				text = append(text, `\n\n`...)
			}
			text = p.appendPassage(text)
		}
		fmt.Fprintf(out, "{\"_id\":\"d%d\",\"text\":\"%s\"}\n", i, text) // no letter needs escaping
		if i%every == 0 && len(questions) < questionsOfLarge {
			id := fmt.Sprintf("q%d", len(questions))
			questions = append(questions, map[string]string{"_id": id, "text": asks.question(strings.ReplaceAll(string(text), `\n\n`, " "))})
			qrels = append(qrels, fmt.Sprintf("%s\td%d\t1", id, i))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, "queries.jsonl"), questions); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "qrels.tsv"), []byte(strings.Join(qrels, "\n")+"\n"), 0o644)
}

// largeSpec indexes each passage for itself.
const largeSpec = `experiment "large" { title = "As many passages as asked for" }

corpus "jsonl" { path = "docs.jsonl" }

golden {
  queries   = "queries.jsonl"
  qrels     = "qrels.tsv"
  relevance = "document"
}

fixed "chunker" {
  option "paragraph" { min_tokens = 0 }
}

fixed "retriever" { use = "bm25" }

score {
  depth   = 30
  metrics = ["recall@10", "ndcg@10"]
  primary = "ndcg@10"
}
`
