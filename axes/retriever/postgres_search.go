package retriever

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/retriever/topk"
	"raglab/internal/pg"
)

// tablePart is a table with the index over a part of a corpus.
type tablePart struct {
	key, name string // the name is quoted
	// ordinals are the places in the corpus of the part's chunks; nil where the part is
	// the corpus.
	ordinals []uint32
	rows     int // in the table; 0 when there is nothing to find
}

// manifestPart is what the cache holds of such a part.
type manifestPart[P any] struct {
	pgindex.Manifest[P]
	ordinals []uint32
}

// readWhole reads the manifest of an index that is one table.
func readWhole[P any](kind string, r io.Reader, size int64) ([]manifestPart[P], error) {
	m, err := pgindex.ReadManifest[P](r, size, kind)
	return []manifestPart[P]{{m, nil}}, err
}

// readParts reads the manifests of an index's parts.
func readParts[P any](kind string, parts []Part) ([]manifestPart[P], error) {
	if len(parts) == 0 {
		return nil, errNoParts
	}
	manifests := make([]manifestPart[P], len(parts))
	for i, p := range parts {
		m, err := pgindex.ReadManifest[P](bytes.NewReader(p.Index), int64(len(p.Index)), kind)
		if err != nil {
			return nil, &PartError{i, err}
		}
		if len(p.Ordinals) != m.Chunks {
			return nil, &PartError{i, fmt.Errorf("open index: it has %d chunks, and %d places in the corpus", m.Chunks, len(p.Ordinals))}
		}
		manifests[i] = manifestPart[P]{m, p.Ordinals}
		if p.Ordinals == nil {
			manifests[i].ordinals = []uint32{}
		}
	}
	return manifests, nil
}

// table is an index in Postgres that is searched: one table, or one for each part.
type table struct {
	db          *pg.DB
	connections *pgindex.Connections
	parts       []tablePart
}

// openTable finds the tables of an index's parts, and returns [ErrGone] when one is
// not there as it was built. Connections have the settings. All but the
// names of parts is given.
func (p inPostgres) openTable(ctx context.Context, parts []tablePart, settings map[string]string) (table, error) {
	db, err := p.database(ctx)
	if err != nil {
		return table{}, err
	}
	for i := range parts {
		name, err := db.Table(parts[i].key)
		if err != nil {
			return table{}, err
		}
		parts[i].name = name.Sanitize()
	}
	t := table{db, pgindex.NewConnections(db, settings, p.threads), parts}
	return t, t.check(ctx)
}

// check returns [ErrGone] when a table is not as it was built.
func (t *table) check(ctx context.Context) error {
	keys := make([]string, len(t.parts))
	for i, p := range t.parts {
		keys[i] = p.key
	}
	found, err := t.db.Exists(ctx, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		f, known := found[key]
		switch {
		case !known:
			return t.gone(i, "there is no table of the key %s", key[:12])
		case f.Problem != "":
			return t.gone(i, "%s", f.Problem)
		}
	}
	return nil
}

// gone says that a part's table is not as it was built, as [ErrGone].
func (t *table) gone(part int, format string, args ...any) error {
	err := fmt.Errorf("%w: %s", ErrGone, fmt.Sprintf(format, args...))
	if t.single() {
		return err
	}
	return &PartError{part, err}
}

// single reports whether the index is one table over the corpus.
func (t *table) single() bool { return len(t.parts) == 1 && t.parts[0].ordinals == nil }

// emptied stands in the place of an ordinal for a table that has lost all of its rows.
const emptied = -1

// union asks all tables at once that have rows. Ask makes SQL for one of them; empty is
// what there is to ask when none has.
func (t *table) union(ask func(part int, name string) string) string {
	var asked []string
	for i, p := range t.parts {
		if p.rows > 0 {
			asked = append(asked, ask(i, p.name))
		}
	}
	return strings.Join(asked, " union all ")
}

