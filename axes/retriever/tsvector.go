package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
	"raglab/internal/pg"
)

// The values of the parameters of tsvector.
const (
	indexGIN             = "gin"
	rankCover, rankCount = "ts_rank_cd", "ts_rank"
)

// mostRanked is for how many terms ts_rank_cd gets memory: it takes 32,776 bytes for
// each term and each operator between them, at once, and Postgres gives at most
// 2^30 - 1 (QueryRepresentation in tsrank.c, MaxAllocSize).
const mostRanked = ((1<<30-1)/32776 + 1) / 2

// TSVectorParams are the parameters of the kind tsvector.
type TSVectorParams struct {
	Index         string `hcl:"index" default:"gin" enum:"gin|none" doc:"gin is an index from terms to chunks; none reads all chunks for each question. The hits are the same."`
	Rank          string `hcl:"rank" at:"search" default:"ts_rank_cd" enum:"ts_rank_cd|ts_rank" doc:"Postgres's function that scores: ts_rank_cd by how dense the terms stand, ts_rank by how often."`
	Normalization int    `hcl:"normalization" at:"search" default:"0" min:"0" max:"63" doc:"How a chunk's length counts: a sum of the flags above."`
}

var tsVector = axes.NeedsOf(axes.Define(axes.Meta{
	Name:    "tsvector",
	Version: "1",
	Summary: "Lexical retrieval by Postgres's full-text search over the text kind's terms.",
	Doc: `The text kind's terms become the lexemes of a tsvector with their positions, as
to_tsvector would with the configuration simple; Postgres's own parser has no part
in it. A question asks for any of its terms, each once, and a chunk that has none of
them is no hit. A question without terms finds nothing.

Scores are those of ts_rank_cd or ts_rank, single precision, with Postgres's default
weights: every term has the weight D, which is 0.1. Of terms that are joined by or,
ts_rank_cd makes a tenth for each occurrence in the chunk, whatever the term: without
normalization long chunks and frequent words come first.

The flags of normalization add up, and each divides the score, in this order: 1 by the
logarithm of 1 + the chunk's length, which is its number of positions; 2 by that
length; 4 by the mean harmonic distance between extents (ts_rank_cd only); 8 by the
number of different terms; 16 by the logarithm of 1 + that number; 32 by the score
itself + 1. Logarithms are to base 2, but that of flag 1 in ts_rank_cd is natural.

The index over a large corpus is built in parts, each a table of its own over some of
the documents, and one statement searches all of them. Scores depend on a chunk and
the question alone, so that rankings are the very ones of a single table.

Postgres's limits hold: terms over 2,046 bytes are left out and counted; of a term
the first 255 positions in a chunk count; positions over 16,383 are that one; and a
chunk whose terms and positions take 1 MB or more is an error. NUL, and bytes that
are no UTF-8, are read as U+FFFD.`,
}, func(p TSVectorParams, env axes.Env) (Leaf, error) {
	return &texts{newInPostgres("tsvector", env), p}, nil
}), needPostgres[TSVectorParams])

// texts is the leaf of the kind tsvector.
type texts struct {
	inPostgres
	params TSVectorParams
}

func (*texts) Uses() Uses { return Uses{Text: true} }

// Settings implements [Resident]: no machine changes what is found.
func (*texts) Settings() map[string]string { return nil }

// terms are the parameters that a table was built with, in its manifest.
type terms struct {
	Index string `json:"index"`
}

// ginMemory is the maintenance_work_mem of the build. It changes how long that
// takes, and nothing else.
const ginMemory = "256MB"

// BuildAs implements [Resident].
func (l *texts) BuildAs(ctx context.Context, key string, corpus Corpus, analyzer text.Analyzer, w io.Writer) (Measures, error) {
	var m Measures
	if err := context.Cause(ctx); err != nil {
		return m, err
	}
	db, err := l.database(ctx)
	if err != nil {
		return m, err
	}
	ix := pg.Index{
		Key: key, Kind: l.kind, Params: terms{l.params.Index},
		Definition: "(id integer not null, lexemes tsvector not null)",
		Settings:   l.settings(),
	}
	err = build(ctx, db, ix, &m, func(ctx context.Context, b *pg.Building) error {
		if err := copyTexts(ctx, b, &m, corpus, analyzer); err != nil {
			return err
		}
		if l.params.Index != indexGIN {
			return nil
		}
		// Nothing is ever added, so that nothing need wait in a pending list.
		return createIndex(ctx, b, &m, fmt.Sprintf("create index %s_gin on %s using gin (lexemes) with (fastupdate = off)", b.Name, b.Table))
	})
	if err != nil {
		return m, err
	}
	// Asked before, the corpus would have to be read once more to count its chunks.
	manifest, err := pgindex.NewManifest(l.kind, key, corpus.Len(), terms{l.params.Index})
	if err != nil {
		return m, err
	}
	return m, manifest.Write(w)
}

// settings are what the server builds with.
func (l *texts) settings() map[string]string {
	if l.params.Index == indexGIN {
		return map[string]string{"maintenance_work_mem": ginMemory}
	}
	return map[string]string{settingSample: smallSample}
}

