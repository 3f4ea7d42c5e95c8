package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fewWords draws words of an alphabet so small that pieces share beginnings.
func fewWords() *rapid.Generator[string] {
	letter := rapid.SampledFrom([]string{"а", "b", "в", "▁", "北"})
	return rapid.Map(rapid.SliceOfN(letter, 1, 6), func(s []string) string { return strings.Join(s, "") })
}

func TestLexicon_isAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(fewWords(), 0, 300).Draw(t, "pieces")
		l := newLexicon(rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "room"))
		want := map[string]int32{}
		for i, p := range pieces {
			_, had := want[p]
			if l.add(p) == had {
				t.Fatalf("%q: told to be new: %v", p, !had)
			}
			want[p] = int32(i)
		}
		for _, text := range append(pieces, rapid.SliceOfN(fewWords(), 0, 50).Draw(t, "others")...) {
			index, ok := want[text]
			if !ok {
				index = noToken
			}
			if got := l.find([]byte(text)); got != index {
				t.Fatalf("%q: got %d, want %d", text, got, index)
			}
			if !l.ambiguous && l.candidate(hashOf([]byte(text))) != index {
				t.Fatalf("%q: candidate is not %d", text, index)
			}
			if r, size := utf8.DecodeRuneInString(text); size == len(text) && l.rune(r, extend(0, r)) != index {
				t.Fatalf("%q: as a rune it is not %d", text, index)
			}
			if ok && !l.begins(hashOf([]byte(string([]rune(text)[:1])))) {
				t.Fatalf("%q: no piece begins with its first rune", text)
			}
		}
	})
}

func TestLexicon_equalTags(t *testing.T) {
	t.Parallel()
	l := newLexicon(4)
	l.add("аб")
	hash := hashOf([]byte("вг"))
	other := &l.slots[hash>>l.shift]
	*other = slot{uint32(hash), 1} // as if the hash of "аб" ended as that of "вг"
	if l.candidate(hash) != 0 {
		t.Fatal("the candidate for вг is not аб")
	}
	if got := l.find([]byte("вг")); got != noToken {
		t.Errorf("found %d for a text that is no piece", got)
	}
	if l.add("вг"); !l.ambiguous {
		t.Error("two pieces with one tag are not noticed")
	}
	if got := l.find([]byte("вг")); got != 1 {
		t.Errorf("found %d for the second piece", got)
	}
}

func drawUnigram(t *rapid.T) *unigram {
	m := &unigram{pieces: newLexicon(8)}
	m.add("<unk>", 0)
	for i, p := range rapid.SliceOfNDistinct(fewWords(), 1, 30, rapid.ID[string]).Draw(t, "pieces") {
		m.add(p, rapid.Float64Range(-20, 0).Draw(t, fmt.Sprintf("score %d", i)))
	}
	if err := m.init(0); err != nil {
		t.Fatal(err)
	}
	return m
}

// bestScore is the greatest sum of scores over all ways to cut text.
func bestScore(m *unigram, text string) float64 {
	if text == "" {
		return 0
	}
	best := math.Inf(-1)
	_, first := utf8.DecodeRuneInString(text)
	for end := first; end <= len(text); end++ {
		score := math.Inf(-1)
		if id := m.pieces.find([]byte(text[:end])); id != noToken {
			score = m.scores[id]
		} else if end == first {
			score = m.penalty
		}
		if !math.IsInf(score, -1) {
			best = max(best, score+bestScore(m, text[end:]))
		}
	}
	return best
}

func TestUnigram_findsTheBestPath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawUnigram(t)
		word := fewWords().Draw(t, "word")
		var w workspace
		pieces := m.tokenize(nil, &w, []byte(word))
		sum, from := 0.0, 0
		for _, p := range pieces {
			text := word[from:p.end]
			if p.id == m.unknown {
				sum += m.penalty * float64(utf8.RuneCountInString(text))
			} else {
				sum += m.scores[p.id]
				if !m.pieces.is(p.id, []byte(text)) {
					t.Fatalf("piece %d is not %q", p.id, text)
				}
			}
			from = int(p.end)
		}
		if from != len(word) {
			t.Fatalf("%q: the pieces end at byte %d", word, from)
		}
		if want := bestScore(m, word); math.Abs(sum-want) > 1e-9 {
			t.Fatalf("%q: score %v, best is %v", word, sum, want)
		}
		m.pieces.ambiguous = true
		if exact := m.tokenize(nil, &w, []byte(word)); !slices.Equal(exact, pieces) {
			t.Fatalf("%q: exact search gives %v, candidates gave %v", word, exact, pieces)
		}
	})
}

// A text that is taken for a piece because their tags are equal must not come out
// as that piece.
func TestUnigram_falseCandidate(t *testing.T) {
	t.Parallel()
	m := &unigram{pieces: newLexicon(8)}
	for _, p := range []struct {
		text  string
		score float64
	}{{"<unk>", 0}, {"а", -3}, {"б", -3}, {"вгд", -1}, {"абв", -9}} {
		m.add(p.text, p.score)
	}
	if err := m.init(0); err != nil {
		t.Fatal(err)
	}
	hash := hashOf([]byte("аб"))
	m.pieces.slots[hash>>m.pieces.shift] = slot{uint32(hash), 4} // "аб" looks like "вгд"
	var w workspace
	if got, want := m.tokenize(nil, &w, []byte("аб")), []piece{{1, 2}, {2, 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnigram_ties(t *testing.T) {
	t.Parallel()
	m := &unigram{pieces: newLexicon(8)}
	for _, p := range []struct {
		text  string
		score float64
	}{{"<unk>", 0}, {"a", -1}, {"aa", -2}, {"aaa", -3}} {
		m.add(p.text, p.score)
	}
	if err := m.init(0); err != nil {
		t.Fatal(err)
	}
	var w workspace
	if got, want := m.tokenize(nil, &w, []byte("aaaa")), []piece{{1, 1}, {3, 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: the last piece is the longest of equal paths", got, want)
	}
}

func TestUnigram_bytes(t *testing.T) {
	t.Parallel()
	m := &unigram{pieces: newLexicon(8)}
	m.add("<unk>", 0)
	m.add("a", -1)
	m.add("<0xD0>", -5)
	m.add("<0xB1>", -5)
	if err := m.init(0); err != nil {
		t.Fatal(err)
	}
	m.fallBackToBytes()
	var w workspace
	if got, want := m.tokenize(nil, &w, []byte("aба")), []piece{{1, 1}, {0, 5}}; !slices.Equal(got, want) {
		t.Errorf("а has a byte without token: got %v, want %v", got, want)
	}
	if got, want := m.tokenize(nil, &w, []byte("aбa")), []piece{{1, 1}, {2, 3}, {3, 3}, {1, 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWordCache(t *testing.T) {
	t.Parallel()
	c := newWordCache()
	const words = cacheSets*cacheWays + 5_000 // some sets overflow
	for i := range words {
		word := fmt.Appendf(nil, "word %d", i)
		hash := c.hash(word)
		c.put(hash, word, []piece{{int32(i), int32(len(word))}})
		got, ok := c.get(hash, word)
		if !ok || got[0].id != int32(i) {
			t.Fatalf("%s is not there after it was put in", word)
		}
		if _, ok := c.get(hash, []byte("another word")); ok {
			t.Fatal("a word with another's hash was found")
		}
	}
}
