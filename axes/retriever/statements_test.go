package retriever

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"raglab/axes"
	"raglab/axes/retriever/pgindex"
	"raglab/internal/pg"
)

// TestStatements_versions: rankings of an approximate index are on record nowhere,
// for no two graphs are alike. What decides them is: the statements that build and
// search, the settings of those who search, and the parameters as they are resolved.
// Whoever changes these must raise the kind's version.
func TestStatements_versions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, version, statements, digest string }{
		{"pgvector", pgVector.Version, vectorStatements(t), "1 dd793ca8ee634b87"},
		{"tsvector", tsVector.Version, textStatements(t), "1 e3c2b1bedda0fa09"},
	} {
		sum := sha256.Sum256([]byte(test.statements))
		if got := test.version + " " + hex.EncodeToString(sum[:8]); got != test.digest {
			t.Errorf("version and digest of %s are %s, on record is %s: raise the version\n%s", test.kind, got, test.digest, test.statements)
		}
	}
}

func vectorStatements(t *testing.T) (all string) {
	env := axes.Env{Threads: 2}
	for _, index := range []string{"hnsw", "ivfflat", "exact"} {
		for _, distance := range []string{"cosine", "ip", "l2"} {
			for _, kind := range []string{"vector", "halfvec"} {
				v := newVectorLeaf(t, env, func(p *PGVectorParams) { p.Index, p.Distance, p.Type = index, distance, kind })
				b, _ := v.resolve(pgindex.Vectors{Dim: 384, Half: kind == "halfvec"}, 50_000)
				all += fmt.Sprintf("%+v\n", b)
				if index != "exact" {
					all += b.statement(&pg.Building{Table: "t", Name: "n"}) + "\n"
				}
				all += fmt.Sprintln(searchStatement("t", b), v.searchSettings(b), v.candidates(30), v.candidates(200))
			}
		}
	}
	return all
}

func textStatements(t *testing.T) (all string) {
	for _, rank := range []string{"ts_rank_cd", "ts_rank"} {
		l := newTextLeaf(t, axes.Env{}, func(p *TSVectorParams) { p.Rank, p.Normalization = rank, 5 })
		all += l.searchStatement("t") + "\n"
	}
	return all
}

// Of several tables the statement is on record too.
func TestStatements_parts(t *testing.T) {
	t.Parallel()
	ask := func(table string) string { return "select id, score from " + table + " limit $2" }
	for want, tab := range map[string]table{
		`select id, score from "s"."a" limit $2`: {parts: []tablePart{{name: `"s"."a"`, rows: 3}}},
		"":                                       {parts: []tablePart{{ordinals: []uint32{}}, {ordinals: []uint32{4}}}},
		`select 0, id, score from (select id, score from "s"."a" limit $2) p0 union all ` +
			`select 2, id, score from (select id, score from "s'"."c" limit $2) p2 union all ` +
			`select part, -1, 0::float8 from (values (0, pg_relation_size('"s"."a"'::regclass)), (2, pg_relation_size('"s''"."c"'::regclass))) sizes (part, bytes) where bytes = 0`: {parts: []tablePart{
			{name: `"s"."a"`, ordinals: []uint32{0}, rows: 1}, {name: `"s"."b"`, ordinals: []uint32{}}, {name: `"s'"."c"`, ordinals: []uint32{1, 2}, rows: 2},
		}},
	} {
		if got := tab.cutEach(ask); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	nearest := newVectorLeaf(t, axes.Env{}, nil).statement(&table{parts: []tablePart{
		{name: "a", ordinals: []uint32{0}, rows: 1}, {name: "b", ordinals: []uint32{1}, rows: 1},
	}}, built{Index: "hnsw", Distance: "cosine"})
	want := "select part, id, 1 - (distance) as score from (select 0 as part, id, embedding <=> $1 as distance from a union all " +
		"select 1 as part, id, embedding <=> $1 as distance from b order by distance limit $2) nearest union all " +
		"select part, -1, 0::float8 from (values (0, pg_relation_size('a'::regclass)), (1, pg_relation_size('b'::regclass))) sizes (part, bytes) where bytes = 0"
	if nearest != want {
		t.Errorf("%s\nwant\n%s", nearest, want)
	}
}