// copyTexts copies the chunks' terms.
func copyTexts(ctx context.Context, b *pg.Building, m *Measures, corpus Corpus, analyzer text.Analyzer) error {
	next, stop := iter.Pull2(corpus.Texts())
	defer stop()
	var l pgindex.Lexemes
	start, n := time.Now(), 0
	_, err := pgindex.Copy(ctx, b, []string{"id", "lexemes"}, func(buf []byte) ([]byte, error) {
		s, err, more := next()
		switch {
		case !more && n != corpus.Len():
			return buf, fmt.Errorf("the corpus has %d chunks but gave %d", corpus.Len(), n)
		case !more:
			return buf, io.EOF
		case err != nil:
			return buf, fmt.Errorf("read chunk %d: %w", n, err)
		}
		began := time.Now()
		l.Reset()
		analyzer.Terms(s, l.Add)
		m.Normalise += time.Since(began)
		buf, field := pgindex.Begin(pgindex.AppendOrdinal(buf, n))
		if buf, err = l.AppendVector(buf); err != nil {
			return buf, &ChunkError{n, fmt.Errorf("%w: take a chunker that limits the size, such as fixed", err)}
		}
		pgindex.End(buf, field)
		n++
		return buf, nil
	})
	m.Copy, m.Dropped = time.Since(start)-m.Normalise, l.Dropped
	return err
}

// Open implements [Leaf].
func (l *texts) Open(ctx context.Context, r io.Reader, size int64, analyzer text.Analyzer) (Searcher, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m, err := readWhole[terms](l.kind, r, size)
	if err != nil {
		return nil, err
	}
	return l.open(ctx, m, analyzer)
}

// OpenParts implements [Parted]: one statement searches all tables. A score is a
// function of the chunk and the question alone.
func (l *texts) OpenParts(ctx context.Context, parts []Part, analyzer text.Analyzer) (Searcher, error) {
	m, err := readParts[terms](l.kind, parts)
	if err != nil {
		return nil, err
	}
	return l.open(ctx, m, analyzer)
}

func (l *texts) open(ctx context.Context, parts []manifestPart[terms], analyzer text.Analyzer) (Searcher, error) {
	tables, chunks := make([]tablePart, len(parts)), 0
	for i, m := range parts {
		if m.Params.Index != l.params.Index {
			return nil, errors.New("open index: it was built with other parameters")
		}
		tables[i] = tablePart{key: m.Key, ordinals: m.ordinals, rows: m.Chunks}
		chunks += m.Chunks
	}
	t, err := l.openTable(ctx, tables, nil)
	if err != nil {
		return nil, err
	}
	return &textSearcher{
		table: t, leaf: l, analyzer: analyzer, statement: t.cutEach(l.searchStatement), chunks: chunks,
		lexemes: sync.Pool{New: func() any { return new(pgindex.Lexemes) }},
	}, nil
}

// searchStatement returns ordinals and scores for a tsquery and a depth.
func (l *texts) searchStatement(table string) string {
	return fmt.Sprintf("select id, %s(lexemes, $1::tsquery, %d)::float8 as score from %s where lexemes @@ $1::tsquery order by score desc, id limit $2",
		l.params.Rank, l.params.Normalization, table)
}

// textSearcher searches a table of terms.
type textSearcher struct {
	table
	leaf      *texts
	analyzer  text.Analyzer
	statement string
	chunks    int
	lexemes   sync.Pool
}

// query returns the text of a tsquery, and how many terms it asks for.
func (s *textSearcher) query(q axes.Query) (string, int) {
	l := s.lexemes.Get().(*pgindex.Lexemes)
	defer s.lexemes.Put(l)
	l.Reset()
	s.analyzer.Terms(q.Text, l.Add)
	query, n := l.AppendQuery(nil)
	return string(query), n
}

// Blank implements [Blanker]: the question has no term.
func (s *textSearcher) Blank(q axes.Query) bool {
	_, n := s.query(q)
	return n == 0
}

func (s *textSearcher) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	hits, err := s.search(ctx, q, min(depth, s.chunks), dst)
	if err != nil {
		return dst, fmt.Errorf("search %q: %w", q.ID, err)
	}
	return hits, nil
}

func (s *textSearcher) search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := context.Cause(ctx); err != nil {
		return dst, err
	}
	query, n := s.query(q)
	if n == 0 || depth <= 0 {
		return dst, nil
	}
	if n > mostRanked && s.leaf.params.Rank == rankCover {
		return dst, fmt.Errorf("the question has %d different terms, and %s takes at most %d: shorten it, or set rank = %q",
			n, rankCover, mostRanked, rankCount)
	}
	hits, err := s.table.search(ctx, dst, "", "", s.statement, query, depth)
	if err == nil && len(hits) == len(dst) {
		// There may be nothing to find. In a table that was emptied there is nothing.
		err = s.check(ctx)
	}
	return hits, err
}

// SearchBatch asks as many questions at a time as the instance has threads.
func (s *textSearcher) SearchBatch(ctx context.Context, qs []axes.Query, depth int) ([][]axes.Hit, error) {
	return searchEach(ctx, s, qs, depth, s.leaf.threads)
}
