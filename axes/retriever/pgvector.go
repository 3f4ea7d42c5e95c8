package retriever

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/axes/text"
	"raglab/internal/param"
	"raglab/internal/pg"
)

// The values of the parameters of pgvector.
const (
	indexHNSW, indexIVFFlat, indexExact          = "hnsw", "ivfflat", "exact"
	distanceCosine, distanceIP                   = "cosine", "ip"
	typeVector, typeHalf                         = "vector", "halfvec"
	scanOff, scanStrict, scanRelaxed             = "off", "strict_order", "relaxed_order"
	memoryAuto                                   = "auto"
	settingEF, settingProbes                     = "hnsw.ef_search", "ivfflat.probes"
	mostEF, leastEF                              = 1000, 40
	mostDimensions, mostIndexed, mostIndexedHalf = 16000, 2000, 4000
	parallelRows                                 = 2000
)

// PGVectorParams are the parameters of the kind pgvector.
type PGVectorParams struct {
	Index    string `hcl:"index" default:"hnsw" enum:"hnsw|ivfflat|exact" doc:"What is built over the vectors: a graph, lists, or nothing, so that all are compared."`
	Distance string `hcl:"distance" default:"cosine" enum:"cosine|ip|l2" doc:"What is near: the cosine distance, the inner product, or the Euclidean distance."`
	Type     string `hcl:"type" default:"vector" enum:"vector|halfvec" doc:"vector has 4 bytes for each dimension, halfvec 2, in half precision."`

	M              int `hcl:"m" default:"16" min:"2" max:"100" doc:"hnsw: how many neighbours a vector has in each layer of the graph, twice that in the lowest."`
	EFConstruction int `hcl:"ef_construction" default:"64" min:"4" max:"1000" doc:"hnsw: how many candidates for them are kept while the graph is built, at least 2 m."`
	Lists          int `hcl:"lists" default:"0" min:"0" max:"32768" doc:"ivfflat: how many lists; 0 is a thousandth of the chunks up to a million of them, the square root above."`

	MaintenanceWorkMem string `hcl:"maintenance_work_mem" default:"auto" doc:"Memory of the build, such as 2GB; auto is what the index needs so that the build stays in it."`
	Workers            int    `hcl:"workers" default:"-1" min:"-1" max:"1024" doc:"Parallel workers of the build besides its leader; -1 is one less than raglab has threads."`

	EFSearch      int    `hcl:"ef_search" at:"search" default:"0" min:"0" max:"1000" doc:"hnsw: how many candidates a search keeps, in each table of an index in parts; 0 is 40, or the depth where that is more, up to 1000."`
	Probes        int    `hcl:"probes" at:"search" default:"0" min:"0" max:"32768" doc:"ivfflat: how many lists a search reads, in each table of an index in parts; 0 is the square root of their number, rounded."`
	IterativeScan string `hcl:"iterative_scan" at:"search" default:"off" enum:"off|strict_order|relaxed_order" doc:"Whether a search goes on until it has found as much as was asked for; ivfflat has no strict_order."`
	MaxScanTuples int    `hcl:"max_scan_tuples" at:"search" default:"20000" min:"1" max:"2147483647" doc:"hnsw with iterative_scan: about how many vectors are visited at most."`
	MaxProbes     int    `hcl:"max_probes" at:"search" default:"32768" min:"1" max:"32768" doc:"ivfflat with iterative_scan: how many lists are read at most."`
}

