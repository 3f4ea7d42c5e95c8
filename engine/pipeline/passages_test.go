package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine/artifact"
	"raglab/internal/param"
)

// grouped are the chunks of documents with passages of so many chunks, in order.
func grouped(documents [][]int) []axes.Chunk {
	var chunks []axes.Chunk
	for d, sizes := range documents {
		n := 0
		for _, size := range sizes {
			around := &axes.Passage{First: n, Text: fmt.Sprintf("passage %d of %d", n, d)}
			for range size {
				chunks = append(chunks, axes.Chunk{Doc: fmt.Sprint("d", d), N: n, Text: fmt.Sprintf("%d.%d", d, n), Around: around})
				n++
			}
		}
	}
	return chunks
}

// encoded is the table of chunks as an index stage writes it.
func encoded(t interface{ Fatal(...any) }, documents [][]int) string {
	var order []string
	for d := range documents {
		order = append(order, fmt.Sprint("d", d))
	}
	tab := newTable(order, shardRange{0, 1, 1})
	for _, c := range grouped(documents) {
		if err := tab.add(c); err != nil {
			t.Fatal(err)
		}
	}
	return string(tab.encode())
}

// TestPassages_rankAsTheirBestChunks holds rankings of passages against their
// definition, and checks that the chunks that are asked for are enough.
func TestPassages_rankAsTheirBestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 5), 0, 4), 1, 4).Draw(rt, "passages")
		chunks := grouped(sizes)
		tab, err := parseTable([]byte(encoded(rt, sizes)))
		if err != nil {
			rt.Fatal(err)
		}
		hits := make([]axes.Hit, len(chunks))
		for i := range hits {
			hits[i] = axes.Hit{Ordinal: uint32(i), Score: float64(rapid.IntRange(0, 3).Draw(rt, "score"))}
		}
		slices.SortFunc(hits, func(a, b axes.Hit) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		depth := rapid.IntRange(1, 6).Draw(rt, "depth")
		var want []string
		for _, h := range hits {
			c := chunks[h.Ordinal]
			if name := artifact.ChunkName(c.Doc, c.Ranked()); !slices.Contains(want, name) && len(want) < depth {
				want = append(want, name)
			}
		}
		asked := tab.chunksFor(depth, len(chunks))
		run := newRun(1)
		if err := run.add("q", tab.collapse(hits[:min(asked, len(hits))], depth), tab.name); err != nil {
			rt.Fatal(err)
		}
		if got := run.Chunks[0]; !slices.Equal(got, want) {
			rt.Errorf("%d of %v asked: ranked %v, want %v", asked, hits, got, want)
		}
	})
}

func TestTable_tellsPassagesOnlyWhereChunksShareThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		documents [][]int
		want      string
	}{
		{[][]int{{1, 1, 1}, {}, {1}}, "d0 3\nd1 0\nd2 1\n"},
		{[][]int{{1, 1, 3, 1}, {1}, {2}}, "d0 6 1,1,3,1\nd1 1\nd2 2 2\n"},
	} {
		if got := encoded(t, tc.documents); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.documents, got, tc.want)
		}
	}
}

func TestTable_refusesPassagesThatAreNoRuns(t *testing.T) {
	t.Parallel()
	for name, firsts := range map[string][]int{"of a chunk to come": {1, 1}, "taken up again": {0, 1, 0}, "of no chunk": {-1}} {
		tab, failed := newTable([]string{"d"}, shardRange{0, 1, 1}), false
		for n, first := range firsts {
			failed = failed || tab.add(axes.Chunk{Doc: "d", N: n, Around: &axes.Passage{First: first}}) != nil
		}
		if !failed {
			t.Errorf("a passage %s is listed", name)
		}
	}
	if err := newTable([]string{"d"}, shardRange{0, 1, 1}).add(axes.Chunk{Doc: "d"}); err != nil {
		t.Error(err)
	}
}

