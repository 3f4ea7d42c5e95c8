package retriever

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"raglab/axes"
	"raglab/internal/param"
)

// fields is an analyzer that splits at blanks.
type fields struct{}

func (fields) Terms(s string, emit func([]byte)) {
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }) {
		emit([]byte(f))
	}
}

func newTextLeaf(tb testing.TB, env axes.Env, set func(*TSVectorParams)) *texts {
	tb.Helper()
	var p TSVectorParams
	param.SetDefaults(&p)
	if set != nil {
		set(&p)
	}
	l, err := tsVector.New(&p, env)
	if err != nil {
		tb.Fatal(err)
	}
	return l.(*texts)
}

// plainTexts are of few words, so that there are many ties.
func plainTexts(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([]string, n)
	for i := range all {
		for range r.IntN(40) {
			u := r.Float64()
			all[i] += fmt.Sprintf("w%d ", int(50*u*u))
		}
	}
	return all
}

// TestTSVector_ranksAsPostgresAlone compares with Postgres's own parser over words
// that it leaves as they are, for both ranks and all flags.
func TestTSVector_ranksAsPostgresAlone(t *testing.T) {
	t.Parallel()
	env, c := connected(t), &memory{texts: plainTexts(1, 300)}
	db, err := env.Postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	questions := []string{"w0", "w3 w7", "w1 w1 w49 w2", "unheard w12", "unheard", "w5 w6 w7 w8 w9 w10 w11"}
	for _, rank := range []string{"ts_rank_cd", "ts_rank"} {
		for _, normalization := range []int{0, 1, 2, 4, 8, 16, 32, 63} {
			s, _ := buildAndOpen(t, newTextLeaf(t, env, func(p *TSVectorParams) { p.Rank, p.Normalization = rank, normalization }), "words", c, fields{})
			for _, q := range questions {
				asked := strings.Join(slices.Compact(slices.Sorted(slices.Values(strings.Fields(q)))), " | ")
				rows, err := db.Pool().Query(t.Context(), fmt.Sprintf(`
					select (ordinality - 1)::int, %s(v, q, %d)::float8
					from unnest($1::text[]) with ordinality, to_tsquery('simple', $2) q, to_tsvector('simple', unnest) v
					where v @@ q order by 2 desc, 1 limit 20`, rank, normalization), c.texts, asked)
				if err != nil {
					t.Fatal(err)
				}
				want, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h axes.Hit, err error) {
					var ordinal int32
					err = row.Scan(&ordinal, &h.Score)
					h.Ordinal = uint32(ordinal)
					return h, err
				})
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.Search(t.Context(), axes.Query{Text: q}, 20, []axes.Hit{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(append([]axes.Hit{}, want...), got); diff != "" {
					t.Fatalf("%s with %d of %q (-Postgres +raglab):\n%s", rank, normalization, q, diff)
				}
			}
		}
	}
}

func TestTSVector_questionsWithoutTerms(t *testing.T) {
	t.Parallel()
	s, _ := buildAndOpen(t, newTextLeaf(t, connected(t), nil), "blank", &memory{texts: []string{"a b", "", "c"}}, fields{})
	for q, blank := range map[string]bool{"": true, "  ": true, strings.Repeat("x", 2047): true, "a": false, "z": false} {
		if got := s.(Blanker).Blank(axes.Query{Text: q}); got != blank {
			t.Errorf("%.9q: blank is %v", q, got)
		}
		hits, err := s.Search(t.Context(), axes.Query{Text: q}, 5, nil)
		if err != nil || len(hits) > 0 != (q == "a") {
			t.Errorf("%.9q: %v, %v", q, hits, err)
		}
	}
}

