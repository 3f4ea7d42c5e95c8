package retriever

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
)

// Open implements [Leaf].
func (v *vectors) Open(ctx context.Context, r io.Reader, size int64, _ text.Analyzer) (Searcher, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m, err := pgindex.ReadManifest[built](r, size, v.kind)
	if err != nil {
		return nil, err
	}
	if b, p := m.Params, v.params; b.Index != p.Index || b.Distance != p.Distance || b.Type != p.Type {
		return nil, errors.New("open index: it was built with other parameters")
	}
	t, err := v.openTable(ctx, m.Key, v.searchSettings(m.Params))
	if err != nil {
		return nil, err
	}
	return &vectorSearcher{
		table: t, leaf: v, built: m.Params, statement: searchStatement(t.name, m.Params),
		vectors: pgindex.Vectors{Dim: m.Params.Dimensions, Half: m.Params.Type == typeHalf},
	}, nil
}

// searchSettings are those of the connections that search an approximate index.
func (v *vectors) searchSettings(b built) map[string]string {
	p := v.params
	// A scan of the whole table would be cheaper for few rows, and exact.
	s := map[string]string{"enable_seqscan": "off"}
	switch p.Index {
	case indexHNSW:
		s[settingEF] = strconv.Itoa(v.candidates(0))
		s["hnsw.iterative_scan"] = p.IterativeScan
		s["hnsw.max_scan_tuples"] = strconv.Itoa(p.MaxScanTuples)
	case indexIVFFlat:
		probes := p.Probes
		if probes == 0 {
			probes = pgindex.DefaultProbes(b.Lists)
		}
		s[settingProbes] = strconv.Itoa(probes)
		s["ivfflat.iterative_scan"] = p.IterativeScan
		s["ivfflat.max_probes"] = strconv.Itoa(p.MaxProbes)
	default:
		return nil // there is no index that could be used
	}
	return s
}

// candidates is hnsw.ef_search for a depth.
func (v *vectors) candidates(depth int) int {
	if v.params.EFSearch > 0 {
		return v.params.EFSearch
	}
	return min(max(depth, leastEF), mostEF)
}

// searchStatement returns ordinals and scores for a vector and a depth. The scan of
// an approximate index is ordered by distance alone, for the index knows no other
// order; what it gave, which need not be in order, is then sorted.
func searchStatement(table string, b built) string {
	distance := map[string]string{distanceCosine: "<=>", "ip": "<#>", "l2": "<->"}[b.Distance]
	distance = "embedding " + distance + " $1"
	score := "-(" + distance + ")"
	if b.Distance == distanceCosine {
		score = "1 - (" + distance + ")" // exact: distances are multiples of 2^-53
	}
	if b.Index == indexExact {
		return fmt.Sprintf("select id, %s as score from %s order by score desc, id limit $2", score, table)
	}
	return fmt.Sprintf("select id, score from (select id, %s as score from %s order by %s limit $2) nearest order by score desc, id",
		score, table, distance)
}

// vectorSearcher searches a table of vectors.
type vectorSearcher struct {
	table
	leaf      *vectors
	built     built
	statement string
	vectors   pgindex.Vectors // without rows
}

// Blank implements [Blanker]: a vector of zeros has no cosine.
func (s *vectorSearcher) Blank(q axes.Query) bool {
	if s.built.Distance != distanceCosine {
		return false
	}
	directed, err := s.vectors.Direction(q.Vector)
	return err == nil && !directed
}

// checkQuestion refuses vectors that have no distance to the rows.
func (s *vectorSearcher) checkQuestion(v []float32) error {
	switch {
	case v == nil:
		return errors.New("it has no vector")
	case len(v) != s.built.Dimensions && s.built.Rows > 0:
		return fmt.Errorf("its vector has %d dimensions, the index %d", len(v), s.built.Dimensions)
	}
	_, err := s.vectors.Direction(v)
	return err
}

func (s *vectorSearcher) Search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	hits, err := s.search(ctx, q, min(depth, s.built.Rows), dst)
	if err != nil {
		return dst, fmt.Errorf("search %q: %w", q.ID, err)
	}
	return hits, nil
}

func (s *vectorSearcher) search(ctx context.Context, q axes.Query, depth int, dst []axes.Hit) ([]axes.Hit, error) {
	if err := context.Cause(ctx); err != nil {
		return dst, err
	}
	if err := s.checkQuestion(q.Vector); err != nil {
		return dst, err
	}
	if depth <= 0 || s.Blank(q) {
		return dst, nil
	}
	if err := s.leaf.CheckDepth(depth); err != nil {
		return dst, err
	}
	name, value := "", ""
	if s.built.Index == indexHNSW {
		name, value = settingEF, strconv.Itoa(s.leaf.candidates(depth))
	}
	hits, err := s.table.search(ctx, dst, name, value, s.statement, s.vectors.Argument(q.Vector), depth)
	if err != nil || len(hits)-len(dst) == depth {
		return hits, err
	}
	// An approximate index may find less. A table that was emptied does too.
	err = s.check(ctx)
	if err == nil && s.built.Index == indexExact {
		err = fmt.Errorf("%w: %d of %d rows were found", ErrGone, len(hits)-len(dst), depth)
	}
	return hits, err
}

// SearchBatch asks as many questions at a time as the instance has threads.
func (s *vectorSearcher) SearchBatch(ctx context.Context, qs []axes.Query, depth int) ([][]axes.Hit, error) {
	return searchEach(ctx, s, qs, depth, s.leaf.threads)
}
