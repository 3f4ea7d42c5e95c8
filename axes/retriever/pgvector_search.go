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
	m, err := readWhole[built](v.kind, r, size)
	if err != nil {
		return nil, err
	}
	return v.open(ctx, m)
}

// OpenParts implements [Parted]: one statement searches all tables.
func (v *vectors) OpenParts(ctx context.Context, parts []Part, _ text.Analyzer) (Searcher, error) {
	m, err := readParts[built](v.kind, parts)
	if err != nil {
		return nil, err
	}
	return v.open(ctx, m)
}

func (v *vectors) open(ctx context.Context, parts []manifestPart[built]) (Searcher, error) {
	tables := make([]tablePart, len(parts))
	for i, m := range parts {
		if b, p := m.Params, v.params; b.Index != p.Index || b.Distance != p.Distance || b.Type != p.Type {
			return nil, errors.New("open index: it was built with other parameters")
		}
		tables[i] = tablePart{key: m.Key, ordinals: m.ordinals, rows: m.Params.Rows}
	}
	all, err := together(parts)
	if err != nil {
		return nil, err
	}
	t, err := v.openTable(ctx, tables, v.searchSettings(all))
	if err != nil {
		return nil, err
	}
	return &vectorSearcher{
		table: t, leaf: v, built: all,
		statement: v.statement(&t, all),
		vectors:   pgindex.Vectors{Dim: all.Dimensions, Half: all.Type == typeHalf},
	}, nil
}

// together is what the parts of an index were built with, as far as a search wants to
// know: all rows, and the most lists.
func together(parts []manifestPart[built]) (built, error) {
	all := parts[0].Params
	for _, m := range parts[1:] {
		b := m.Params
		switch {
		case b.Rows == 0:
		case all.Rows == 0:
			all.Dimensions = b.Dimensions
		case all.Dimensions != b.Dimensions:
			return all, fmt.Errorf("open index: its parts have vectors of %d and of %d dimensions", all.Dimensions, b.Dimensions)
		}
		all.Rows += b.Rows
		all.Lists = max(all.Lists, b.Lists)
	}
	return all, nil
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

// statement searches the tables. Those with an approximate index are read together by
// distance, no further than to the depth: which of them have that many is not asked of
// each. The others are, for what they cut off must be what an index in one piece cuts
// off; and so are those that may give what is further before what is nearer.
func (v *vectors) statement(t *table, b built) string {
	if t.single() || b.Index == indexExact || v.params.IterativeScan == scanRelaxed {
		return t.cutEach(func(name string) string { return searchStatement(name, b) })
	}
	distance := distanceOf(b.Distance)
	nearest := t.union(func(part int, name string) string {
		return fmt.Sprintf("select %d as part, id, %s as distance from %s", part, distance, name)
	})
	if nearest == "" {
		return ""
	}
	return t.noticing(fmt.Sprintf("select part, id, %s as score from (%s order by distance limit $2) nearest", scoreOf(b.Distance, "distance"), nearest))
}

// distanceOf is SQL for the distance to $1, and scoreOf for the score of a distance.
func distanceOf(kind string) string {
	return "embedding " + map[string]string{distanceCosine: "<=>", distanceIP: "<#>", "l2": "<->"}[kind] + " $1"
}

func scoreOf(kind, distance string) string {
	if kind == distanceCosine {
		return "1 - (" + distance + ")" // exact: distances are multiples of 2^-53
	}
	return "-(" + distance + ")"
}

// searchStatement returns ordinals and scores for a vector and a depth. The scan of
// an approximate index is ordered by distance alone, for the index knows no other
// order; what it gave, which need not be in order, is then sorted.
func searchStatement(table string, b built) string {
	distance := distanceOf(b.Distance)
	score := scoreOf(b.Distance, distance)
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