func TestChunkTable_refusesWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"d", "d x", "d -1", "d 2 1", "d 2 3", "d 2 1,", "d 2 0,2", "d 2 x", "d 2 1,1,1"} {
		if _, err := parseTable([]byte(line + "\n")); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

// shelf finds the chunks in their order, up to limit at a time.
type shelf struct {
	collect
	chunks, limit int
}

func (s shelf) Open(context.Context, io.Reader, int64, text.Analyzer) (retriever.Searcher, error) {
	return s, nil
}

func (s shelf) Search(_ context.Context, _ axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := s.CheckDepth(depth); err != nil {
		return nil, err
	}
	return append(dst, order(uint32s(min(depth, s.chunks))...)...), nil
}

func uint32s(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

func (s shelf) Close() error { return nil }

func (s shelf) CheckDepth(depth int) error {
	if depth > s.limit {
		return param.Errorf("limit", "%d is less than %d", s.limit, depth)
	}
	return nil
}

func TestSearch_fillsRankingsWithPassages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		passages     string
		depth, limit int
		want         []string
		warned       bool
	}{
		{"no passages", "d 9\n", 3, 3, []string{"d#0", "d#1", "d#2"}, false},
		{"passages", "d 9 4,1,3,1\n", 3, 99, []string{"d#0", "d#4", "d#5"}, false},
		{"fewer passages than the depth", "d 9 5,4\n", 3, 99, []string{"d#0", "d#5"}, false},
		{"an index that gives enough", "d 9 4,1,3,1\n", 2, 5, []string{"d#0", "d#4"}, false},
		{"an index that gives too little", "d 9 4,1,3,1\n", 3, 5, []string{"d#0", "d#4"}, true},
		{"an index that gives the depth", "d 9 4,1,3,1\n", 3, 3, []string{"d#0"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			out, err := l.run(t, searchKindPure, searchWork{shelf{chunks: 9, limit: tc.limit}, nil, tc.depth}, map[string][]byte{
				"queries": plainLines(t, queryLine{"q", "?"}), "chunks": []byte(tc.passages), "index": []byte("shelf"),
			})
			if err != nil {
				t.Fatal(err)
			}
			run, err := artifact.ReadRun(out["run"])
			if err != nil || !slices.Equal(run.Chunks[0], tc.want) {
				t.Errorf("ranked %v, %v, want %v", run.Chunks, err, tc.want)
			}
			if warned := len(l.warnings) > 0; warned != tc.warned {
				t.Errorf("warnings %q", l.warnings)
			}
		})
	}
}

func TestReadTexts_readsPassagesOfTheRun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	chunks := grouped([][]int{{2, 1}, {3}})
	chunks[2].Heading, chunks[2].Around = "H", nil
	run := newRun(1)
	if err := run.add("q0", order(3, 2, 0), func(o uint32) (string, error) {
		return map[uint32]string{3: "d1#0", 2: "d0#2", 0: "d0#0"}[o], nil
	}); err != nil {
		t.Fatal(err)
	}
	var ranked bytes.Buffer
	if err := artifact.WriteRun(&ranked, run.Run); err != nil {
		t.Fatal(err)
	}
	reader := &passageReader{}
	_, err := l.run(t, rerankKindPure, rerankWork{reranker: reader, shards: 1}, map[string][]byte{
		"queries": plainLines(t, queryLine{"q0", "?"}), "run": ranked.Bytes(),
		"order": plainLines(t, "d0", "d1"), "chunks-000": lines(t, chunks...),
	})
	if want := []string{"passage 0 of 1", "H\n0.2", "passage 0 of 0"}; err != nil || !slices.Equal(reader.read, want) {
		t.Errorf("read %q, %v, want %q", reader.read, err, want)
	}
}

// passageReader is a reranker that notes what it reads.
type passageReader struct{ read []string }

func (*passageReader) UsesText() bool { return true }

func (r *passageReader) Rerank(_ context.Context, _ axes.Query, hits []axes.Hit, text func(uint32) (string, error)) ([]axes.Hit, error) {
	for _, h := range hits {
		s, err := text(h.Ordinal)
		if err != nil {
			return nil, err
		}
		r.read = append(r.read, s)
	}
	return hits, nil
}

// An approximate ranking of passages is held against the exact one of passages, also
// where that has to be looked for further down.
func TestANNRecall_ofPassages(t *testing.T) {
	t.Parallel()
	p := plane{questions: [][]float32{unit(0)}}
	for _, degrees := range []float64{1, 2, 30, 30, 30, 30, 60} {
		p.rows = append(p.rows, unit(degrees))
	}
	// Passages of chunks 0-1, 2, 3-5 and 6: the second and third are equally near.
	tab, err := parseTable([]byte("d 7 2,1,3,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		found []axes.Hit
		want  float64
	}{{order(0, 2), 1}, {order(0, 3), 1}, {order(0, 6), 0.5}, {order(6, 3), 0.5}} {
		l := newLab(t)
		w := annRecallWork{exact: exactLeaf(t), distance: innerProduct, cutoffs: []int{2}, depth: 2, shards: 1, grouped: true}
		out, err := l.run(t, annRecallKind, w, map[string][]byte{
			"queries": plainLines(t, queryLine{"q0", "?"}), "query_vectors": npy(t, p.questions), "index": npy(t, p.rows),
			"run": runOf(t, [][]axes.Hit{tc.found}), "exact_run": runOf(t, [][]axes.Hit{tab.collapse(p.exact(t, 0, 3), 2)}),
			"chunks": []byte("d 7 2,1,3,1\n"),
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := ReadANNRecall(out["ann_recall"])
		if err != nil || len(a.At) != 1 || a.At[0].Mean != tc.want {
			t.Errorf("found %v: %+v, %v, want %v", tc.found, a, err, tc.want)
		}
	}
}
