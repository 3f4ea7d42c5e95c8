package pg_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
	"raglab/internal/pg/private"
)

// A private server from nothing, from its data, and one that runs.
func BenchmarkAcquire(b *testing.B) {
	server := pgtest.Private(b)
	start := func(b *testing.B, before func() error) {
		for b.Loop() {
			b.StopTimer()
			if err := before(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			l, err := private.Acquire(b.Context(), server)
			if err != nil {
				b.Fatal(err)
			}
			l.Release()
		}
	}
	b.Run("from nothing", func(b *testing.B) {
		start(b, func() error { return private.Drop(b.Context(), server, false) })
	})
	b.Run("stopped", func(b *testing.B) {
		start(b, func() error { _, err := private.Stop(b.Context(), server, false); return err })
	})
	b.Run("running", func(b *testing.B) {
		start(b, func() error { return nil })
	})
}

// All that raglab does before its first statement, with the schema in place.
func BenchmarkConnect(b *testing.B) {
	c := pgtest.Config(b)
	first, err := pg.Connect(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer first.Close()
	defer first.DropSchema(context.Background())
	for b.Loop() {
		db, err := pg.Connect(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

func BenchmarkWithSettings(b *testing.B) {
	db := pgtest.Connect(b)
	for b.Loop() {
		err := db.WithSettings(b.Context(), map[string]string{"hnsw.ef_search": "100"}, func(context.Context, *pg.Session) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

// A table of vectors without an index: what COPY and the manifest take.
func BenchmarkBuild(b *testing.B) {
	db := pgtest.Connect(b)
	const rows, dimensions = 4000, 384
	all := vectors(rows, dimensions)
	b.SetBytes(rows * dimensions * 4)
	n := 0
	for b.Loop() {
		n++
		_, _, err := db.Build(b.Context(), vectorIndex(fmt.Sprint(n), dimensions), func(ctx context.Context, t *pg.Building) error {
			_, err := t.CopyFrom(ctx, []string{"id", "embedding"}, pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
				return []any{int32(i), pgvector.NewVector(all[i])}, nil
			}))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Existence of all the indexes that a plan asks for.
func BenchmarkExists(b *testing.B) {
	db := pgtest.Connect(b)
	var keys []string
	for i := range 180 {
		ix := vectorIndex(fmt.Sprint(i), 4)
		keys = append(keys, ix.Key)
		if _, _, err := db.Build(b.Context(), ix, func(context.Context, *pg.Building) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if found, err := db.Exists(b.Context(), keys); err != nil || len(found) != len(keys) {
			b.Fatal(len(found), err)
		}
	}
}
