package chunker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"raglab/axes"
	"raglab/axes/chunker/segment"
	"raglab/internal/onnx"
	"raglab/internal/param"
	"raglab/internal/tokenizer"
)

// Span is a range of byte offsets, End exclusive.
type Span = segment.Span

// Counter counts a text in some unit. Implementations are safe for concurrent
// use.
type Counter interface {
	// Count returns how many units the text has.
	Count(text string) int
	// Offsets returns where they are: as many spans, in order, not overlapping,
	// on rune boundaries, some of them perhaps empty.
	Offsets(text string) []Span
}

// The units in which the lengths of chunks are counted.
const (
	unitWords      = "words"
	unitCharacters = "characters"
	unitTokens     = "tokens"
)

// Words counts words and punctuation marks: a word is a longest run of letters,
// combining marks, numbers and "_", and any other character that is no white
// space counts by itself.
type Words struct{}

// Count implements [Counter].
func (Words) Count(text string) int { return lowClasses().count(text) }

// Offsets implements [Counter].
func (Words) Offsets(text string) []Span {
	low := lowClasses()
	var spans []Span
	for i := low.next(text, 0); i < len(text); i = low.next(text, i) {
		end := low.end(text, i)
		spans = append(spans, Span{Start: i, End: end})
		i = end
	}
	return spans
}

// Characters counts code points.
type Characters struct{}

// Count implements [Counter].
func (Characters) Count(text string) int { return utf8.RuneCountInString(text) }

// Offsets implements [Counter].
func (Characters) Offsets(text string) []Span {
	spans := make([]Span, 0, len(text))
	for i, r := range text {
		spans = append(spans, Span{Start: i, End: i + utf8.RuneLen(r)})
	}
	return spans
}

// model counts the tokens of a model's tokenizer, special ones left out.
type model struct{ *tokenizer.Tokenizer }

// Offsets implements [Counter].
func (m model) Offsets(text string) []Span {
	tokens := m.Tokenizer.Offsets(text)
	spans := make([]Span, len(tokens))
	for i, t := range tokens {
		spans[i] = Span{Start: t.Start, End: t.End}
	}
	return spans
}

// measure makes rulers of one unit.
type measure struct {
	unit string
	// tokens opens the tokenizer on first use and keeps it.
	tokens func() (Counter, error)
	// watch sees the rulers that are made, in tests; nil sees none.
	watch func(ruler) ruler
}

// newMeasure checks the attributes unit and tokenizer.
func newMeasure(unit, asset string, env axes.Env) (measure, error) {
	m := measure{unit: unit}
	switch {
	case unit != unitTokens && asset != "":
		return m, param.Errorf("tokenizer", "is of use only with unit = %q", unitTokens)
	case unit == unitTokens && asset == "":
		return m, param.Errorf("tokenizer", "must name a model's asset when unit = %q", unitTokens)
	}
	m.tokens = sync.OnceValues(func() (Counter, error) { return openTokenizer(asset, env) })
	return m, nil
}

func openTokenizer(asset string, env axes.Env) (Counter, error) {
	if env.Asset == nil {
		return nil, fmt.Errorf("open tokenizer of %s: %w", asset, errors.New("no assets are to be had here"))
	}
	// The engine has fetched what the kind's needs list before it cuts the first
	// document, so there is nothing left to wait for.
	folder, err := env.Asset(context.Background(), asset)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer of %s: %w", asset, err)
	}
	t, err := onnx.OpenTokenizer(folder)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer of %s: %w", asset, err)
	}
	return model{t}, nil
}

// tokenizerNeeds are those of a kind that counts in that unit.
func tokenizerNeeds(unit, asset string) axes.Needs {
	if unit != unitTokens || asset == "" {
		return axes.Needs{}
	}
	return axes.Needs{Assets: []string{asset}}
}

// ruler returns one for a text. Collapsed tells that a chunk's runs of white
// space count as one character.
func (m measure) ruler(text string, collapsed bool) (ruler, error) {
	r, err := m.newRuler(text, collapsed)
	if m.watch != nil && err == nil {
		r = m.watch(r)
	}
	return r, err
}

func (m measure) newRuler(text string, collapsed bool) (ruler, error) {
	switch m.unit {
	case unitWords:
		return wordRuler{text, lowClasses()}, nil
	case unitCharacters:
		return runeRuler{text, collapsed}, nil
	}
	counter, err := m.tokens()
	if err != nil {
		return nil, err
	}
	return newTokenRuler(text, counter), nil
}