var pgVector = axes.NeedsOf(axes.Define(axes.Meta{
	Name:    "pgvector",
	Version: "1",
	Summary: "Dense retrieval by pgvector in Postgres: HNSW, IVFFlat, or all vectors compared.",
	Doc: `Scores are 1 - (a <=> b) for cosine, -(a <#> b) for ip and -(a <-> b) for l2, so
that larger is better; pgvector adds up in single precision. For vectors of
length 1 the scores of cosine and ip are those of the kind exact but for the last
digits, and all three distances rank alike.

Hits are ordered by score and then by ordinal. With index = "exact" that holds for
the cut at the depth too. An approximate index cuts first: of several chunks that
are equally far at the depth, it chooses which are hits.

A search of hnsw finds at most ef_search different vectors. An ef_search below the
depth is therefore an error, unless iterative_scan lets the search go on; so is a
depth over 1000 without it. A search of ivfflat finds what its lists hold, which
may be less than was asked for. A search with an approximate index always uses it,
however few chunks there are.

Chunks whose vector is 0 have no cosine: with distance = "cosine" they are left out
of the table, counted, and never hits, and a question whose vector is 0 finds
nothing.

The index over a large corpus is built in parts, each a table with an index of its
own over some of the documents, and one statement searches all of them. With index =
"exact" rankings and scores are the very ones of a single table. ef_search and probes
hold in each table: so many candidates, and so many lists, are looked at in every one
of them, which finds more of the nearest vectors than one index with the same numbers,
and takes longer; ann_recall says how many. lists = 0 and probes = 0 go by the size of
a table, for probes of the one with the most lists.

With type = "halfvec" the numbers of all vectors are rounded to IEEE 754 binary16: 11
significant bits. What that changes is measured against the kind exact over the
vectors as they were embedded, as ann_recall and as the greatest difference of a
score, with an index or without.

maintenance_work_mem = "auto" is computed from the number of chunks, the
dimensions, the index and the workers, and does not depend on the machine. Where
the private server's machine has less than 4/3 of that, the build is refused: state
a size, with which the build goes on outside of memory, and slowly. Workers are part
of the key, with the number that -1 stands for, because a graph that is built in
parallel is another one. No two graphs are the same even so: the first build of a
key is the one whose rankings are kept. Servers limit the workers by
max_worker_processes and max_parallel_workers.`,
}, newVectors), needPostgres[PGVectorParams])

func newVectors(p PGVectorParams, env axes.Env) (Leaf, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	v := &vectors{inPostgres: newInPostgres("pgvector", env), params: p}
	if p.Workers < 0 {
		v.params.Workers = max(cmp.Or(env.Deciding, env.Threads), 1) - 1
		v.decided = map[string]string{"workers": strconv.Itoa(v.params.Workers)}
	}
	if p.Index == indexExact {
		v.params.Workers, v.decided = 0, nil
	}
	return v, nil
}

// check refuses parameters that contradict each other, or that say something about
// another index.
func (p *PGVectorParams) check() error {
	var d PGVectorParams
	param.SetDefaults(&d)
	hnsw, ivfflat, iterative := p.Index == indexHNSW, p.Index == indexIVFFlat, p.IterativeScan != scanOff
	for _, c := range []struct {
		attribute string
		set, fits bool
		wants     string
	}{
		{"m", p.M != d.M, hnsw, `index = "hnsw"`},
		{"ef_construction", p.EFConstruction != d.EFConstruction, hnsw, `index = "hnsw"`},
		{"lists", p.Lists != d.Lists, ivfflat, `index = "ivfflat"`},
		{"maintenance_work_mem", p.MaintenanceWorkMem != d.MaintenanceWorkMem, hnsw || ivfflat, "an index"},
		{"workers", p.Workers != d.Workers, hnsw || ivfflat, "an index"},
		{"ef_search", p.EFSearch != d.EFSearch, hnsw, `index = "hnsw"`},
		{"probes", p.Probes != d.Probes, ivfflat, `index = "ivfflat"`},
		{"iterative_scan", iterative, hnsw || ivfflat, "an index"},
		{"max_scan_tuples", p.MaxScanTuples != d.MaxScanTuples, hnsw && iterative, `index = "hnsw" and iterative_scan`},
		{"max_probes", p.MaxProbes != d.MaxProbes, ivfflat && iterative, `index = "ivfflat" and iterative_scan`},
	} {
		if c.set && !c.fits {
			return param.Errorf(c.attribute, "is of use only with %s", c.wants)
		}
	}
	switch {
	case hnsw && p.EFConstruction < 2*p.M:
		return param.Errorf("ef_construction", "%d is less than 2 m, which is %d", p.EFConstruction, 2*p.M)
	case ivfflat && p.IterativeScan == scanStrict:
		return param.Errorf("iterative_scan", `ivfflat has no %q: say "relaxed_order"`, scanStrict)
	case ivfflat && iterative && p.MaxProbes < p.Probes:
		return param.Errorf("max_probes", "%d is less than probes, which is %d", p.MaxProbes, p.Probes)
	}
	if p.MaintenanceWorkMem != memoryAuto {
		if err := pgindex.CheckMemory(p.MaintenanceWorkMem); err != nil {
			return param.Errorf("maintenance_work_mem", "%s", err)
		}
	}
	return nil
}

