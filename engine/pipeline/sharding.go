package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
)

// sharding says how a corpus is cut: into shards, by a hash of the document's id, so
// that a changed document changes one of them; and into parts of consecutive shards,
// each of which has an index of its own. Both follow from the size of the corpus
// alone: neither machine nor executor may change what stages there are.
type sharding struct{ shards, parts int }

const (
	// smallCorpus and largeCorpus are the sizes from which on a corpus has more than
	// fewShards, and more than one part.
	smallCorpus = 32 << 20
	largeCorpus = 512 << 20
	fewShards   = 8
	// shardBytes is what a shard has at most, and in a large corpus more than half of
	// it: one to two minutes of embedding on two cores, by a model as small as
	// multilingual-e5-small.
	shardBytes = 4 << 20
	// mostShards keeps a stage's outputs countable: beyond 128 GB shards grow.
	mostShards = 1 << 15
	// partShards is how many shards share an index: some hundred thousand chunks, which
	// a stage holds in a few hundred MB while it builds.
	partShards = 32
)

// shardsFor decides by the size of the corpus, 0 where it is not known: see [corpusSize].
func shardsFor(bytes int64) sharding {
	if bytes < smallCorpus {
		return sharding{fewShards, 1}
	}
	shards := partShards
	for shards < mostShards && bytes > int64(shards)*shardBytes {
		shards *= 2
	}
	if bytes < largeCorpus {
		return sharding{shards, 1}
	}
	return sharding{shards, shards / partShards}
}

// part is the shards of a part.
func (s sharding) part(i int) shardRange {
	n := s.shards / s.parts
	return shardRange{i * n, n, s.shards}
}

// partOf is the part that a document is in.
func (s sharding) partOf(id string) int { return shardOf(id, s.shards) / (s.shards / s.parts) }

// whole is all shards.
func (s sharding) whole() shardRange { return shardRange{0, s.shards, s.shards} }

// shardRange is n of so many shards, from the first.
type shardRange struct{ first, n, of int }

// slot is the place among the shards of the one that a document is in, and false when
// it is in another.
func (r shardRange) slot(id string) (int, bool) {
	i := shardOf(id, r.of) - r.first
	return i, 0 <= i && i < r.n
}

// shardOf is the shard of a document: the first four bytes of its id's SHA-256,
// modulo the number of shards.
func shardOf(id string, shards int) int {
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint32(sum[:4]) % uint32(shards))
}
