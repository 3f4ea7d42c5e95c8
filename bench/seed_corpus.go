package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"raglab/internal/assets"
	"raglab/internal/onnx"
)

// page is a document of the pages' file, question one of the questions'.
type page struct {
	ID   string `json:"_id"`
	Text string `json:"text"`
}

// sectionsPerArticle is how many sections an article of the made corpus has.
const sectionsPerArticle = 20

// makeSeedCorpus writes articles whose sections are the pages' words in order, cut
// anew, so many to a section that a chunk's tokens are spread about
// [seedTokens], and questions about the pages, each with the article in which its
// page begins. Where the words are used up they begin anew, and are cut at other
// places.
func makeSeedCorpus(dir, pages, assetsDir string) error {
	var docs []page
	if err := readJSONLines(filepath.Join(pages, "docs.jsonl"), &docs); err != nil {
		return err
	}
	s, err := newSections(docs, assetsDir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "articles"), 0o755); err != nil {
		return err
	}
	for first := 0; first < seedChunks; first += sectionsPerArticle {
		var b strings.Builder
		number := first / sectionsPerArticle
		fmt.Fprintf(&b, "# Стаття %d\n", number)
		for i := range min(sectionsPerArticle, seedChunks-first) {
			heading := fmt.Sprintf("Розділ %d", i+1)
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", heading, s.next(number))
		}
		if err := os.WriteFile(filepath.Join(dir, "articles", articleName(number)+".md"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return s.questions(filepath.Join(dir, "questions.jsonl"), pages)
}

func articleName(number int) string { return fmt.Sprintf("a%03d", number) }

// sections cuts the pages' words.
type sections struct {
	rng    *rand.Rand
	words  []string
	tokens []int          // by word
	starts map[int]string // the page that begins at a word
	at     int
	// article is the number of the one in which a page begins.
	article map[string]int
}

func newSections(docs []page, assetsDir string) (*sections, error) {
	paths, ok, err := assets.New(assets.Config{Dir: assetsDir}).Lookup(assets.E5SmallQ4())
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("the model's tokenizer is not there"))
	}
	tokenizer, err := onnx.OpenTokenizer(paths.Dir)
	if err != nil {
		return nil, err
	}
	s := &sections{rng: rand.New(rand.NewPCG(3, 3)), starts: map[int]string{}, article: map[string]int{}}
	for _, d := range docs {
		words := strings.Fields(d.Text)
		if len(words) == 0 {
			continue
		}
		s.starts[len(s.words)] = d.ID
		s.words = append(s.words, words...)
	}
	for _, w := range s.words {
		// A text's tokens are its words', which the model looks at one by one.
		s.tokens = append(s.tokens, tokenizer.Count(w))
	}
	return s, nil
}

// spread is how far a section's tokens may be from the mean.
const spread = 88

// aroundText is about how many tokens a chunk has besides its section's words: the
// title, the heading and what the model puts around them.
const aroundText = 14

func (s *sections) next(article int) string {
	target := seedTokens - aroundText - spread + s.rng.IntN(2*spread+1)
	from, n, long := s.at, 0, 0
	for n < target && long < chunkUnits && s.at < len(s.words) {
		if id, begins := s.starts[s.at]; begins {
			if _, known := s.article[id]; !known {
				s.article[id] = article
			}
		}
		n += s.tokens[s.at]
		long += units(s.words[s.at])
		s.at++
	}
	text := strings.Join(s.words[from:s.at], " ")
	if s.at == len(s.words) {
		s.at = 0
	}
	return text
}

// chunkUnits is about how many of the chunker's units a section may have: a longer
// one would be two chunks.
const chunkUnits = 320

// units is the length of a word in the chunker's unit: runs of letters and digits,
// and every other character.
func units(word string) int {
	n, inside := 0, false
	for _, r := range word {
		run := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !run || !inside {
			n++
		}
		inside = run
	}
	return n
}

// questions writes questions that people asked about pages, evenly spread.
func (s *sections) questions(path, pages string) error {
	var all []page
	if err := readJSONLines(filepath.Join(pages, "queries.jsonl"), &all); err != nil {
		return err
	}
	relevant, err := relevantPages(filepath.Join(pages, "qrels.tsv"))
	if err != nil {
		return err
	}
	var lines []any
	for i := range seedQuestions {
		q := all[i*len(all)/seedQuestions]
		article, ok := s.article[relevant[q.ID]]
		if !ok {
			return fmt.Errorf("question %s: its page %q begins in no article", q.ID, relevant[q.ID])
		}
		lines = append(lines, map[string]any{
			"id": q.ID, "question": q.Text, "relevant": []map[string]string{{"doc": articleName(article)}},
		})
	}
	return writeLines(path, lines)
}

// relevantPages reads the first relevant page of each question.
func relevantPages(path string) (map[string]string, error) {
	lines, err := readLines(path)
	if err != nil {
		return nil, err
	}
	relevant := map[string]string{}
	for _, line := range lines[1:] { // the first is the head
		fields := strings.Split(line, "\t")
		if len(fields) < 3 {
			return nil, fmt.Errorf("read %s: line %q", path, line)
		}
		if _, known := relevant[fields[0]]; !known && fields[2] != "0" {
			relevant[fields[0]] = fields[1]
		}
	}
	return relevant, nil
}

// readJSONLines reads a file of one JSON object a line.
func readJSONLines[T any](path string, into *[]T) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); dec.More(); {
		var v T
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		*into = append(*into, v)
	}
	return nil
}