// vectors is the leaf of the kind pgvector.
type vectors struct {
	inPostgres
	params  PGVectorParams // workers as they are decided
	decided map[string]string
}

func (*vectors) Uses() Uses { return Uses{Vectors: true} }

// Settings implements [Resident].
func (v *vectors) Settings() map[string]string { return maps.Clone(v.decided) }

// Approximate implements [Approximate].
func (v *vectors) Approximate() (distance string, ok bool) {
	return v.params.Distance, v.params.Index != indexExact
}

// Rounded implements [Rounded].
func (v *vectors) Rounded() (distance string, ok bool) {
	return v.params.Distance, v.params.Type == typeHalf
}

// CheckDepth implements [DepthLimiter].
func (v *vectors) CheckDepth(depth int) error {
	p := v.params
	switch {
	case p.Index != indexHNSW || p.IterativeScan != scanOff:
		return nil
	case p.EFSearch > 0 && p.EFSearch < depth:
		return param.Errorf("ef_search", "%d candidates are fewer than the %d hits that are asked for: "+
			"raise it, or set iterative_scan", p.EFSearch, depth)
	case depth > mostEF:
		return param.Errorf("iterative_scan", "%d hits are asked for, and hnsw searches with at most %d candidates: "+
			"set it, or take a lower depth", depth, mostEF)
	}
	return nil
}

// built are the parameters that a table was built with, in its manifest.
type built struct {
	Index          string `json:"index"`
	Distance       string `json:"distance"`
	Type           string `json:"type"`
	Dimensions     int    `json:"dimensions"`
	Rows           int    `json:"rows"`
	M              int    `json:"m,omitempty"`
	EFConstruction int    `json:"ef_construction,omitempty"`
	Lists          int    `json:"lists,omitempty"`
	Memory         string `json:"maintenance_work_mem,omitempty"`
	Workers        int    `json:"workers"`
}

// resolve decides what the parameters leave open, for so many rows.
func (v *vectors) resolve(rows pgindex.Vectors, kept int) (b built, memory int64) {
	p := v.params
	b = built{Index: p.Index, Distance: p.Distance, Type: p.Type, Dimensions: rows.Dim, Rows: kept, Workers: p.Workers}
	switch p.Index {
	case indexHNSW:
		b.M, b.EFConstruction = p.M, p.EFConstruction
		memory = rows.HNSWMemory(kept, p.M, p.Workers)
	case indexIVFFlat:
		if b.Lists = p.Lists; b.Lists == 0 {
			b.Lists = pgindex.DefaultLists(kept)
		}
		memory = rows.IVFFlatMemory(b.Lists, p.Workers)
	default:
		return b, 0
	}
	b.Memory = p.MaintenanceWorkMem
	if b.Memory != memoryAuto {
		return b, 0
	}
	b.Memory = pgindex.FormatMemory(memory)
	return b, memory
}

// checkDimensions refuses what pgvector can not store or index.
func (p *PGVectorParams) checkDimensions(dim int) error {
	switch {
	case dim > mostDimensions:
		return fmt.Errorf("the vectors have %d dimensions, and pgvector stores at most %d", dim, mostDimensions)
	case p.Index == indexExact:
		return nil
	case dim > mostIndexedHalf:
		return fmt.Errorf(`the vectors have %d dimensions, and pgvector indexes at most %d: set index = "exact"`, dim, mostIndexedHalf)
	case dim > mostIndexed && p.Type != typeHalf:
		return fmt.Errorf(`the vectors have %d dimensions, and pgvector indexes at most %d of type = "vector": `+
			`set type = "halfvec", which goes up to %d, or index = "exact"`, dim, mostIndexed, mostIndexedHalf)
	}
	return nil
}

// rows returns the corpus's vectors and the ordinals of those that are stored.
func (v *vectors) rows(ctx context.Context, corpus Corpus) (pgindex.Vectors, []int, error) {
	flat, dim := corpus.Vectors()
	n := corpus.Len()
	if len(flat) != n*dim || dim == 0 && n > 0 {
		return pgindex.Vectors{}, nil, fmt.Errorf("the vectors are %d numbers of %d dimensions, which are not those of %d chunks", len(flat), dim, n)
	}
	rows, kept := pgindex.Vectors{Rows: flat, Dim: dim, Half: v.params.Type == typeHalf}, make([]int, 0, n)
	if err := v.params.checkDimensions(dim); err != nil {
		return rows, nil, err
	}
	for i := range rows.Len() {
		if i%4096 == 0 && ctx.Err() != nil {
			return rows, nil, context.Cause(ctx)
		}
		directed, err := rows.Direction(rows.Row(i))
		if err != nil {
			return rows, nil, &ChunkError{i, err}
		}
		if directed || v.params.Distance != distanceCosine {
			kept = append(kept, i)
		}
	}
	return rows, kept, nil
}

