package tokenizer

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// UnigramConfig is a sentencepiece Unigram model in parts, for models that come
// without a tokenizer file. The tokenizer made of it works as XLM-RoBERTa's:
// words are what white space separates, each begins with "▁", and a text stands
// between BOS and EOS, a pair as BOS A EOS EOS B EOS.
type UnigramConfig struct {
	Pieces []string  // by id
	Scores []float32 // natural logarithms of probabilities, by id
	// BOS, EOS, PAD and UNK are the ids of the special tokens. Where their pieces
	// stand in a text, they are taken for the tokens themselves.
	BOS, EOS, PAD, UNK int
	// Added are further tokens to look for in the text, such as <mask>.
	Added []AddedToken
	// Rules are the replacements of the normalizer, by code point. Letters followed
	// by marks are composed besides, where Unicode has one code point for both.
	Rules map[rune]string
}

// NewUnigram makes a tokenizer from its parts.
func NewUnigram(c UnigramConfig) (*Tokenizer, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("make tokenizer: %w", err)
	}
	m := &unigram{pieces: newLexicon(len(c.Pieces)), scores: make([]float64, 0, len(c.Pieces))}
	for i, piece := range c.Pieces {
		m.add(piece, float64(c.Scores[i]))
	}
	if err := m.init(int32(c.UNK)); err != nil {
		return nil, fmt.Errorf("make tokenizer: %w", err)
	}
	rules := make(ruleTable, len(c.Rules))
	for r, with := range c.Rules {
		rules[r] = []byte(with)
	}
	spaces := &replace{newRunMatcher(" ", 2, 0), space}
	f := file{
		normalizers: []normalizer{newCharsmap(rules), spaces},
		splitters:   []preTokenizer{&whitespaceSplit{whitespace()}, &metaspace{mark: []byte("▁"), split: true}},
		templates:   robertaTemplates(int32(c.BOS), int32(c.EOS)),
		model:       m,
		padID:       int32(c.PAD),
	}
	for _, id := range []int{c.BOS, c.EOS, c.PAD, c.UNK} {
		f.added = append(f.added, AddedToken{Content: c.Pieces[id], Special: true})
	}
	f.added = append(f.added, c.Added...)
	t, err := f.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("make tokenizer: %w", err)
	}
	return t, nil
}

func (c *UnigramConfig) check() error {
	if len(c.Pieces) != len(c.Scores) {
		return fmt.Errorf("%d pieces but %d scores", len(c.Pieces), len(c.Scores))
	}
	for _, id := range []int{c.BOS, c.EOS, c.PAD, c.UNK} {
		if id < 0 || id >= len(c.Pieces) {
			return fmt.Errorf("special token %d is not one of the %d pieces", id, len(c.Pieces))
		}
	}
	for id, piece := range c.Pieces {
		if piece == "" || !utf8.ValidString(piece) {
			return fmt.Errorf("piece %d is empty or not valid UTF-8", id)
		}
	}
	for _, with := range c.Rules {
		if !utf8.ValidString(with) {
			return errors.New("a rule's replacement is not valid UTF-8")
		}
	}
	return nil
}
