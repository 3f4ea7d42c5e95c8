package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"raglab/axes"
	"raglab/axes/retriever"
	"raglab/axes/text"
	"raglab/internal/assets"
	"raglab/internal/pg"
	"raglab/internal/pg/private"
)

const (
	benchDimensions = 384
	benchDepth      = 30
	benchQuestions  = 100
)

// postgresDriver: DIR ASSETS ROWS REPS. Starts a server of its own in DIR, sends ROWS
// vectors to it, beside psql, and asks questions beside the same SQL alone.
func postgresDriver(ctx context.Context, args []string) (err error) {
	if len(args) != 4 {
		return errors.New("postgres takes four arguments")
	}
	rows, reps, err := numbers(args[2], args[3])
	if err != nil {
		return err
	}
	d := &onPostgres{clock: &clock{reps: reps, threads: 2}, dir: args[0]}
	drop, err := d.connect(ctx, args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	d.corpus = newMadeChunks(rows)
	if err := d.copies(ctx); err != nil {
		return err
	}
	d.corpus = d.corpus.first(searchedChunks(rows))
	if err := d.searches(ctx); err != nil {
		return err
	}
	return d.clock.print()
}

// onPostgres is one run of the driver.
type onPostgres struct {
	*clock
	dir    string
	db     *pg.DB
	corpus *madeChunks
	tables int
}

func (d *onPostgres) server(ctx context.Context, folder string) (private.Config, error) {
	store := assets.New(assets.Config{Dir: folder})
	paths, ok, err := store.Lookup(assets.Postgres())
	if err != nil || !ok {
		return private.Config{}, errors.Join(err, errors.New("the asset postgres is not there"))
	}
	tree, programs, err := assets.PostgresTree(ctx, paths)
	return private.Config{Dir: filepath.Join(d.dir, "server"), Tree: tree, Programs: programs, IdleAfter: 20 * time.Second, Temporary: true}, err
}

// build builds an index of a kind under a key that no other has.
func (d *onPostgres) build(ctx context.Context, kind string, set func(params any), analyzer text.Analyzer) (retriever.Resident, string, *bytes.Buffer, error) {
	k, ok := axes.Find(retriever.Leaves, kind)
	if !ok {
		return nil, "", nil, fmt.Errorf("there is no kind %s", kind)
	}
	params := k.Params()
	set(params)
	leaf, err := k.New(params, axes.Env{Threads: d.threads, Postgres: func(context.Context) (*pg.DB, error) { return d.db, nil }})
	if err != nil {
		return nil, "", nil, err
	}
	d.tables++
	key, manifest := fmt.Sprintf("%x", sha256.Sum256([]byte{byte(d.tables)})), &bytes.Buffer{}
	resident := leaf.(retriever.Resident)
	_, err = resident.BuildAs(ctx, key, d.corpus, analyzer, manifest)
	return resident, key, manifest, err
}

// copies sends the rows again and again, then has psql send the same rows.
func (d *onPostgres) copies(ctx context.Context) error {
	var key string
	_, err := d.time(stepCopy, d.corpus.n, func() (err error) {
		_, key, _, err = d.build(ctx, "pgvector", func(p any) { p.(*retriever.PGVectorParams).Index = "exact" }, nil)
		return err
	})
	if err != nil {
		return err
	}
	table, err := d.db.Table(key)
	if err != nil {
		return err
	}
	for tool, format := range map[string]string{psqlBinary: "binary", psqlText: "text"} {
		file := filepath.Join(d.dir, format)
		with := fmt.Sprintf("'%s' with (format %s)", file, format)
		if err := d.psql(ctx, fmt.Sprintf("\\copy %s to %s", table.Sanitize(), with)); err != nil {
			return err
		}
		s, err := d.time(stepCopy, d.corpus.n, func() error {
			return d.psql(ctx, "drop table if exists copied", "begin",
				"create table copied (like "+table.Sanitize()+")", "\\copy copied from "+with, "commit")
		})
		if err != nil {
			return err
		}
		s.Tool = tool
	}
	return d.psql(ctx, "drop table copied")
}

// psql runs statements in one session of psql.
func (d *onPostgres) psql(ctx context.Context, statements ...string) error {
	args := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1"}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	cmd, err := d.db.Lease().Psql(ctx, args...)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return failure(err, said.String())
	}
	return nil
}

// searches asks questions of a graph and of terms, and then the statement that
// raglab asks on a connection of pgx's own.
func (d *onPostgres) searches(ctx context.Context) error {
	conn, err := d.db.Pool().Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := pgxvector.RegisterTypes(ctx, conn.Conn()); err != nil {
		return err
	}
	if err := d.dense(ctx, conn.Conn()); err != nil {
		return err
	}
	return d.lexical(ctx, conn.Conn())
}

func (d *onPostgres) dense(ctx context.Context, conn *pgx.Conn) error {
	questions := make([]axes.Query, benchQuestions)
	for i := range questions {
		questions[i] = axes.Query{ID: fmt.Sprint(i), Vector: d.corpus.unit()}
	}
	raglab, table, end, err := d.searcher(ctx, "pgvector", nil)
	if err != nil {
		return err
	}
	defer end()
	for _, setting := range []string{"set enable_seqscan = off", "set hnsw.ef_search = 40"} {
		if _, err := conn.Exec(ctx, setting); err != nil {
			return err
		}
	}
	sql := "select id, 1 - (embedding <=> $1) from " + table + " order by embedding <=> $1 limit $2"
	return d.both(stepDense, questions, raglab, bare(ctx, conn, sql, func(q axes.Query) any { return pgvector.NewVector(q.Vector) }))
}