// unknownDimensions are those of no vectors at all, as of a part without chunks: ivfflat
// takes two or more.
const unknownDimensions = 2

// BuildAs implements [Resident]. The manifest says nothing that differs between two
// graphs of one key, so that the kind is not volatile: which of them was built is
// seen in rankings alone, and those of the first are kept.
func (v *vectors) BuildAs(ctx context.Context, key string, corpus Corpus, _ text.Analyzer, w io.Writer) (Measures, error) {
	m := Measures{}
	rows, kept, err := v.rows(ctx, corpus)
	if err != nil {
		return m, err
	}
	db, err := v.database(ctx)
	if err != nil {
		return m, err
	}
	params, memory := v.resolve(rows, len(kept))
	if err := enough(db, memory); err != nil {
		return m, err
	}
	manifest, err := pgindex.NewManifest(v.kind, key, corpus.Len(), params)
	if err != nil {
		return m, err
	}
	ix := pg.Index{
		Key: key, Kind: v.kind, Params: params, Settings: params.settings(),
		Definition: fmt.Sprintf("(id integer not null, embedding %s(%d) not null)", params.Type, cmp.Or(rows.Dim, unknownDimensions)),
	}
	err = build(ctx, db, ix, &m, func(ctx context.Context, b *pg.Building) error {
		if err := copyVectors(ctx, b, &m, rows, kept); err != nil {
			return err
		}
		if params.Index == indexExact {
			return nil
		}
		return createIndex(ctx, b, &m, params.statement(b))
	})
	if err != nil {
		return m, err
	}
	m.Skipped = corpus.Len() - len(kept)
	return m, manifest.Write(w)
}

// enough refuses a build that takes more memory than the private server's machine
// can spare. What other servers have is not known.
func enough(db *pg.DB, memory int64) error {
	lease := db.Lease()
	if lease == nil || memory <= lease.Memory()/4*3 {
		return nil
	}
	return param.Errorf("maintenance_work_mem", "the index needs %s while it is built, and the machine has %s: "+
		"state what it may take, such as %q; the build is then slow, and another one by its key",
		pgindex.FormatMemory(memory), pgindex.FormatMemory(lease.Memory()), pgindex.FormatMemory(lease.Memory()/2))
}

// settings are what the server builds with.
func (b built) settings() map[string]string {
	s := map[string]string{settingSample: smallSample}
	if b.Index == indexExact {
		return s
	}
	s["maintenance_work_mem"] = b.Memory
	s["max_parallel_maintenance_workers"] = strconv.Itoa(b.Workers)
	if b.Rows >= parallelRows {
		// Postgres looks at the size of the table, where long vectors are not.
		s["min_parallel_table_scan_size"] = "0"
	}
	return s
}

// statement makes the index.
func (b built) statement(t *pg.Building) string {
	options := fmt.Sprintf("m = %d, ef_construction = %d", b.M, b.EFConstruction)
	if b.Index == indexIVFFlat {
		options = fmt.Sprintf("lists = %d", b.Lists)
	}
	return fmt.Sprintf("create index %s_%s on %s using %[2]s (embedding %[4]s_%[5]s_ops) with (%[6]s)",
		t.Name, b.Index, t.Table, b.Type, b.Distance, options)
}

// copyVectors copies the rows that are kept.
func copyVectors(ctx context.Context, b *pg.Building, m *Measures, rows pgindex.Vectors, kept []int) error {
	start, next := time.Now(), 0
	_, err := pgindex.Copy(ctx, b, []string{"id", "embedding"}, func(buf []byte) ([]byte, error) {
		if next == len(kept) {
			return buf, io.EOF
		}
		i := kept[next]
		next++
		buf, field := pgindex.Begin(pgindex.AppendOrdinal(buf, i))
		buf, err := rows.AppendRow(buf, i)
		if err == nil {
			pgindex.End(buf, field)
		}
		return buf, err
	})
	m.Copy = time.Since(start)
	return err
}
