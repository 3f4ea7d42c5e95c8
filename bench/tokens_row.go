package main

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"raglab/internal/tokenizer"
)

// tokensRow measures tokenising with a Unigram model of 250,000 pieces.
func tokensRow() row {
	return row{
		name: "tokens", does: "tokenise Ukrainian texts with the tokenizer of multilingual-e5-small, beside Hugging Face's tokenizers",
		set: func(_ context.Context, b *bench) (*trial, error) {
			packed := filepath.Join(b.peers.shared, "models", "multilingual-e5-small", "tokenizer.json.gz")
			if !exists(packed) {
				return &trial{missing: "no tokenizer file in ../shared/models/multilingual-e5-small"}, nil
			}
			dir, err := b.made("tokens", func(dir string) error {
				if err := unpack(packed, filepath.Join(dir, "tokenizer.json")); err != nil {
					return err
				}
				return b.ukrainian(filepath.Join(dir, "texts.txt"))
			})
			if err != nil {
				return nil, err
			}
			file, texts := filepath.Join(dir, "tokenizer.json"), filepath.Join(dir, "texts.txt")
			all, err := readLines(texts)
			if err != nil {
				return nil, err
			}
			characters := 0
			for _, line := range all {
				characters += utf8.RuneCountInString(line)
			}
			input := fmt.Sprintf("%s texts, %s characters", grouped(float64(len(all))), grouped(float64(characters)))
			t := &trial{input: input, own: b.driver("tokens", file, texts, b.inner(), digits(b.o.cores))}
			for _, n := range counts(b.o.cores) {
				p := peer{name: fmt.Sprintf("tokenizers-%d", n), missing: b.peers.missing}
				p.run = func(ctx context.Context) ([]sample, error) {
					return output(ctx, nil, b.peers.python, filepath.Join(b.root, "bench", "tokenizers_peer.py"),
						filepath.Dir(b.peers.script("common.py")), file, texts, "--reps", b.inner(), "--threads", digits(n))
				}
				t.peers = append(t.peers, p)
				t.comparisons = append(t.comparisons, tokenComparisons(p.name, n)...)
			}
			return t, nil
		},
	}
}

func tokenComparisons(peer string, threads int) []comparison {
	var out []comparison
	for _, name := range []string{"first pass", "again"} {
		own, theirs := step{raglabTool, name, threads}, step{"tokenizers", name, threads}
		c := comparison{figure: name, threads: threads, unit: perSecond("tokens"), peer: peer, own: own.tokenRate(), theirs: theirs.tokenRate()}
		if threads == 1 {
			c.goal = reach(1e6, c.unit)
		}
		if name == "again" {
			c.agree = func(a, b []sample) (string, bool) {
				x, okX := own.find(a)
				y, okY := theirs.find(b)
				switch {
				case !okX || !okY:
					return "", true
				case x.IDs == y.IDs:
					return "ids equal", true
				}
				return "ids differ", false
			}
		}
		out = append(out, c)
	}
	return out
}

// ukrainian writes one text a line: those of a public data set beside the
// checkout, or the articles of the quickstart where that is not there.
func (b *bench) ukrainian(path string) error {
	var all []string
	if docs := filepath.Join(b.peers.shared, "data", "uk-unlp", "neutral", "docs.jsonl"); exists(docs) {
		records, err := readRecords(docs)
		if err != nil {
			return err
		}
		for _, r := range records {
			all = append(all, r.Text)
		}
		all = all[:min(len(all), b.size(len(all), 100))]
	} else {
		articles, err := filepath.Glob(filepath.Join(b.root, "experiments", "quickstart", "*", "*.md"))
		if err != nil {
			return err
		}
		slices.Sort(articles)
		for _, a := range articles {
			article, err := os.ReadFile(a)
			if err != nil {
				return err
			}
			all = append(all, string(article))
		}
	}
	lines := make([]string, 0, len(all))
	for _, s := range all {
		// Python ends lines at some control characters too.
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, s)
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			lines = append(lines, s)
		}
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func readLines(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), err
}

func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", from, err)
	}
	return writeFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, z)
		return err
	})
}

// tokensDriver: tokenizer.json texts.txt REPS CORES.
func tokensDriver(_ context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("tokens takes four arguments")
	}
	reps, cores, err := numbers(args[2], args[3])
	if err != nil {
		return err
	}
	texts, err := readLines(args[1])
	if err != nil {
		return err
	}
	c := &clock{}
	for _, t := range counts(cores) {
		c.use(t)
		tok, err := tokenizer.Open(args[0])
		if err != nil {
			return err
		}
		var ids [][]int32
		encode := func() error {
			ids = encodeAll(tok, texts, t)
			return nil
		}
		for _, pass := range []struct {
			name string
			reps int
		}{{"first pass", 1}, {"again", reps}} {
			c.reps = pass.reps
			s, err := c.time(pass.name, 0, encode)
			if err != nil {
				return err
			}
			tokens, digest := summary(ids)
			s.Tokens, s.IDs = float64(tokens)/s.Wall, digest
		}
	}
	return c.print()
}

// summary counts ids and hashes them, as little-endian 32-bit numbers.
func summary(ids [][]int32) (tokens int, digest string) {
	hash := sha256.New()
	var word [4]byte
	for _, list := range ids {
		tokens += len(list)
		for _, id := range list {
			binary.LittleEndian.PutUint32(word[:], uint32(id))
			hash.Write(word[:])
		}
	}
	return tokens, hex.EncodeToString(hash.Sum(nil))
}

// encodeAll tokenises all texts on so many threads.
func encodeAll(tok *tokenizer.Tokenizer, texts []string, threads int) [][]int32 {
	ids := make([][]int32, len(texts))
	var next atomic.Int64
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				ids[i] = tok.Encode(nil, texts[i])
			}
		})
	}
	all.Wait()
	return ids
}
