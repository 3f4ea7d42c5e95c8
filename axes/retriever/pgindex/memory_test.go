package pgindex

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"raglab/internal/pg"
	"raglab/internal/pg/pgtest"
)

// filled makes a table of random vectors and returns its quoted name.
func filled(t *testing.T, db *pg.DB, key string, v Vectors) string {
	t.Helper()
	kind := "vector"
	if v.Half {
		kind = "halfvec"
	}
	ix := pg.Index{Key: key, Kind: "test", Definition: fmt.Sprintf("(id integer not null, embedding %s(%d) not null)", kind, v.Dim)}
	_, _, err := db.Build(t.Context(), ix, func(ctx context.Context, b *pg.Building) error {
		i := -1
		_, err := Copy(ctx, b, []string{"id", "embedding"}, func(buf []byte) ([]byte, error) {
			if i++; i == v.Len() {
				return buf, io.EOF
			}
			buf, field := Begin(AppendOrdinal(buf, i))
			buf, err := v.AppendRow(buf, i)
			End(buf, field)
			return buf, err
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	name, err := db.Table(key)
	if err != nil {
		t.Fatal(err)
	}
	return name.Sanitize()
}

// complaint builds an index with so much memory, and returns what the server says
// when that is too little.
func complaint(t *testing.T, db *pg.DB, table, index string, bytes float64) (said string) {
	t.Helper()
	config := db.Pool().Config().ConnConfig
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if !strings.Contains(n.Message, "skipping") {
			said = n.Message
		}
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{
		fmt.Sprintf("set maintenance_work_mem = '%dkB'", int64(bytes/1024)),
		"set max_parallel_maintenance_workers = 0",
		"drop index if exists " + db.Schema() + ".measured",
		"create index measured on " + table + " using " + index,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			return err.Error()
		}
	}
	return said
}

func random(n, dim int) []float32 {
	r, rows := rand.New(rand.NewPCG(uint64(n), uint64(dim))), make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	return rows
}

// TestMemory_isEnough: with the estimate the server builds in memory, and with a
// good part of it, it does not.
func TestMemory_isEnough(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t)
	tests := []struct {
		n, m, efConstruction int
		v                    Vectors
	}{
		{20_000, 2, 4, Vectors{Dim: 8}},
		{6000, 16, 32, Vectors{Dim: 4}},
		{8000, 5, 10, Vectors{Dim: 200}},
		{8000, 5, 10, Vectors{Dim: 203, Half: true}},
	}
	for i, test := range tests {
		test.v.Rows = random(test.n, test.v.Dim)
		kind := map[bool]string{false: "vector", true: "halfvec"}[test.v.Half]
		table := filled(t, db, strings.Repeat(fmt.Sprint(i), 64), test.v)
		index := fmt.Sprintf("hnsw (embedding %s_l2_ops) with (m = %d, ef_construction = %d)", kind, test.m, test.efConstruction)
		need := test.v.graph(test.n, test.m)
		// Memory is taken by the megabyte.
		if said := complaint(t, db, table, index, 1.1*need+2*mib); said != "" {
			t.Errorf("%+v with %.0f bytes and 2 MB: %s", index, 1.1*need, said)
		}
		if said := complaint(t, db, table, index, 0.8*need); !strings.Contains(said, "no longer fits into maintenance_work_mem") {
			t.Errorf("%+v with %.0f bytes: %q", index, 0.8*need, said)
		}
	}
	v := Vectors{Rows: random(3000, 100), Dim: 100}
	table := filled(t, db, strings.Repeat("f", 64), v)
	const lists = 400
	index := fmt.Sprintf("ivfflat (embedding vector_l2_ops) with (lists = %d)", lists)
	if said := complaint(t, db, table, index, v.means(lists)); said != "" {
		t.Errorf("lists with %.0f bytes: %s", v.means(lists), said)
	}
	// There are fewer rows than a sample wants.
	if said := complaint(t, db, table, index, v.means(lists)/8); !strings.Contains(said, "memory required is") {
		t.Errorf("lists with %.0f bytes: %s", v.means(lists)/8, said)
	}
}

func TestMemory_roundsUp(t *testing.T) {
	t.Parallel()
	v := Vectors{Dim: 384}
	for want, got := range map[string]int64{
		"64MB":  v.HNSWMemory(1000, 16, 1),
		"160MB": v.HNSWMemory(1000, 16, 4),
		"245MB": v.HNSWMemory(100_000, 16, 1),
		"295MB": v.IVFFlatMemory(1000, 1),
	} {
		if FormatMemory(got) != want {
			t.Errorf("%s, want %s", FormatMemory(got), want)
		}
	}
	for s, ok := range map[string]bool{
		"1MB": true, "64 MB": true, "1024kB": true, "2047GB": true, "1TB": true,
		"": false, "auto": false, "1023kB": false, "2048GB": false, "3TB": false, "1.5GB": false, "-1GB": false, "1gb": false, "99999999999999999999GB": false,
	} {
		if err := CheckMemory(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
	for rows, want := range map[int]int{0: 1, 999: 1, 2000: 2, 1_000_000: 1000, 4_000_000: 2000} {
		if got := DefaultLists(rows); got != want {
			t.Errorf("%d lists for %d rows, want %d", got, rows, want)
		}
	}
	for lists, want := range map[int]int{1: 1, 3: 2, 100: 10, 1000: 32} {
		if got := DefaultProbes(lists); got != want {
			t.Errorf("%d probes for %d lists, want %d", got, lists, want)
		}
	}
}
