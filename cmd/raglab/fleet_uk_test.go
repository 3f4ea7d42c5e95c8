package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"raglab/internal/pg/private"
	"raglab/internal/testdata"
)

var longFleet = flag.Bool("fleet", false, "run the test of several hosts that embeds for minutes")

// TestFleet_ukUNLP applies the Ukrainian experiment on three hosts, and then here with an
// empty cache and no store, on the same Postgres: all results are to be the same bytes, and
// all rows the same. No two graphs of HNSW are the same: those of the hosts are found there
// by their key.
func TestFleet_ukUNLP(t *testing.T) {
	if !*longFleet {
		t.Skip("SKIP-FLEET: it embeds for minutes: make test-fleet")
	}
	t.Parallel()
	data := testdata.Shared(t, "data/uk-unlp/neutral")
	e := newExperiment(t, "uk_unlp", "corpus=../data")
	e.needs("onnxruntime", "multilingual-e5-small-q4", "simplemma-uk")
	if err := os.CopyFS(filepath.Join(e.dir, "data"), os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(e.dir, "README.md"), "<!-- raglab:uk_unlp -->\n<!-- /raglab:uk_unlp -->\n")
	csv := filepath.Join(e.dir, "results", "uk_unlp.csv")

	m := newMachines(t)
	m.add(4)
	for _, h := range m.hosts[1:] {
		h.worker()
	}
	apply := append([]string{"raglab", "apply", "-json"}, e.vars...)
	p := m.hosts[0].start(e.dir, append(apply, "-on", "river", e.spec)...)
	if code := p.wait(); code != exitOK {
		t.Fatalf("apply -on river ended with %d:\n%s\n%s", code, p.out.String(), p.err.String())
	}
	t.Logf("three hosts:\n%s", tallyOf(p))
	fleet, tables := metricsIn(t, csv), m.indexTables()

	status, err := private.Look(m.server)
	if err != nil {
		t.Fatal(err)
	}
	at := status.Endpoint
	env := append(slices.Clone(e.env), fmt.Sprintf("RAGLAB_DSN=host=%s port=%d user=%s dbname=%s", at.Host, at.Port, private.Role, private.Database))
	p = startProgramIn(env, e.dir, append(apply, e.spec)...)
	if code := p.wait(); code != exitOK {
		t.Fatalf("apply ended with %d:\n%s\n%s", code, p.out.String(), p.err.String())
	}
	t.Logf("one machine:\n%s", tallyOf(p))
	if diff := cmp.Diff(tables, m.indexTables()); diff != "" {
		t.Errorf("tables were made again:\n%s", diff)
	}
	if diff := cmp.Diff(metricsIn(t, csv), fleet); diff != "" {
		t.Errorf("the table is not that of one machine:\n%s", diff)
	}
	alone := contents(t, filepath.Join(e.dir, ".test", "cache"))
	same(t, alone, m.store(cable{}))
	t.Logf("%d results of one machine looked for in the store", len(alone))
}

// indexTables are the tables of indexes on the queue's server, with when each was made.
func (m *machines) indexTables() []string {
	m.Helper()
	conn := m.connect()
	defer func() { _ = conn.Close(context.Background()) }() // what it read is read
	rows, err := conn.Query(m.Context(), "select concat_ws(' ', table_name, kind, created_at) from raglab.index_manifests order by table_name")
	if err != nil {
		m.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		m.Fatalf("%d tables, %v", len(tables), err)
	}
	m.Logf("%d tables of indexes", len(tables))
	return tables
}

// tallyOf sums up the events of an apply: for each kind of stage how many were made and
// what they took, and for all of it from the first event to the last.
func tallyOf(p *program) string {
	type kind struct {
		made    int
		seconds float64
	}
	kinds := map[string]kind{}
	how := map[string]int{}
	var first, last time.Time
	for line := range strings.Lines(p.out.String()) {
		var e struct {
			At    time.Time `json:"@timestamp"`
			Type  string    `json:"type"`
			Stage string    `json:"stage"`
			How   string    `json:"how"`
			Wall  float64   `json:"wall_ms"`
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		if first.IsZero() {
			first = e.At
		}
		last = e.At
		if e.Type != "apply_complete" {
			continue
		}
		how[e.How]++
		name, _, _ := strings.Cut(e.Stage, "[")
		k := kinds[name]
		kinds[name] = kind{k.made + 1, k.seconds + e.Wall/1000}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "%-16s %3d stages %8.1f s\n", name, kinds[name].made, kinds[name].seconds)
	}
	fmt.Fprintf(&b, "%v, %.0f s in all", how, last.Sub(first).Seconds())
	return b.String()
}
