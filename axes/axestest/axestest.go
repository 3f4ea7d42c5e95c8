// Package axestest holds the suites that every kind of text handling, retriever
// and reranker must pass. A kind's test fills in what is special about it and
// calls the suite.
package axestest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes"
)

// instance makes an instance of a kind with its default parameters, changed by
// set where that is not nil.
func instance[T any](t *testing.T, kind axes.Kind[T], set func(params any), env axes.Env) T {
	t.Helper()
	params := kind.Params()
	if set != nil {
		set(params)
	}
	made, err := kind.New(params, env)
	if err != nil {
		t.Fatalf("make a %s: %v", kind.Name, err)
	}
	return made
}

// golden compares output with the digest that is on record for the kind's
// version. Whoever changes what a kind gives must raise its version, or results
// in caches would be taken for new ones.
func golden(t *testing.T, meta axes.Meta, output []byte, digests map[string]string) {
	t.Helper()
	sum := sha256.Sum256(output)
	got := hex.EncodeToString(sum[:8])
	want, known := digests[meta.Version]
	switch {
	case !known:
		t.Errorf("no digest on record for version %s of %s; it is %s", meta.Version, meta.Name, got)
	case got != want:
		t.Errorf("version %s of %s gives %s, on record is %s: raise the version", meta.Version, meta.Name, got, want)
	}
}

// ordered reports a ranking that is not in the order of [axes.Hit] or has a
// chunk twice.
func ordered(t rapid.TB, hits []axes.Hit) {
	t.Helper()
	seen := make(map[uint32]bool, len(hits))
	for i, h := range hits {
		if i > 0 && !hits[i-1].Before(h) {
			t.Errorf("hit %d, %v, stands before %v", i-1, hits[i-1], h)
		}
		if seen[h.Ordinal] {
			t.Errorf("chunk %d is there twice", h.Ordinal)
		}
		seen[h.Ordinal] = true
	}
}

// byRank orders hits as a ranking does.
func byRank(a, b axes.Hit) int {
	if a.Before(b) {
		return -1
	}
	return 1
}

// appendHits writes a ranking for a digest: nine digits of each score, because
// logarithms may differ in the last between machines.
func appendHits(out []byte, hits []axes.Hit) []byte {
	for _, h := range hits {
		out = fmt.Appendf(out, "%d %.9g\n", h.Ordinal, h.Score)
	}
	return append(out, '\n')
}
