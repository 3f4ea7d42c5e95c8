package pgindex

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

func copyInto(t *testing.T, ctx context.Context, db *pg.DB, key string, next func(buf []byte) ([]byte, error)) error {
	t.Helper()
	ix := pg.Index{Key: strings.Repeat(key, 64), Kind: "test", Definition: "(id integer not null)"}
	_, _, err := db.Build(ctx, ix, func(ctx context.Context, b *pg.Building) error {
		_, err := Copy(ctx, b, []string{"id"}, next)
		return err
	})
	return err
}

func TestCopy_failures(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	boom := errors.New("boom")
	n := 0
	err := copyInto(t, t.Context(), db, "a", func(buf []byte) ([]byte, error) {
		if n++; n > 100_000 {
			return buf, boom
		}
		return AppendOrdinal(buf, n), nil
	})
	if !errors.Is(err, boom) {
		t.Errorf("rows that fail: %v", err)
	}
	// The server refuses the first row while more are on their way.
	err = copyInto(t, t.Context(), db, "b", func(buf []byte) ([]byte, error) { return append(buf, 0, 0, 0, 1, 7), nil })
	if err == nil || !strings.Contains(err.Error(), "SQLSTATE") {
		t.Errorf("rows that the server refuses: %v", err)
	}
	why := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	n = 0
	err = copyInto(t, ctx, db, "c", func(buf []byte) ([]byte, error) {
		if n++; n == 100_000 {
			cancel(why)
		}
		return AppendOrdinal(buf, n), nil
	})
	if !errors.Is(err, why) || pg.IsTransient(err) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCopy_cutConnection: whoever copies learns that it may succeed later.
func TestCopy_cutConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	n := 0
	err := copyInto(t, t.Context(), db, "a", func(buf []byte) ([]byte, error) {
		if n++; n == 50_000 {
			if _, err := db.Pool().Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy \"'||$1||'\"%'", db.Schema()); err != nil {
				return buf, err
			}
		}
		if n > 100_000_000 {
			return buf, io.EOF
		}
		return AppendOrdinal(buf, n), nil
	})
	if !pg.IsTransient(err) || !errors.Is(err, pg.ErrConnection) {
		t.Errorf("%v", err)
	}
	if n > 50_000_000 {
		t.Errorf("%d rows were made for nobody", n)
	}
}

// TestCopy_freezes: nobody who reads the rows has to write that they are valid. The
// build's analyze counts pages of such rows.
func TestCopy_freezes(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	n := 0
	err := copyInto(t, t.Context(), db, "a", func(buf []byte) ([]byte, error) {
		if n++; n > 10_000 {
			return buf, io.EOF
		}
		return AppendOrdinal(buf, n), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := db.Table(strings.Repeat("a", 64))
	if err != nil {
		t.Fatal(err)
	}
	var used, frozen int
	sql := "select count(distinct (ctid::text::point)[0]), (select relallvisible from pg_class where oid = $1::text::regclass) from " + table.Sanitize()
	if err := db.Pool().QueryRow(t.Context(), sql, table.Sanitize()).Scan(&used, &frozen); err != nil || used < 10 || frozen != used {
		t.Errorf("%d of %d pages with rows are frozen, %v", frozen, used, err)
	}
}

// TestCopy_isCounted: the manifest's rows are those that were copied.
func TestCopy_isCounted(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	for key, rows := range map[string]int{"a": 0, "b": 1, "c": 50_000} {
		n := 0
		err := copyInto(t, t.Context(), db, key, func(buf []byte) ([]byte, error) {
			if n++; n > rows {
				return buf, io.EOF
			}
			return AppendOrdinal(buf, n), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := db.Exists(t.Context(), []string{strings.Repeat(key, 64)})
		if err != nil || found[strings.Repeat(key, 64)].Rows != int64(rows) {
			t.Errorf("%d rows: %+v, %v", rows, found, err)
		}
	}
}
