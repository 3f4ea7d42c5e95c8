package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/axes"
	"raglab/axes/chunker"
	"raglab/axes/embedder"
	"raglab/engine"
	"raglab/engine/artifact"
)

// byMeaning is the work of cutting with an embedder.
func (l *lab) byMeaning(t *testing.T, e embedder.Embedder, set func(*chunker.SemanticParams)) chunkWork {
	t.Helper()
	kind := chunker.Semantic()
	p := kind.Params().(*chunker.SemanticParams)
	p.Cut, p.Threshold, p.Buffer = "absolute", 0.5, 0
	set(p)
	c, err := kind.New(p, axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	embed := l.embedWork(e)
	return chunkWork{func() (chunker.Chunker, error) { return c, nil }, &embed}
}

func readChunks(t *testing.T, raw []byte) []string {
	t.Helper()
	var texts []string
	for c, err := range artifact.ReadLines[axes.Chunk](nopCloser{bytes.NewReader(raw)}) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, c.Text)
	}
	return texts
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// Two documents, of five sentences that differ.
func meaningDocuments(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{"documents": lines(t,
		axes.Document{ID: "a", Text: "Aaaa aaa. Aaa aaaa. Bbbb bbb."},
		axes.Document{ID: "b", Text: "Bbbb bbb. Cccc cccc. Dddd."},
		axes.Document{ID: "c", Text: "Alone."})}
}

func TestChunkByMeaning_embedsASentenceOnce(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), &letters{}
	docs := meaningDocuments(t)
	run := func(set func(*chunker.SemanticParams)) []string {
		out, err := l.run(t, chunkKindEmbedder, l.byMeaning(t, model, set), docs)
		if err != nil {
			t.Fatal(err)
		}
		return readChunks(t, out["chunks"])
	}
	first := run(func(*chunker.SemanticParams) {})
	if want := []string{"Aaaa aaa.", "Aaa aaaa.", "Bbbb bbb.", "Cccc cccc.", "Dddd."}; !slices.Equal(model.asked, want) {
		t.Fatalf("the model was asked %q, want %q: all documents' sentences, each once", model.asked, want)
	}
	if want := []string{"Aaaa aaa. Aaa aaaa.", "Bbbb bbb.", "Bbbb bbb.", "Cccc cccc.", "Dddd.", "Alone."}; !slices.Equal(first, want) {
		t.Errorf("cut into %q, want %q", first, want)
	}
	if texts, fresh, chunks := l.number(t, "texts"), l.number(t, "new_texts"), l.number(t, "chunks"); texts != 6 || fresh != 5 || chunks != 6 {
		t.Errorf("%v texts, %v of them new, in %v chunks", texts, fresh, chunks)
	}
	model.asked = nil
	other := run(func(p *chunker.SemanticParams) { p.Threshold, p.MinSize, p.MaxSize = 2, 2, 9 })
	if len(model.asked) > 0 {
		t.Errorf("another threshold embeds %q again", model.asked)
	}
	if len(other) >= len(first) {
		t.Errorf("the threshold changed nothing: %q", other)
	}
	// The stage that embeds chunks shares the memory.
	if _, err := l.run(t, embedKind, l.embedWork(model), map[string][]byte{"chunks": chunksOf(t, "Bbbb bbb.", "Alone.")}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Alone."}; !slices.Equal(model.asked, want) {
		t.Errorf("of the chunks %q are embedded, want %q", model.asked, want)
	}
}

// What was embedded before a stage failed is not embedded again.
func TestChunkByMeaning_keepsWhatItHasEmbedded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var text strings.Builder
	for i := range batchTexts + 100 {
		fmt.Fprintf(&text, "Sentence number %d. ", i)
	}
	docs := map[string][]byte{"documents": lines(t, axes.Document{ID: "a", Text: text.String()})}
	model := &breaking{after: 1}
	if _, err := l.run(t, chunkKindEmbedder, l.byMeaning(t, model, func(*chunker.SemanticParams) {}), docs); !errors.Is(err, errModel) {
		t.Fatalf("error %v, want %v", err, errModel)
	}
	sound := &letters{}
	if _, err := l.run(t, chunkKindEmbedder, l.byMeaning(t, sound, func(*chunker.SemanticParams) {}), docs); err != nil {
		t.Fatal(err)
	}
	if len(sound.asked) != 100 {
		t.Errorf("%d sentences are embedded again, want the 100 that were left", len(sound.asked))
	}
}