// cutEach asks every table for its own best. Ask makes SQL for the columns id and
// score of the best hits in a table, which $1 describes, at most $2 of them. Of several
// tables the first column is then the part.
func (t *table) cutEach(ask func(name string) string) string {
	if t.single() {
		return ask(t.parts[0].name)
	}
	return t.noticing(t.union(func(part int, name string) string {
		return fmt.Sprintf("select %d, id, score from (%s) p%[1]d", part, ask(name))
	}))
}

// noticing adds to a statement over several tables what tells that one of them was
// emptied: it would only find nothing, which the others would make up for.
func (t *table) noticing(statement string) string {
	if statement == "" {
		return ""
	}
	var sizes []string
	for i, p := range t.parts {
		if p.rows > 0 {
			sizes = append(sizes, fmt.Sprintf("(%d, pg_relation_size('%s'::regclass))", i, strings.ReplaceAll(p.name, "'", "''")))
		}
	}
	return fmt.Sprintf("%s union all select part, %d, 0::float8 from (values %s) sizes (part, bytes) where bytes = 0",
		statement, emptied, strings.Join(sizes, ", "))
}

// search appends to dst what a statement finds, at most so many hits. The connection
// has the setting name, unless that is empty.
func (t *table) search(ctx context.Context, dst []axes.Hit, name, value, statement string, query any, depth int) (hits []axes.Hit, err error) {
	err = t.connections.Do(ctx, name, value, func(on pgindex.Querier) error {
		if t.single() {
			hits, err = collect(ctx, on, dst, statement, query, depth)
		} else {
			hits, err = t.merge(ctx, on, dst, statement, query, depth)
		}
		return err
	})
	if err != nil {
		hits = dst
	}
	if errors.Is(err, pg.ErrNoTable) {
		err = t.dropped(ctx, err)
	}
	return hits, err
}

// dropped says of a table that the server did not find which one it is.
func (t *table) dropped(ctx context.Context, err error) error {
	if t.single() {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if gone := t.check(ctx); gone != nil {
		return gone
	}
	return err // it is there again, and another try may find it
}

// collect appends the hits of a statement that has them in order.
func collect(ctx context.Context, on pgindex.Querier, dst []axes.Hit, statement string, query any, depth int) ([]axes.Hit, error) {
	rows, err := on.Query(ctx, statement, query, depth)
	if err != nil {
		return dst, err
	}
	defer rows.Close()
	for rows.Next() {
		var ordinal int32
		var score float64
		if err := rows.Scan(&ordinal, &score); err != nil {
			return dst, err
		}
		dst = append(dst, axes.Hit{Ordinal: uint32(ordinal), Score: score})
	}
	return dst, rows.Err()
}

// merge appends the best of what the parts have. Each part's order is the corpus's, so
// that what a part cuts off at the depth comes after what it has in the whole too.
func (t *table) merge(ctx context.Context, on pgindex.Querier, dst []axes.Hit, statement string, query any, depth int) ([]axes.Hit, error) {
	var best topk.Collector
	best.Reset(depth)
	rows, err := on.Query(ctx, statement, query, depth)
	if err != nil {
		return dst, err
	}
	defer rows.Close()
	for rows.Next() {
		var part, place int32
		var score float64
		if err := rows.Scan(&part, &place, &score); err != nil {
			return dst, err
		}
		p := &t.parts[part]
		if place == emptied {
			return dst, t.gone(int(part), "the table of the key %s was emptied", p.key[:12])
		}
		if int(place) >= len(p.ordinals) {
			return dst, t.gone(int(part), "the table of the key %s has a row %d, and its part of the corpus has %d chunks",
				p.key[:12], place, len(p.ordinals))
		}
		best.Push(axes.Hit{Ordinal: p.ordinals[place], Score: score})
	}
	if err := rows.Err(); err != nil {
		return dst, err
	}
	return best.Append(dst), nil
}

// Close closes the connections.
func (t *table) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second,
		errors.New("no answer from Postgres within 10 s"))
	defer cancel()
	return t.connections.Close(ctx)
}
