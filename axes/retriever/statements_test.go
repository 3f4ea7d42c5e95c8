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