// breaking fails after some batches.
type breaking struct {
	letters
	after int
}

func (b *breaking) EmbedPassages(ctx context.Context, texts []string, progress func(int)) ([][]float32, embedder.Stats, error) {
	if b.after == 0 {
		return nil, embedder.Stats{}, errModel
	}
	b.after--
	return b.letters.EmbedPassages(ctx, texts, progress)
}

func TestChunkByMeaning_tellsHowMuchIsNew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	forecast := func() engine.Forecast {
		g := engine.NewGraph()
		s := g.Add(&engine.Stage{
			Address: "chunk[test]", Kind: chunkKindEmbedder, Needs: engine.Resources{CPU: 1},
			Work: l.byMeaning(t, &letters{}, func(*chunker.SemanticParams) {}),
			Fields: []engine.Field{
				{Class: engine.Params, Path: "nonce", Value: "forecast"},
			},
			Inputs: []engine.Input{{Name: "documents", From: constant(g, "documents", meaningDocuments(t)["documents"]), Output: "out"}},
		})
		planner := &engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger(), SimulateBytes: 1 << 20}
		plan, err := planner.Plan(t.Context(), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := plan.Stages[s.Index()].Forecast
		if f == nil {
			t.Fatal("there is no forecast")
		}
		return *f
	}
	// The source must have run for its documents to be known.
	if _, err := l.run(t, embedKind, l.embedWork(&letters{}), map[string][]byte{
		"chunks": chunksOf(t, "Cccc cccc."), "documents": meaningDocuments(t)["documents"],
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := forecast(), (engine.Forecast{Total: 6, New: 5, Unit: "texts"}); got != want {
		t.Errorf("forecast %+v, want %+v", got, want)
	}
	if _, err := l.run(t, chunkKindEmbedder, l.byMeaning(t, &letters{}, func(*chunker.SemanticParams) {}), meaningDocuments(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := forecast(), (engine.Forecast{Total: 6, Unit: "texts"}); got != want {
		t.Errorf("forecast %+v, want %+v", got, want)
	}
}

func TestSameChunks_toleratesFewMovedCuts(t *testing.T) {
	t.Parallel()
	cuts := func(n, moved int) []byte {
		var chunks []axes.Chunk
		for i := range n {
			c := axes.Chunk{Doc: "d", N: i, Start: 10 * i, End: 10 * (i + 1), Text: "x"}
			if i < moved {
				c.End--
			}
			chunks = append(chunks, c)
		}
		return lines(t, chunks...)
	}
	for _, tc := range []struct {
		again []byte
		same  bool
	}{{cuts(40, 0), true}, {cuts(40, 2), true}, {cuts(40, 3), false}, {cuts(20, 0), false}, {cuts(80, 0), false}} {
		err := sameChunks("chunks", bytes.NewReader(cuts(40, 0)), bytes.NewReader(tc.again))
		if (err == nil) != tc.same {
			t.Errorf("same %v, error %v", tc.same, err)
		}
	}
}

// A shard of which sentences were remembered costs what embedding all would have.
func TestCost_ofChunksByMeaning(t *testing.T) {
	t.Parallel()
	measured := func(values map[string]float64) *measurement {
		m := &measurement{values: map[string]json.RawMessage{"space": json.RawMessage(`"s"`)}, wall: 3}
		for name, v := range values {
			m.values[name] = json.RawMessage(fmt.Sprint(v))
		}
		return m
	}
	s := &engine.Stage{Kind: chunkKindEmbedder}
	c := &collector{p: &Pipeline{Graph: engine.NewGraph()}, measured: map[*engine.Stage]*measurement{}, rates: map[string]*float64{}}
	for _, tc := range []struct {
		name   string
		values map[string]float64
		want   float64
	}{
		{"all new", map[string]float64{"embed_tokens": 100, "new_tokens": 100, "embed_seconds": 2}, 3},
		{"half new", map[string]float64{"embed_tokens": 100, "new_tokens": 50, "embed_seconds": 2}, 1 + 100*2.0/50},
	} {
		c.measured[s] = measured(tc.values)
		if got := c.cost(s); got == nil || *got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	c.measured[s] = measured(map[string]float64{"embed_tokens": 100, "new_tokens": 0, "embed_seconds": 0})
	if got := c.cost(s); got != nil {
		t.Errorf("nothing new, and nowhere else: %v, want unknown", *got)
	}
}
