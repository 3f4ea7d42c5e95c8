package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/spec"
)

// fewWords makes texts that score the same often.
func fewWords(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%d ", r.IntN(12))
	}
	return b.String()
}

// madeCorpus is a corpus of documents that are cut into chunks, as stages read it.
type madeCorpus struct {
	sharding
	order   []string
	chunks  [][]axes.Chunk // by shard
	vectors [][]float32    // by shard, of dim numbers each
}

const madeDim = 3

// makeCorpus draws documents of up to four chunks; some of which share passages.
func makeCorpus(r *rand.Rand, s sharding, documents int) madeCorpus {
	c := madeCorpus{sharding: s, chunks: make([][]axes.Chunk, s.shards), vectors: make([][]float32, s.shards)}
	for i := range documents {
		id := fmt.Sprintf("d %d", i*7919)
		c.order = append(c.order, id)
		shard := shardOf(id, s.shards)
		first := 0
		for n := range r.IntN(5) {
			chunk := axes.Chunk{Doc: id, N: n, Text: fewWords(r, r.IntN(9))}
			if n == 0 || r.IntN(2) == 0 {
				first = n
			}
			if i%3 == 0 {
				chunk.Around = &axes.Passage{First: first}
			}
			c.chunks[shard] = append(c.chunks[shard], chunk)
			for range madeDim {
				c.vectors[shard] = append(c.vectors[shard], float32(r.IntN(5)-2))
			}
		}
	}
	return c
}

// inputs are what an index over some shards reads.
func (c madeCorpus) inputs(t *testing.T, shards shardRange, order []string) map[string][]byte {
	t.Helper()
	in := map[string][]byte{"order": plainLines(t, order...)}
	for i := range shards.n {
		s := shards.first + i
		in[shardName("chunks", i)] = lines(t, c.chunks[s]...)
		var b bytes.Buffer
		if err := artifact.WriteMatrix(&b, artifact.Matrix{Rows: len(c.chunks[s]), Dim: madeDim, Data: c.vectors[s]}); err != nil {
			t.Fatal(err)
		}
		in[shardName("vectors", i)] = b.Bytes()
	}
	return in
}

