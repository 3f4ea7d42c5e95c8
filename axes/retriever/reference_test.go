package retriever_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/internal/testdata"
)

// TestBM25_equalsRankBM25 compares with the rankings of rank_bm25 0.2.2 over
// public data sets: the first ten documents of each question and their scores.
// The reference fills up with documents that score 0; here they are no hits.
func TestBM25_equalsRankBM25(t *testing.T) {
	t.Parallel()
	alnum := func(p any) { p.(*text.SimpleParams).Characters = "alnum" }
	compounds := func(p any) { p.(*text.SimpleParams).Characters, p.(*text.SimpleParams).Joiners = "ascii", "._-" }
	tests := []struct {
		folder, reference string
		set               func(params any)
	}{
		{"uk-unlp/neutral", "unicode-words-lower", alnum},
		{"more/squad-it/neutral-test", "unicode-words-lower", alnum},
		{"scifact/neutral", "ascii-words-lower", compounds},
		{"more/vaswani/neutral", "ascii-words-lower", compounds},
		{"mtrag/neutral-mtrag-un", "ascii-words-lower", compounds},
	}
	for _, test := range tests {
		t.Run(test.folder, func(t *testing.T) {
			t.Parallel()
			folder := testdata.Shared(t, "data/"+test.folder)
			compareWithReference(t, folder, test.reference, analyzer(t, "simple", "", test.set))
		})
	}
}

func compareWithReference(t *testing.T, folder, reference string, a text.Analyzer) {
	t.Helper()
	docs := readJSONL[axes.Document](t, filepath.Join(folder, "docs.jsonl"))
	c, ordinal := &axestest.Corpus{}, map[string]uint32{}
	for i, d := range docs {
		c.Chunks, ordinal[d.ID] = append(c.Chunks, d.Content()), uint32(i)
	}
	s := openOkapi(t, c, a)
	want := readRanking(t, filepath.Join(folder, "reference-bm25okapi."+reference+".tsv"), ordinal)
	compared := 0
	for _, q := range readJSONL[axes.Document](t, filepath.Join(folder, "queries.jsonl")) {
		expected, ok := want[q.ID]
		if !ok {
			continue
		}
		compared++
		hits, err := s.Search(t.Context(), axes.Query{ID: q.ID, Text: q.Text}, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) != len(expected) {
			t.Errorf("question %s: %d hits, want %d", q.ID, len(hits), len(expected))
			continue
		}
		for i, h := range hits {
			if h.Ordinal != expected[i].Ordinal || math.Abs(h.Score-expected[i].Score) > 1e-6 {
				t.Errorf("question %s: hit %d is %v, want %v", q.ID, i+1, h, expected[i])
			}
		}
	}
	if compared != len(want) || compared == 0 {
		t.Errorf("compared %d of %d rankings", compared, len(want))
	}
}

func openOkapi(t *testing.T, c *axestest.Corpus, a text.Analyzer) retriever.Searcher {
	t.Helper()
	k := leaf(t, "bm25")
	p := k.Params().(*retriever.BM25Params)
	p.Variant = "okapi"
	l, err := k.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := l.Build(t.Context(), c, a, &index); err != nil {
		t.Fatal(err)
	}
	s, err := l.Open(t.Context(), &index, int64(index.Len()), a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readJSONL[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for lines := json.NewDecoder(bufio.NewReader(f)); lines.More(); {
		var v T
		if err := lines.Decode(&v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	return all
}

// readRanking reads lines of question, rank, document and score after a header,
// without those that score 0.
func readRanking(t *testing.T, path string, ordinal map[string]uint32) map[string][]axes.Hit {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rankings := map[string][]axes.Hit{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		score, err := strconv.ParseFloat(fields[3], 64)
		if err != nil {
			continue // the header
		}
		hits := rankings[fields[0]]
		if score != 0 {
			hits = append(hits, axes.Hit{Ordinal: ordinal[fields[2]], Score: score})
		}
		rankings[fields[0]] = hits
	}
	return rankings
}
