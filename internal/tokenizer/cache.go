package tokenizer

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// cacheWays words share one set of the cache.
	cacheWays = 4
	// cacheSets bounds the cache to 65,536 words, some 8 MB when full.
	cacheSets = 1 << 14
	// maxCachedWord is the longest word worth keeping, in bytes: whole sentences,
	// which some pre-tokenizers do not cut, hardly come twice.
	maxCachedWord = 64
)

// wordCache remembers the pieces of words. It is a set-associative table of
// immutable entries behind atomic pointers: reading takes no lock, writers may
// overwrite one another, and what is lost is found again by the model.
type wordCache struct {
	seed maphash.Seed
	sets [cacheSets][cacheWays]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	hash   uint64
	word   string
	pieces []piece
	inline [4]piece // what pieces points to, when that is enough
}

func newWordCache() *wordCache { return &wordCache{seed: maphash.MakeSeed()} }

func (c *wordCache) hash(word []byte) uint64 { return maphash.Bytes(c.seed, word) }

// get returns the pieces of word, which must not be changed.
func (c *wordCache) get(hash uint64, word []byte) ([]piece, bool) {
	set := &c.sets[hash%cacheSets]
	for i := range set {
		if e := set[i].Load(); e != nil && e.hash == hash && e.word == string(word) {
			return e.pieces, true
		}
	}
	return nil, false
}

// put keeps the pieces of word, in an empty place of its set or over another.
func (c *wordCache) put(hash uint64, word []byte, pieces []piece) {
	set := &c.sets[hash%cacheSets]
	e := &cachedWord{hash: hash, word: string(word)}
	e.pieces = append(e.inline[:0], pieces...)
	for i := range set {
		if set[i].Load() == nil {
			set[i].Store(e)
			return
		}
	}
	set[hash>>32%cacheWays].Store(e)
}
