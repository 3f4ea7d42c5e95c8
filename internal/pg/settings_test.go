package pg_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// setting reads a setting back from a session.
func setting(ctx context.Context, t *testing.T, s *pg.Session, name string) string {
	t.Helper()
	var value string
	if err := s.Conn.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestWithSettings_holdForTheSession(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	asked := map[string]string{"hnsw.ef_search": "123", "hnsw.iterative_scan": "relaxed_order", "work_mem": "65536kB"}
	err := db.WithSettings(t.Context(), asked, func(ctx context.Context, s *pg.Session) error {
		for range 3 { // outside of a transaction, where SET LOCAL would be gone
			if got := setting(ctx, t, s, "hnsw.ef_search"); got != "123" {
				t.Errorf("hnsw.ef_search is %s", got)
			}
		}
		want := map[string]string{"hnsw.ef_search": "123", "hnsw.iterative_scan": "relaxed_order", "work_mem": "64MB"}
		if diff := cmp.Diff(want, s.Settings); diff != "" {
			t.Error(diff)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = db.WithSettings(t.Context(), nil, func(ctx context.Context, s *pg.Session) error {
		if got := setting(ctx, t, s, "hnsw.ef_search"); got != "40" {
			t.Errorf("the next session has %s", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWithSettings_refusesWhatWouldNotHold(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	never := func(context.Context, *pg.Session) error { t.Error("ran"); return nil }
	for name, value := range map[string]string{
		"hnsw.ef_search": "100000", // more than pgvector allows
		"hnsw.ef_serch":  "100",    // a slip
		"ragleb.thing":   "1",      // an extension that is not there
		"work_mem":       "much",
	} {
		err := db.WithSettings(t.Context(), map[string]string{name: value}, never)
		if err == nil || !contains(err.Error(), name) {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
}

func TestWithSettings_noticesAChange(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	err := db.WithSettings(t.Context(), map[string]string{"hnsw.ef_search": "100"}, func(ctx context.Context, s *pg.Session) error {
		_, err := s.Conn.Exec(ctx, "reset all")
		return err
	})
	if err == nil || !contains(err.Error(), "hnsw.ef_search was set to 100 and is 40 in the end") {
		t.Errorf("%v", err)
	}
	boom := errors.New("boom")
	if err := db.WithSettings(t.Context(), nil, func(context.Context, *pg.Session) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// More candidates find more of the true neighbours: the setting reaches the index.
func TestWithSettings_changeTheRecall(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	const n, queries = 2000, 20
	all := vectors(n+queries, 64)
	m := build(t, db, vectorIndex("recall", 64), fillHNSW(all[:n]))
	table := pgx.Identifier{m.Table}.Sanitize()
	nearest := func(settings map[string]string) map[int32]bool {
		found := map[int32]bool{}
		err := db.WithSettings(t.Context(), settings, func(ctx context.Context, s *pg.Session) error {
			for q := range int32(queries) {
				rows, err := s.Conn.Query(ctx, "select id from "+table+" order by embedding <=> $1 limit 10", pgvector.NewVector(all[n+q]))
				if err != nil {
					return err
				}
				ids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
				for _, id := range ids {
					found[q<<16|id] = true
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	exact := nearest(map[string]string{"enable_indexscan": "off"})
	recall := func(ef string) (hits int) {
		for id := range nearest(map[string]string{"hnsw.ef_search": ef, "enable_seqscan": "off"}) {
			if exact[id] {
				hits++
			}
		}
		return hits
	}
	few, many := recall("10"), recall("800")
	t.Logf("of %d true neighbours: %d with 10 candidates, %d with 800", len(exact), few, many)
	if len(exact) != 200 || few >= many-20 || many < 190 {
		t.Errorf("of %d true neighbours %d and %d", len(exact), few, many)
	}
}