func (d *onPostgres) lexical(ctx context.Context, conn *pgx.Conn) error {
	kind, _ := axes.Find(text.Kinds, "simple")
	analyzer, err := kind.New(kind.Params(), axes.Env{Language: "uk"})
	if err != nil {
		return err
	}
	questions := make([]axes.Query, benchQuestions)
	for i := range questions {
		questions[i] = axes.Query{ID: fmt.Sprint(i), Text: d.corpus.question()}
	}
	raglab, table, end, err := d.searcher(ctx, "tsvector", analyzer)
	if err != nil {
		return err
	}
	defer end()
	sql := "select id, ts_rank_cd(lexemes, $1::tsquery, 0)::float8 from " + table +
		" where lexemes @@ $1::tsquery order by 2 desc, id limit $2"
	return d.both(stepWords, questions, raglab, bare(ctx, conn, sql, func(q axes.Query) any {
		return "'" + strings.Join(strings.Fields(strings.ToLower(q.Text)), "'|'") + "'"
	}))
}

// asks is how a question is asked.
type asks func(axes.Query) error

// searcher builds an index of a kind with its defaults and opens it. It returns how
// to ask it, its table, quoted, and what closes it.
func (d *onPostgres) searcher(ctx context.Context, kind string, analyzer text.Analyzer) (ask asks, table string, end func() error, err error) {
	leaf, key, manifest, err := d.build(ctx, kind, func(any) {}, analyzer)
	if err != nil {
		return nil, "", nil, err
	}
	name, err := d.db.Table(key)
	if err != nil {
		return nil, "", nil, err
	}
	s, err := leaf.Open(ctx, bytes.NewReader(manifest.Bytes()), int64(manifest.Len()), analyzer)
	if err != nil {
		return nil, "", nil, err
	}
	return func(q axes.Query) error {
		_, err := s.Search(ctx, q, benchDepth, nil)
		return err
	}, name.Sanitize(), s.Close, nil
}

// bare asks by a statement with an argument, and reads the rows.
func bare(ctx context.Context, conn *pgx.Conn, sql string, argument func(axes.Query) any) asks {
	return func(q axes.Query) error {
		rows, err := conn.Query(ctx, sql, argument(q), benchDepth)
		if err != nil {
			return err
		}
		var id int32
		var score float64
		_, err = pgx.ForEachRow(rows, []any{&id, &score}, func() error { return nil })
		return err
	}
}

// both asks each question of raglab and of the statement alone, in turn and the
// other way round with the next, so that neither has the warmer server. The first
// round is not counted.
func (d *onPostgres) both(name string, questions []axes.Query, raglab, statement asks) error {
	tools := []string{raglabTool, bareSQL}
	took := map[string][]float64{}
	for round := range d.reps + 1 {
		for i, q := range questions {
			order := []asks{raglab, statement}
			for j := range order {
				at := (i + j) % len(order)
				start := time.Now()
				if err := order[at](q); err != nil {
					return err
				}
				if round > 0 {
					took[tools[at]] = append(took[tools[at]], float64(time.Since(start).Nanoseconds())/1e6)
				}
			}
		}
	}
	for _, tool := range tools {
		slices.Sort(took[tool])
		d.samples = append(d.samples, sample{Tool: tool, Step: name, Threads: d.threads, P50: took[tool][(len(took[tool])-1)/2]})
	}
	return nil
}

// madeChunks is a corpus of made texts with random directions.
type madeChunks struct {
	n    int
	rows []float32
	text []string
	w    *writer
}

func newMadeChunks(n int) *madeChunks {
	c := &madeChunks{n: n, rows: make([]float32, 0, n*benchDimensions), w: newWriter(5)}
	for range n {
		c.rows = append(c.rows, c.unit()...)
	}
	for range searchedChunks(n) {
		c.text = append(c.text, c.w.sentence(120))
	}
	return c
}

// first is the corpus of the first n chunks.
func (c *madeChunks) first(n int) *madeChunks {
	return &madeChunks{n: n, rows: c.rows[:n*benchDimensions], text: c.text, w: c.w}
}

// unit is a random direction.
func (c *madeChunks) unit() []float32 {
	v, sum := make([]float32, benchDimensions), 0.0
	for i := range v {
		x := c.w.rng.NormFloat64()
		v[i], sum = float32(x), sum+x*x
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// question is a few words, as rare as any.
func (c *madeChunks) question() string {
	words := make([]string, 6)
	for i := range words {
		words[i] = c.w.words[c.w.rng.IntN(len(c.w.words))]
	}
	return strings.Join(words, " ")
}

// Len implements [retriever.Corpus].
func (c *madeChunks) Len() int { return c.n }

// Texts implements [retriever.Corpus].
func (c *madeChunks) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range c.text[:c.n] {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Vectors implements [retriever.Corpus].
func (c *madeChunks) Vectors() ([]float32, int) { return c.rows, benchDimensions }

// connect starts a server and connects to it. Drop closes the connection and removes the
// server.
func (d *onPostgres) connect(ctx context.Context, assets string) (drop func() error, err error) {
	config, err := d.server(ctx, assets)
	if err != nil {
		return nil, err
	}
	d.db, err = pg.Connect(ctx, pg.Config{Private: &config, Getenv: func(string) string { return "" }, Version: "bench"})
	if err != nil {
		return nil, err
	}
	return func() error {
		d.db.Close()
		return private.Drop(context.WithoutCancel(ctx), config, true)
	}, nil
}
