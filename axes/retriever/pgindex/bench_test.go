package pgindex

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkLexemes makes the tsvectors of texts of 262 words of a vocabulary whose
// words are as often as those of a language, one word after the other by Zipf's law.
func BenchmarkLexemes(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 0))
	letters := []rune("оаинтервслкмдпуяьзбгчйхжшюцєіїґщф")
	words := make([][]byte, 20_000)
	for i := range words {
		word := make([]rune, 1+r.IntN(4)+r.IntN(4)+r.IntN(4))
		for j := range word {
			u := r.Float64()
			word[j] = letters[int(float64(len(letters))*u*math.Sqrt(u))]
		}
		words[i] = []byte(string(word))
	}
	const perText = 262
	texts := make([][]byte, 1000*perText)
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(words)-1))
	for i := range texts {
		texts[i] = words[zipf.Uint64()]
	}
	var l Lexemes
	var buf []byte
	terms := 0
	for i := 0; b.Loop(); i++ {
		l.Reset()
		for _, word := range texts[i%1000*perText:][:perText] {
			l.Add(word)
		}
		var err error
		if buf, err = l.AppendVector(buf[:0]); err != nil {
			b.Fatal(err)
		}
		terms += len(l.terms)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(terms)/float64(b.N), "lexemes")
}
