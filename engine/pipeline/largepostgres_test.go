package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"raglab/engine"
	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/spec"
)

const tablesSpec = `experiment "e" {}
corpus "jsonl" { path = "docs.jsonl" }
golden {
  queries   = "queries.jsonl"
  qrels     = "qrels.tsv"
  relevance = "document"
}
fixed "chunker" {
  option "sentence" { max_tokens = 8 }
}
fixed "embedder" {
  option "hash" {
    kind   = "openai"
    url    = "%s"
    server = "hash"
  }
}
axis "retriever" {
  option "exact" {}
  option "half" {
    kind      = "exact"
    precision = "half"
  }
  option "flat" {
    kind  = "pgvector"
    index = "exact"
  }
  option "flat_half" {
    kind  = "pgvector"
    index = "exact"
    type  = "halfvec"
  }
  option "graph" { kind = "pgvector" }
  option "words" { kind = "tsvector" }
}
score {
  depth   = %d
  metrics = ["ndcg@5"]
}
`

// hashes is a server of embeddings: of eight numbers, of a hash of the text.
func hashes(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type embedding struct {
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		}
		var data []embedding
		for i, s := range asked.Input {
			e := embedding{Index: i}
			sum := sha256.Sum256([]byte(s))
			for _, b := range sum[:8] {
				e.Embedding = append(e.Embedding, float64(b)-127.5)
			}
			data = append(data, e)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// cutInTables is an experiment whose indexes live in a database, over a corpus that is
// cut as told.
type cutInTables struct {
	*lab
	db       *pg.DB
	dir, url string
	cut      sharding
}

func (c cutInTables) build(t *testing.T, depth int) *Pipeline {
	t.Helper()
	text := fmt.Sprintf(tablesSpec, c.url, depth)
	exp, diags := spec.LoadSources(c.dir, []spec.Source{{Name: "e.hcl", Bytes: []byte(text)}}, spec.LoadOptions{Catalog: Catalog{}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := Build(t.Context(), exp, exp.Cross().Configurations, Env{
		Threads: 2, Assets: noAssets{}, Fingerprints: ParseFingerprints(nil), Memo: c.store.Memo, Log: hclog.NewNullLogger(),
		Postgres: func(context.Context) (*pg.DB, error) { return c.db, nil }, Tables: tablesOf{c.db},
		cut: func(int64) sharding { return c.cut },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// writeMade writes a corpus of few words, so that many chunks are alike.
func writeMade(t *testing.T, dir string) {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	var docs, queries, qrels bytes.Buffer
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range 70 {
		var sentences []string
		for range r.IntN(5) {
			sentences = append(sentences, "A "+strings.TrimSpace(fewWords(r, 1+r.IntN(6)))+".")
		}
		fmt.Fprintf(&docs, "{\"_id\":\"d%d\",\"title\":\"t\",\"text\":%q}\n", i, strings.Join(sentences, " "))
		if i%5 == 0 {
			fmt.Fprintf(&queries, "{\"_id\":\"q%d\",\"text\":%q}\n", i, fewWords(r, 1+r.IntN(3)))
			fmt.Fprintf(&qrels, "q%d\td%d\t1\n", i, i)
		}
	}
	for name, b := range map[string]*bytes.Buffer{"docs.jsonl": &docs, "queries.jsonl": &queries, "qrels.tsv": &qrels} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runs returns the digests of the rankings, by the retriever's label.
func runs(t *testing.T, p *Pipeline, out *engine.Outcomes) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, row := range p.Rows {
		run, _ := out.Output(row.Run, "run")
		found[row.Configuration.Label(slotRetriever)] = run.Digest.String()
	}
	return found
}

// TestParts_inPostgres runs one experiment over a corpus in one part and in four, each
// a table of its own: where nothing approximates, rankings are the same to the byte, and
// a table that somebody drops is the only one that is made again.
func TestParts_inPostgres(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), hashes(t)
	writeMade(t, dir)
	found := map[int]map[string]string{}
	for _, parts := range []int{1, 4} {
		c := cutInTables{newLab(t), pgtest.Connect(t), dir, url, sharding{8, parts}}
		p := c.build(t, 7)
		out := c.apply(t, p.Graph, nothing)
		if err := out.Err(); err != nil {
			t.Fatal(err)
		}
		found[parts] = runs(t, p, out)
		tables, err := c.db.List(t.Context())
		if err != nil || len(tables) != 4*parts {
			t.Errorf("%d tables for %d parts: %v", len(tables), parts, err)
		}
		r, err := p.Report(t.Context(), c.store, out, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, conf := range r.Configurations {
			label := conf.Options[slotRetriever]
			approximate, rounded := slices.Contains([]string{"half", "flat_half", "graph"}, label), strings.Contains(label, "half")
			if conf.Approximate != approximate || (len(conf.ANNRecall) > 0) != approximate || conf.Rounded != rounded || (conf.ScoreDifference != nil) != rounded {
				t.Errorf("%d parts, %s: approximate %v, %v, rounded %v, %v", parts, label, conf.Approximate, conf.ANNRecall, conf.Rounded, conf.ScoreDifference)
			}
		}
		if parts > 1 {
			c.dropThird(t, p, out)
		}
	}
	for _, label := range []string{"exact", "half", "flat", "flat_half", "words"} {
		if one, four := found[1][label], found[4][label]; one == "" || one != four {
			t.Errorf("%s: %s in one part, %s in four", label, one, four)
		}
	}
}

// dropThird drops the third part's table of each index once another depth is planned.
func (c cutInTables) dropThird(t *testing.T, first *Pipeline, made *engine.Outcomes) {
	t.Helper()
	var sql, want, got []string
	for _, s := range first.Graph.Stages {
		if s.Kind.Name == "index" && s.Residence != nil && strings.HasSuffix(s.Address, "#002") {
			name, err := c.db.Table(made.Keys[s.Index()].String())
			if err != nil {
				t.Fatal(err)
			}
			sql, want = append(sql, "drop table "+name.Sanitize()), append(want, s.Address)
		}
	}
	p := c.build(t, 6)
	out := c.apply(t, p.Graph, func() {
		if _, err := c.db.Pool().Exec(t.Context(), strings.Join(sql, ";")); err != nil {
			t.Fatal(err)
		}
	})
	if err := out.Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Graph.Stages {
		if s.Kind.Name == "index" && out.Wall[s.Index()] > 0 {
			got = append(got, s.Address)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("%q were made again, %q had been dropped", got, want)
	}
}
