package retriever_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/axestest"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/internal/testdata"
)

// referenceTexts are the text handlings of the references, by the name that their
// files have.
var referenceTexts = map[string]struct {
	kind, language string
	set            func(params any)
}{
	"unicode-words-lower": {"simple", "", func(p any) { p.(*text.SimpleParams).Characters = "alnum" }},
	"ascii-words-lower": {"simple", "", func(p any) {
		p.(*text.SimpleParams).Characters, p.(*text.SimpleParams).Joiners = "ascii", "._-"
	}},
	"tr-stem5": {"prefix", "tr", func(p any) {
		q := p.(*text.PrefixParams)
		q.Length, q.Characters, q.Letters, q.MinLength, q.Stop = 5, "ascii", "çğıöşü", 2, turkishStop
	}},
	"tr-nostem": {"simple", "tr", func(p any) {
		q := p.(*text.SimpleParams)
		q.Characters, q.Letters, q.MinLength, q.Stop = "ascii", "çğıöşü", 2, turkishStop
	}},
}

// turkishStop are words without a meaning of their own.
var turkishStop = strings.Fields("ama ancak bazı bir bu da daha de en fakat gibi hem her için ile ise ki mi o olan olarak olur the ve veya ya çok şu")

// reference is one file of rankings and what its settings say.
type reference struct {
	folder, name string
	Tokeniser    string  `json:"tokeniser"`
	BM25         string  `json:"bm25"`
	Queries      int     `json:"queries"`
	Docs         int     `json:"docs"`
	MeanLength   float64 `json:"avgdl"`
	Terms        int     `json:"terms"`
}

// TestBM25_equalsRankBM25 compares with the rankings of rank_bm25 0.2.2 over
// every public data set that has them: the first ten documents of each question,
// their order and their scores. The reference fills up with documents that score
// 0; here they are no hits.
func TestBM25_equalsRankBM25(t *testing.T) {
	t.Parallel()
	folders := []string{
		"uk-unlp/neutral", "more/squad-it/neutral-test", "scifact/neutral", "more/vaswani/neutral",
		"mtrag/neutral-mtrag-un", "more/xquad-tr/neutral-tr", "more/tquad/neutral-dev",
	}
	for _, folder := range folders {
		for _, r := range references(t, testdata.Shared(t, "data/"+folder)) {
			t.Run(folder+" "+r.name, func(t *testing.T) {
				t.Parallel()
				compareWithReference(t, r)
			})
		}
	}
}

// references reads the settings of the rankings in a folder.
func references(t *testing.T, folder string) []reference {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "reference-bm25okapi.*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no references in %s: %v", folder, err)
	}
	var all []reference
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := reference{folder: folder}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		r.name = r.Tokeniser
		all = append(all, r)
	}
	return all
}

// referenceTolerance is how far a score may be from the one on file, for its size.
const referenceTolerance = 1e-9

func compareWithReference(t *testing.T, r reference) {
	t.Helper()
	handling, ok := referenceTexts[r.Tokeniser]
	if !ok || r.BM25 != "rank_bm25 0.2.2 BM25Okapi k1=1.5 b=0.75 epsilon=0.25" {
		t.Fatalf("nobody knows the settings %+v", r)
	}
	a := analyzer(t, handling.kind, handling.language, handling.set)
	docs := readJSONL[axes.Document](t, filepath.Join(r.folder, "docs.jsonl"))
	c, ordinal := &axestest.Corpus{}, map[string]uint32{}
	for i, d := range docs {
		c.Chunks, ordinal[d.ID] = append(c.Chunks, d.Content()), uint32(i)
	}
	checkTerms(t, r, c, a)
	s := openOkapi(t, c, a)
	want := readRanking(t, filepath.Join(r.folder, "reference-bm25okapi."+r.name+".tsv"), ordinal)
	compared, furthest := 0, 0.0
	for _, q := range readJSONL[axes.Document](t, filepath.Join(r.folder, "queries.jsonl")) {
		expected, ok := want[q.ID]
		if !ok {
			continue
		}
		compared++
		hits, err := s.Search(t.Context(), axes.Query{ID: q.ID, Text: q.Text}, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		furthest = max(furthest, compareHits(t, q.ID, hits, expected))
	}
	if compared != len(want) || compared != r.Queries {
		t.Errorf("compared %d of %d rankings of %d questions", compared, len(want), r.Queries)
	}
	t.Logf("%d rankings; furthest score off by %.1e of its size", compared, furthest)
}

// compareHits compares one ranking and returns how far its scores are off, for
// their size.
func compareHits(t *testing.T, question string, hits, want []axes.Hit) (furthest float64) {
	t.Helper()
	if len(hits) != len(want) {
		t.Errorf("question %s: %d hits, want %d", question, len(hits), len(want))
		return 0
	}
	for i, h := range hits {
		off := math.Abs(h.Score-want[i].Score) / math.Abs(want[i].Score)
		if h.Ordinal != want[i].Ordinal || off > referenceTolerance {
			t.Errorf("question %s: hit %d is %v, want %v", question, i+1, h, want[i])
		}
		furthest = max(furthest, off)
	}
	return furthest
}

// checkTerms compares what text handling made of the documents with what the
// reference counted.
func checkTerms(t *testing.T, r reference, c *axestest.Corpus, a text.Analyzer) {
	t.Helper()
	distinct, all := map[string]bool{}, 0
	for _, s := range c.Chunks {
		a.Terms(s, func(term []byte) {
			all++
			distinct[string(term)] = true
		})
	}
	mean := float64(all) / float64(len(c.Chunks))
	if len(c.Chunks) != r.Docs || len(distinct) != r.Terms || mean != r.MeanLength {
		t.Errorf("%d documents of %v terms, %d distinct; want %d of %v, %d distinct", len(c.Chunks), mean, len(distinct), r.Docs, r.MeanLength, r.Terms)
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

// TestExact_ordersAsNumPy: a ranking is the one that a stable argsort of the negated
// scores gives, with scores in single precision, in which products of these vectors
// are exact in whatever order they are summed. Most scores tie.
func TestExact_ordersAsNumPy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, dim := rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "dim")
		number := rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) / 4 })
		c := &axestest.Corpus{Chunks: make([]string, n), Dim: dim, Rows: rapid.SliceOfN(number, n*dim, n*dim).Draw(t, "rows")}
		query := rapid.SliceOfN(number, dim, dim).Draw(t, "query")
		scores, order := make([]float32, n), make([]int, n)
		for i := range n {
			order[i] = i
			for j, x := range query {
				scores[i] += c.Rows[i*dim+j] * x
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(-scores[a], -scores[b]) })
		k, _ := axes.Find(retriever.Leaves, "exact")
		l, err := k.New(k.Params(), axes.Env{})
		if err != nil {
			t.Fatal(err)
		}
		var index bytes.Buffer
		if err := l.Build(t.Context(), c, nil, &index); err != nil {
			t.Fatal(err)
		}
		s, err := l.Open(t.Context(), &index, int64(index.Len()), nil)
		if err != nil {
			t.Fatal(err)
		}
		depth := rapid.IntRange(1, n).Draw(t, "depth")
		hits, err := s.Search(t.Context(), axes.Query{Vector: query}, depth, nil)
		if err != nil || len(hits) != depth {
			t.Fatalf("%d hits of %d: %v", len(hits), depth, err)
		}
		for i, h := range hits {
			if int(h.Ordinal) != order[i] || h.Score != float64(scores[order[i]]) {
				t.Fatalf("hit %d is %v, want chunk %d with %v", i, h, order[i], scores[order[i]])
			}
		}
	})
}
