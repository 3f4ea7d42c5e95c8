package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"raglab/internal/tokenizer"
)

// OpenTokenizer opens the tokenizer of the model in a folder: its tokenizer.json,
// or the one inside a 4-bit model file (*.bin).
func OpenTokenizer(dir string) (*tokenizer.Tokenizer, error) {
	t, err := tokenizer.Open(filepath.Join(dir, "tokenizer.json"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	packed, globErr := filepath.Glob(filepath.Join(dir, "*.bin"))
	if globErr != nil || len(packed) != 1 {
		return nil, err
	}
	f, err := os.Open(packed[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	q, err := OpenQ4(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("open tokenizer %s: %w", packed[0], err)
	}
	return q.Tokenizer.New()
}

// New makes the tokenizer.
func (t *Q4Tokenizer) New() (*tokenizer.Tokenizer, error) {
	rules := make(map[rune]string, len(t.Rules))
	for _, r := range t.Rules {
		rules[r.From] = string(r.To)
	}
	// The model was trained with a table that keeps the zero width joiner; the
	// packed file's makes it a space, its only difference.
	delete(rules, '\u200d')
	c := tokenizer.UnigramConfig{
		Pieces: t.Pieces, Scores: t.Scores, Rules: rules,
		BOS: int(t.BOS), EOS: int(t.EOS), PAD: int(t.Pad), UNK: int(t.Unk),
	}
	// The format does not list the mask among the special tokens.
	if last := len(t.Pieces) - 1; t.Pieces[last] == "<mask>" {
		c.Added = []tokenizer.AddedToken{{Content: "<mask>", StripLeft: true, Special: true}}
	}
	return tokenizer.NewUnigram(c)
}