// leafWith is a leaf of a kind with a function that sets its parameters.
func leafWith(t *testing.T, name string, set func(any)) retriever.Leaf {
	t.Helper()
	kind, ok := axes.Find(retriever.Leaves, name)
	if !ok {
		t.Fatalf("no leaf %s", name)
	}
	p := kind.Params()
	if set != nil {
		set(p)
	}
	l, err := kind.New(p, axes.Env{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func analyzerOf(t *testing.T, name string) text.Analyzer {
	t.Helper()
	kind, _ := axes.Find(text.Kinds, name)
	a, err := kind.New(kind.Params(), axes.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSearch_partsRankAsOnePiece: whatever corpus and however it is cut, the run over
// the parts of an index is the one over an index in one piece, to the last byte: chunks,
// order and scores.
func TestSearch_partsRankAsOnePiece(t *testing.T) {
	t.Parallel()
	leaves := map[string]retriever.Leaf{
		"bm25":  leafWith(t, "bm25", nil),
		"okapi": leafWith(t, "bm25", func(p any) { p.(*retriever.BM25Params).Variant = "okapi" }),
		"exact": leafWith(t, "exact", nil),
	}
	for seed, s := range []sharding{{4, 2}, {8, 8}, {8, 4}, {4, 4}} {
		for name, leaf := range leaves {
			t.Run(fmt.Sprintf("%s/%d of %d", name, s.parts, s.shards), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				c := makeCorpus(r, s, []int{40, 3, 120, 0}[seed])
				var queries []queryLine
				questions := artifact.Matrix{Rows: 12, Dim: madeDim}
				for i := range questions.Rows {
					queries = append(queries, queryLine{fmt.Sprint("q", i), fewWords(r, 1+r.IntN(5))})
					for range madeDim {
						questions.Data = append(questions.Data, float32(r.IntN(5)-2))
					}
				}
				var vectors bytes.Buffer
				if err := artifact.WriteMatrix(&vectors, questions); err != nil {
					t.Fatal(err)
				}
				asked := map[string][]byte{"queries": plainLines(t, queries...), "query_vectors": vectors.Bytes()}
				one, many := c.search(t, leaf, asked, false), c.search(t, leaf, asked, true)
				if !bytes.Equal(one, many) {
					t.Errorf("in one piece\n%s\nin parts\n%s", one, many)
				}
				if len(c.order) > 3 && len(one) == 0 {
					t.Error("nothing is found")
				}
			})
		}
	}
}

// search builds an index in one piece or in parts, and asks it.
func (c madeCorpus) search(t *testing.T, leaf retriever.Leaf, asked map[string][]byte, inParts bool) []byte {
	t.Helper()
	l, analyzer := newLab(t), analyzerOf(t, "simple")
	run := func(kind *engine.Kind, work any, in map[string][]byte) map[string][]byte {
		out, err := l.run(t, kind, work, in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	in := map[string][]byte{}
	for name, b := range asked {
		in[name] = b
	}
	whole := run(indexKindPure, indexWork{leaf, analyzer, c.whole()}, c.inputs(t, c.whole(), c.order))
	if !inParts {
		in["index"], in["chunks"] = whole["index"], whole["chunks"]
		return run(searchKindPure, searchWork{leaf, analyzer, 7}, in)["run"]
	}
	tables := map[string][]byte{"order": plainLines(t, c.order...)}
	for i := range c.parts {
		var order []string
		for _, id := range c.order {
			if c.partOf(id) == i {
				order = append(order, id)
			}
		}
		part := run(indexKindPure, indexWork{leaf, analyzer, c.part(i)}, c.inputs(t, c.part(i), order))
		in[shardName("index", i)], tables[shardName("chunks", i)] = part["index"], part["chunks"]
	}
	joined := run(joinKind, joinWork{c.sharding}, tables)
	if !bytes.Equal(joined["chunks"], whole["chunks"]) {
		t.Errorf("names of chunks in one piece\n%s\nof parts\n%s", whole["chunks"], joined["chunks"])
	}
	in["chunks"], in["ordinals"] = joined["chunks"], joined["ordinals"]
	return run(searchKindPure, searchWork{leaf, analyzer, 7}, in)["run"]
}

func TestJoin_refusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := sharding{2, 2}
	ids := []string{"a", "b", "c", "d", "e", "f"}
	tables := make([]string, 2)
	for _, id := range ids {
		tables[s.partOf(id)] += id + " 2\n"
	}
	for name, change := range map[string]func(in map[string][]byte){
		"a part without its last document": func(in map[string][]byte) {
			b := in["chunks-000"]
			in["chunks-000"] = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		},
		"a document too many": func(in map[string][]byte) { in["chunks-001"] = append(in["chunks-001"], "z 1\n"...) },
		"parts that are swapped": func(in map[string][]byte) {
			in["chunks-000"], in["chunks-001"] = in["chunks-001"], in["chunks-000"]
		},
		"a line that is none": func(in map[string][]byte) { in["chunks-000"] = []byte("a\n") },
	} {
		in := map[string][]byte{"order": plainLines(t, ids...), "chunks-000": []byte(tables[0]), "chunks-001": []byte(tables[1])}
		change(in)
		if out, err := newLab(t).run(t, joinKind, joinWork{s}, in); err == nil {
			t.Errorf("%s: joined to %q", name, out["chunks"])
		}
	}
}

func TestAscending_givesBackWhatItWasGiven(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for _, most := range []uint32{1, 40, 1 << 20} {
		var a ascending
		var want []uint32
		for v := r.Uint32N(most); len(want) < 1000; v += 1 + r.Uint32N(most) {
			a.add(v)
			want = append(want, v)
		}
		if got := slices.Collect(a.all); a.n != len(want) || !slices.Equal(got, want) {
			t.Errorf("steps of up to %d: %d numbers, want %d, or others", most, len(got), len(want))
		}
		if most <= 40 && len(a.steps) != len(want) {
			t.Errorf("%d numbers close together take %d bytes", len(want), len(a.steps))
		}
	}
}

func FuzzParseOrdinals(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		parts, err := parseOrdinals(b)
		if err != nil {
			return
		}
		n := 8 + 8*len(parts)
		for _, p := range parts {
			n += 4 * len(p)
		}
		if n != len(b) {
			t.Errorf("%d bytes read of %d", n, len(b))
		}
	})
}

// shelved is a source of given documents.
type shelved struct{ docs []axes.Document }

func (shelved) Inputs(context.Context) ([]string, error) { return nil, nil }

func (l shelved) Documents(context.Context) iter.Seq2[axes.Document, error] {
	return func(yield func(axes.Document, error) bool) {
		for _, d := range l.docs {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// TestFetch_dealsManyShardsAsFew: the shards of a corpus that is dealt out in two
// passes are those that one pass writes, and the orders of the parts make up that of
// the whole.
func TestFetch_dealsManyShardsAsFew(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	var source shelved
	for i := range 700 {
		source.docs = append(source.docs, axes.Document{ID: fmt.Sprintf("<%d>", i), Title: "ї & \n", Text: strings.Repeat(fewWords(r, 40), r.IntN(60))})
	}
	for _, s := range []sharding{{4, 2}, {32, 4}, {64, 1}, {256, 8}} {
		l := newLab(t)
		two, err := l.run(t, fetchKind(s, true), fetchWork{source: source, sharding: s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		one := dealt(t, source, s.shards)
		for name, b := range one {
			if !bytes.Equal(b, two[name]) {
				t.Errorf("%d shards: %s has to have %d bytes, and has %d, or others", s.shards, name, len(b), len(two[name]))
			}
		}
		orders := map[int][]byte{}
		for _, d := range source.docs {
			orders[s.partOf(d.ID)] = append(orders[s.partOf(d.ID)], plainLines(t, d.ID)...)
		}
		for i := range s.parts {
			if name := shardName("order", i); s.parts > 1 && !bytes.Equal(two[name], orders[i]) {
				t.Errorf("%s is %q, want %q", name, two[name], orders[i])
			}
		}
	}
}

// dealt are the outputs of a fetch as they have to be: plain lines of each shard, packed.
func dealt(t *testing.T, source shelved, shards int) map[string][]byte {
	t.Helper()
	docs, order := make([][]axes.Document, shards), []string{}
	for _, d := range source.docs {
		at := shardOf(d.ID, shards)
		docs[at], order = append(docs[at], d), append(order, d.ID)
	}
	out := map[string][]byte{"order": plainLines(t, order...)}
	for i, d := range docs {
		out[shardName("documents", i)] = lines(t, d...)
	}
	return out
}

const meadowSpec = `experiment "e" {}
corpus "jsonl" { path = "docs.jsonl" }
golden {
  queries   = "queries.jsonl"
  qrels     = "qrels.tsv"
  relevance = "document"
}
axis "chunker" {
  option "sentence" { max_tokens = 8 }
  option "parent" {}
}
axis "text" { use = ["simple", "prefix"] }
axis "retriever" {
  option "bm25" {}
  option "okapi" {
    kind    = "bm25"
    variant = "okapi"
  }
  option "rrf" { legs = ["bm25", "okapi"] }
}
score {
  depth   = 9
  metrics = ["recall@5", "ndcg@9"]
  primary = "ndcg@9"
}
`

// meadow applies the spec to a made corpus that is cut as told, and returns of each
// configuration its run, its scores and where it lost questions.
func meadow(t *testing.T, dir string, s sharding) map[string]string {
	t.Helper()
	l := newLab(t)
	exp, diags := spec.LoadSources(dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(meadowSpec)}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 2, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Memo: l.store.Memo, Log: hclog.NewNullLogger(),
		cut: func(int64) sharding { return s },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), p.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.executor().Apply(t.Context(), plan)
	if err = cmp.Or(err, out.Err()); err != nil {
		t.Fatal(err)
	}
	r, err := p.Report(t.Context(), l.store, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if indexes := len(r.Ingest); indexes != 4 {
		t.Errorf("the report tells the costs of %d indexes", indexes)
	}
	found := map[string]string{}
	for i, row := range p.Rows {
		run, _ := out.Output(row.Run, "run")
		chunks, _ := out.Output(row.Indexes[0], "chunks")
		c := r.Configurations[i]
		losses, err := json.Marshal(c.Losses)
		if err != nil {
			t.Fatal(err)
		}
		if c.IndexBytes == nil || *c.IndexBytes == 0 {
			t.Errorf("%s: the index's size is not known", c.Name)
		}
		found[c.Name] = fmt.Sprintln(run.Digest, chunks.Digest, c.Values, string(losses), r.Ingest[0].Chunks, r.Ingest[0].Name)
	}
	return found
}

// TestBuild_partsGiveTheSameTables runs one experiment over a corpus in one part and in
// several.
func TestBuild_partsGiveTheSameTables(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(8, 8))
	var docs, queries, qrels bytes.Buffer
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range 90 {
		var sentences []string
		for range r.IntN(6) {
			sentences = append(sentences, "A "+strings.TrimSpace(fewWords(r, 1+r.IntN(7)))+".")
		}
		fmt.Fprintf(&docs, "{\"_id\":\"d%d\",\"title\":\"t\",\"text\":%q}\n", i, strings.Join(sentences, " "))
		if i%4 == 0 {
			fmt.Fprintf(&queries, "{\"_id\":\"q%d\",\"text\":%q}\n", i, fewWords(r, 1+r.IntN(3)))
			fmt.Fprintf(&qrels, "q%d\td%d\t1\n", i, i)
		}
	}
	for name, b := range map[string]*bytes.Buffer{"docs.jsonl": &docs, "queries.jsonl": &queries, "qrels.tsv": &qrels} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, many := meadow(t, dir, sharding{8, 1}), meadow(t, dir, sharding{8, 4})
	for name, want := range one {
		if many[name] != want {
			t.Errorf("%s: in one part\n%sin four\n%s", name, want, many[name])
		}
	}
	if len(one) != 12 || len(many) != len(one) {
		t.Errorf("%d and %d configurations", len(one), len(many))
	}
}