// TestTSVector_longQuestion asks for many terms, and for more than Postgres has
// memory to rank by.
func TestTSVector_longQuestion(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 50_000 {
		words = append(words, fmt.Sprint("w", i))
	}
	env := connected(t)
	c := &memory{texts: []string{"w7 w7", "none", words[499]}}
	for rank, n := range map[string]int{"ts_rank_cd": 500, "ts_rank": len(words)} {
		for _, index := range []string{"gin", "none"} {
			s, _ := buildAndOpen(t, newTextLeaf(t, env, func(p *TSVectorParams) { p.Index, p.Rank = index, rank }), index, c, fields{})
			hits, err := s.Search(t.Context(), axes.Query{Text: strings.Join(words[:n], " ")}, 5, nil)
			if err != nil || len(hits) != 2 || hits[0].Ordinal != 0 || hits[1].Ordinal != 2 {
				t.Errorf("%s, %s: %v, %v", rank, index, hits, err)
			}
		}
	}
	s, _ := buildAndOpen(t, newTextLeaf(t, env, nil), "gin", c, fields{})
	tooMany := axes.Query{Text: strings.Join(words[:mostRanked+1], " ")}
	_, err := s.Search(t.Context(), tooMany, 5, nil)
	if err == nil || !strings.Contains(err.Error(), `set rank = "ts_rank"`) {
		t.Errorf("more terms than can be ranked by: %v", err)
	}
	// It is the server that could not.
	ts := s.(*textSearcher)
	query, _ := ts.query(tooMany)
	if _, err := ts.table.search(t.Context(), nil, "", "", ts.statement, query, 5); err == nil || !strings.Contains(err.Error(), "invalid memory alloc request size") {
		t.Errorf("the server can rank by %d terms: %v", mostRanked+1, err)
	}
}

func TestTSVector_measures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2047)
	c := &memory{texts: append(plainTexts(2, 500), long+" a "+long)}
	for _, index := range []string{"gin", "none"} {
		_, m := buildAndOpen(t, newTextLeaf(t, connected(t), func(p *TSVectorParams) { p.Index = index }), index, c, fields{})
		if m.Dropped != 2 || m.Normalise <= 0 || m.Copy <= 0 || (m.Index > 0) != (index == "gin") || (m.IndexBytes > 0) != (index == "gin") {
			t.Errorf("%s: %+v", index, m)
		}
	}
}

func TestTSVector_refusesTooLongAChunk(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	env := connected(t)
	_, err := newTextLeaf(t, env, nil).BuildAs(t.Context(), keyOf("big"), &memory{texts: []string{"a", b.String()}}, fields{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "chunk 1: its terms take") || !strings.Contains(err.Error(), "chunker") {
		t.Errorf("%v", err)
	}
	db, _ := env.Postgres(t.Context())
	if found, err := db.Exists(t.Context(), []string{keyOf("big")}); err != nil || len(found) > 0 {
		t.Errorf("left %v, %v", found, err)
	}
}

// failing is a corpus that cannot be read to its end, or that ends too early.
type failing struct {
	memory
	err error
}

func (c *failing) Len() int { return 3 }
func (c *failing) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if yield("a", nil) && c.err != nil {
			yield("", c.err)
		}
	}
}

func TestTSVector_brokenCorpus(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	env := connected(t)
	_, err := newTextLeaf(t, env, nil).BuildAs(t.Context(), keyOf("a"), &failing{err: boom}, fields{}, io.Discard)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "read chunk 1") {
		t.Errorf("%v", err)
	}
	_, err = newTextLeaf(t, env, nil).BuildAs(t.Context(), keyOf("b"), &failing{}, fields{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "has 3 chunks but gave 1") {
		t.Errorf("%v", err)
	}
}

// onePass is a corpus that must be read before it is asked how large it is.
type onePass struct {
	memory
	t      *testing.T
	passes int
}

func (c *onePass) Len() int {
	if c.passes == 0 {
		c.t.Error("the chunks are counted, which takes a pass, before they are read")
	}
	return c.memory.Len()
}

func (c *onePass) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for s, err := range c.memory.Texts() {
			if !yield(s, err) {
				return
			}
		}
		c.passes++
	}
}

func TestTSVector_readsTheCorpusOnce(t *testing.T) {
	t.Parallel()
	c := &onePass{memory: memory{texts: []string{"a b", "c"}}, t: t}
	m, err := newTextLeaf(t, connected(t), nil).BuildAs(t.Context(), keyOf("once"), c, fields{}, io.Discard)
	if err != nil || !m.Built || c.passes != 1 {
		t.Errorf("%d passes, %+v, %v", c.passes, m, err)
	}
}
