package retriever

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"raglab/axes"
	"raglab/axes/text"
	"raglab/internal/pg"
)

// inPostgres is what the leaves have in common whose index is a table of Postgres.
type inPostgres struct {
	kind    string
	connect func(context.Context) (*pg.DB, error)
	threads int
}

func newInPostgres(kind string, env axes.Env) inPostgres {
	return inPostgres{kind, env.Postgres, max(env.Threads, 1)}
}

// needPostgres is what their kinds need.
func needPostgres[P any](P) axes.Needs { return axes.Needs{Postgres: true} }

// Build returns an error: a table needs a key.
func (p inPostgres) Build(context.Context, Corpus, text.Analyzer, io.Writer) error {
	return fmt.Errorf("the index of %s is a table in Postgres, and is built under the name of a key", p.kind)
}

func (p inPostgres) database(ctx context.Context) (*pg.DB, error) {
	if p.connect == nil {
		return nil, fmt.Errorf("%s: no Postgres was given", p.kind)
	}
	return p.connect(ctx)
}

// build builds a table, unless it is there, and adds to the measures all but the
// times, which are fill's to measure.
func build(ctx context.Context, db *pg.DB, ix pg.Index, m *Measures, fill func(context.Context, *pg.Building) error) error {
	manifest, built, err := db.Build(ctx, ix, fill)
	if err != nil {
		return err
	}
	m.Built, m.IndexBytes, m.HeapBytes = built, manifest.IndexBytes, manifest.HeapBytes
	server := db.Server()
	m.Server = fmt.Sprintf("Postgres %s, pgvector %s", server.Version, server.Vector)
	return nil
}

// How much of a table the server reads for its statistics when the planner needs no
// more of them than how many rows there are: 300 rows.
const settingSample, smallSample = "default_statistics_target", "1"

// createIndex runs a statement that makes an index, and measures it.
func createIndex(ctx context.Context, b *pg.Building, m *Measures, sql string) error {
	start := time.Now()
	err := b.Exec(ctx, sql)
	m.Index = time.Since(start)
	if err != nil && strings.Contains(err.Error(), "shared memory segment") {
		err = fmt.Errorf("parallel workers share maintenance_work_mem, which the server's machine has too little room for: "+
			"give it more (Docker: --shm-size), or set workers = 0: %w", err)
	}
	return err
}
