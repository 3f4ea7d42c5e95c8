// Package pipeline turns an experiment into a graph of stages: fetch, chunk,
// embed, index, search, fuse, rerank, score and tune. Each kind of stage is one
// file; build.go joins them for every configuration of the cross.
package pipeline
