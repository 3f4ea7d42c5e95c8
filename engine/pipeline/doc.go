// Package pipeline turns an experiment into a graph of stages: fetch, chunk,
// embed, index, search, fuse, rerank, score and tune. Each kind of stage is one
// file; build.go joins them for every configuration of the cross.
//
// A corpus is cut by its size alone (sharding.go): into shards, each of which is
// chunked and embedded by itself, and a large one into parts of some shards, each of
// which has an index of its own. A stage of the kind join then puts the parts' chunks
// into the order of the corpus, and a search opens all parts, mapped into memory:
// rankings and scores are the very ones of an index in one piece.
package pipeline
