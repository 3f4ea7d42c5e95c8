package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/cache"
	"raglab/engine"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// tablesOf is the residence that a database is.
type tablesOf struct{ db *pg.DB }

func (t tablesOf) Whole(ctx context.Context, keys []cache.Key) (map[cache.Key]string, error) {
	find := t.db.All
	if keys != nil {
		var texts []string
		for _, k := range keys {
			texts = append(texts, k.String())
		}
		find = func(ctx context.Context) (map[string]pg.Found, error) { return t.db.Exists(ctx, texts) }
	}
	found, err := find(ctx)
	if err != nil {
		return nil, err
	}
	whole := map[cache.Key]string{}
	for text, f := range found {
		k, err := cache.ParseKey(text)
		if err != nil {
			return nil, err
		}
		whole[k] = f.Problem
	}
	return whole, nil
}

func (t tablesOf) Remove(ctx context.Context, k cache.Key) error {
	return t.db.Drop(ctx, []string{k.String()})
}

// leafOf makes a leaf of a kind, with parameters as set changes them.
func leafOf(t *testing.T, db *pg.DB, name string, set func(params any)) retriever.Leaf {
	t.Helper()
	kind, ok := axes.Find(retriever.Leaves, name)
	if !ok {
		t.Fatalf("there is no kind %s", name)
	}
	params := kind.Params()
	set(params)
	leaf, err := kind.New(params, axes.Env{Threads: 2, Postgres: func(context.Context) (*pg.DB, error) { return db, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func asItIs(any) {}

// inPlane is a corpus of random vectors of length 1 in the plane, with a text for
// each, and questions.
type inPlane struct {
	t *testing.T
	g *engine.Graph

	build, ask []engine.Input
}

func newInPlane(t *testing.T, chunks, questions int) *inPlane {
	t.Helper()
	c := &inPlane{t: t, g: engine.NewGraph()}
	r := rand.New(rand.NewPCG(1, 2))
	vectors := func(n int) [][]float32 {
		rows := make([][]float32, n)
		for i := range rows {
			rows[i] = unit(360 * r.Float64())
		}
		return rows
	}
	var docs []axes.Chunk
	for i := range chunks {
		docs = append(docs, axes.Chunk{Doc: "d", N: i, Text: fmt.Sprintf("chunk %d of %d", i, i%7)})
	}
	var asked []queryLine
	for i := range questions {
		asked = append(asked, queryLine{fmt.Sprint("q", i), fmt.Sprint(i)})
	}
	asked[0].Text = " "
	c.build = []engine.Input{
		c.constant("order", plainLines(t, "d")), c.constant("chunks-000", lines(t, docs...)), c.constant("vectors-000", npy(t, vectors(chunks))),
	}
	c.ask = []engine.Input{c.constant("queries", plainLines(t, asked...)), c.constant("query_vectors", npy(t, vectors(questions)))}
	return c
}

func (c *inPlane) constant(name string, b []byte) engine.Input {
	return engine.Input{Name: name, From: constant(c.g, name, b), Output: "out"}
}

// add adds the index and the search of a leaf.
func (c *inPlane) add(name string, leaf retriever.Leaf, analyzer text.Analyzer, tables engine.Residence) (index, search *engine.Stage) {
	index = c.g.Add(&engine.Stage{
		Address: address("index", name), Kind: indexKindPure, Work: indexWork{leaf, analyzer, shardRange{0, 1, 1}}, Needs: engine.Resources{CPU: 1},
		Inputs: c.build, Residence: tables, Fields: []engine.Field{{Class: engine.Params, Path: "leaf", Value: name}},
	})
	search = c.g.Add(&engine.Stage{
		Address: address("search", name), Kind: searchKindPure, Work: searchWork{leaf, analyzer, 20}, Needs: engine.Resources{CPU: 1},
		Fields: []engine.Field{{Class: engine.Params, Path: "leaf", Value: name}},
		Inputs: append(c.ask[:len(c.ask):len(c.ask)],
			engine.Input{Name: "index", From: index, Output: "index"}, engine.Input{Name: "chunks", From: index, Output: "chunks"}),
	})
	return index, search
}

func input(name string, from *engine.Stage, output string) engine.Input {
	return engine.Input{Name: name, From: from, Output: output}
}

// The stages over a real Postgres: tables under the stages' keys, measured, held
// against exact search, and made again when the database was emptied.
func TestPostgres_indexSearchCompare(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	tables := tablesOf{db}
	l, c := newLab(t), newInPlane(t, 3000, 40)
	ann, annSearch := c.add("ann", leafOf(t, db, "pgvector", func(params any) {
		p := params.(*retriever.PGVectorParams)
		p.Index, p.Lists, p.Probes = "ivfflat", 20, 1 // which misses what lies across a border
	}), nil, tables)
	exact, exactSearch := c.add("exact", exactLeaf(t), nil, nil)
	lexical, lexicalSearch := c.add("lexical", leafOf(t, db, "tsvector", asItIs), words{}, tables)
	compare := c.g.Add(&engine.Stage{
		Address: "ann_recall[ann]", Kind: annRecallKind, Needs: engine.Resources{CPU: 1},
		Work: annRecallWork{exact: exactLeaf(t), distance: "cosine", cutoffs: []int{10, 20}, depth: 20, shards: 1},
		Inputs: append(c.ask[:len(c.ask):len(c.ask)],
			input("run", annSearch, "run"), input("exact_run", exactSearch, "run"), input("index", exact, "index"), c.build[2]),
	})
	out := l.apply(t, c.g, nothing)
	if err := out.Err(); err != nil {
		t.Fatal(err)
	}
	blob, _ := out.Output(compare, "ann_recall")
	raw, err := l.store.ReadAll(t.Context(), blob.Digest)
	if err != nil {
		t.Fatal(err)
	}
	recall, err := ReadANNRecall(raw)
	if err != nil || recall.Questions != 40 || len(recall.At) != 2 || recall.At[1].Mean < 0.5 || recall.At[1].Mean >= 1 || recall.At[1].P5 >= recall.At[1].Mean {
		t.Errorf("ann_recall %+v, %v", recall, err)
	}
	for _, s := range []*engine.Stage{ann, lexical} {
		m := l.measurement(t, out, s)
		for _, name := range []string{"index_bytes", "heap_bytes", "copy_seconds", "build_seconds"} {
			if v, ok := m.number(name); !ok || v <= 0 {
				t.Errorf("%s: %s is %v", s.Address, name, v)
			}
		}
		if !strings.Contains(string(m.values["server"]), "pgvector") {
			t.Errorf("%s: server %s", s.Address, m.values["server"])
		}
	}
	if m := l.measurement(t, out, lexicalSearch); string(m.values["empty_questions"]) != "1" {
		t.Errorf("%s questions left no term, want 1", m.values["empty_questions"])
	}
	keys := []string{out.Keys[ann.Index()].String()}
	if err := db.Drop(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	name, err := db.Table(out.Keys[lexical.Index()].String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool().Exec(t.Context(), "truncate "+name.Sanitize()); err != nil {
		t.Fatal(err)
	}
	plan, err := (&engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}).Plan(t.Context(), c.g, nil)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*engine.Stage]string{ann: "result missing: the table is gone", lexical: "result missing: its table was emptied", exact: ""} {
		if got := plan.Stages[s.Index()].Reason.String(); got != want {
			t.Errorf("%s: %q, want %q", s.Address, got, want)
		}
	}
	again := l.apply(t, c.g, nothing)
	if err := again.Err(); err != nil || again.Executed != 2 {
		t.Errorf("%d stages ran: %v; want the two indexes", again.Executed, err)
	}
	if again.Keys[annSearch.Index()] != out.Keys[annSearch.Index()] {
		t.Error("an index that was built again gave the search another key")
	}
}

// A table that is dropped after the plan is found missing by the search itself.
func TestPostgres_droppedBeforeTheSearch(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	for _, how := range []string{"drop table %s", "truncate %s"} {
		for _, kind := range []string{"pgvector", "tsvector"} {
			t.Run(how+" "+kind, func(t *testing.T) {
				var analyzer text.Analyzer
				if kind == "tsvector" {
					analyzer = words{}
				}
				l := newLab(t)
				first := newInPlane(t, 300, 3)
				index, _ := first.add(kind, leafOf(t, db, kind, asItIs), analyzer, tablesOf{db})
				out := l.apply(t, first.g, nothing)
				if err := out.Err(); err != nil {
					t.Fatal(err)
				}
				second := newInPlane(t, 300, 5)
				indexAgain, search := second.add(kind, leafOf(t, db, kind, asItIs), analyzer, tablesOf{db})
				key := out.Keys[index.Index()]
				out = l.apply(t, second.g, func() {
					name, err := db.Table(key.String())
					if err == nil {
						_, err = db.Pool().Exec(t.Context(), fmt.Sprintf(how, name.Sanitize()))
					}
					if err != nil {
						t.Fatal(err)
					}
				})
				if err := out.Err(); err != nil || out.State[search.Index()] != engine.StateDone || out.Wall[indexAgain.Index()] == 0 {
					t.Errorf("%v; the search is %s", err, out.State[search.Index()])
				}
				if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "is lost and will be made again: its table was ") {
					t.Errorf("warnings %q", l.warnings)
				}
			})
		}
	}
}
