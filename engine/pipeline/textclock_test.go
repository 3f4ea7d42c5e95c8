package pipeline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
)

// words is a text kind that knows some words and takes a while for each text.
type words struct{ known []string }

func (w words) Terms(s string, emit func([]byte)) {
	for start := time.Now(); time.Since(start) < 50*time.Microsecond; {
	}
	buf := []byte{}
	for _, f := range strings.Fields(s) {
		buf = append(buf[:0], f...) // the slice is valid during the call only
		emit(buf)
	}
}

func (w words) Unknown(s string) (n, unknown int) {
	for _, f := range strings.Fields(s) {
		n++
		if !slices.Contains(w.known, f) {
			unknown++
		}
	}
	return n, unknown
}

func (w words) Memory() int { return 7 }

func termsOf(a text.Analyzer, s string) []string {
	var out []string
	a.Terms(s, func(term []byte) { out = append(out, string(term)) })
	return out
}

func TestTextClock_timesTextAlone(t *testing.T) {
	t.Parallel()
	clock, a := clocked(words{})
	start := time.Now()
	a.Terms("one two", func([]byte) {
		for at := time.Now(); time.Since(at) < 5*time.Millisecond; {
		}
	})
	whole := time.Since(start)
	if got := clock.time(); got < 50*time.Microsecond || got > whole-10*time.Millisecond {
		t.Errorf("text handling took %v of %v, of which 10 ms are not its", got, whole)
	}
}

func TestTextClock_changesNothing(t *testing.T) {
	t.Parallel()
	clock, a := clocked(words{known: []string{"b"}})
	clock.counter = words{known: []string{"b"}}
	texts := []string{"a b c", "", "  ", "b", "a a a a"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, s := range texts {
				if got := termsOf(a, s); !slices.Equal(got, strings.Fields(s)) {
					t.Errorf("terms of %q are %q", s, got)
				}
			}
		})
	}
	wg.Wait()
	if n, empty, w, u := clock.texts.Load(), clock.empty.Load(), clock.words.Load(), clock.unknown.Load(); n != 40 || empty != 16 || w != 64 || u != 48 {
		t.Errorf("%d texts, %d empty, %d words, %d unknown; want 40, 16, 64 and 48", n, empty, w, u)
	}
}

func TestTextClock_ofNothingIsNothing(t *testing.T) {
	t.Parallel()
	if _, a := clocked(nil); a != nil {
		t.Errorf("no text kind became %v", a)
	}
}

// inOnePass is a leaf that reads all texts before it asks how many they are.
type inOnePass struct{ collect }

func (inOnePass) Build(_ context.Context, corpus retriever.Corpus, a text.Analyzer, w io.Writer) error {
	for s, err := range corpus.Texts() {
		if err != nil {
			return err
		}
		fmt.Fprintln(w, termsOf(a, s))
	}
	if corpus.(*indexCorpus).tab == nil {
		return fmt.Errorf("the chunks are read another time to count them")
	}
	if n := corpus.Len(); n != 3 {
		return fmt.Errorf("%d chunks, want 3", n)
	}
	return nil
}

// Text handling is measured in the one pass that an index is built in.
func TestIndex_measuresItsParts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := l.run(t, indexKindPure, indexWork{inOnePass{}, words{known: []string{"a"}}, shardRange{0, 1, 1}}, map[string][]byte{
		"order":      plainLines(t, "d", "e", "f"),
		"chunks-000": lines(t, axes.Chunk{Doc: "d", Text: "a b"}, axes.Chunk{Doc: "d", N: 1, Text: "c"}, axes.Chunk{Doc: "f", Text: "a"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"words": 4, "unknown_words": 2, "text_bytes": 7, "chunks": 3} {
		if got := l.number(t, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	normalise := l.number(t, "normalise_seconds")
	if normalise < 150e-6 || l.number(t, "build_seconds") < 0 {
		t.Errorf("normalised in %v s, built in %v s", normalise, l.number(t, "build_seconds"))
	}
	if got, want := l.number(t, "normalise_ms_per_document"), normalise*1000/3; got < want*0.999 || got > want*1.001 {
		t.Errorf("%v ms per document, want %v", got, want)
	}
	if _, ok := l.measured["heap_bytes"]; ok {
		t.Error("an index in the cache has a heap")
	}
}
