// Package engine plans and runs graphs of stages whose results are named by
// what they were made from.
//
// A stage has two keys. Its plan key hashes its definition and the plan keys of
// its inputs, and is known before anything has run. Its content key hashes the
// definition and the digests of the inputs, and names the result in the cache.
// A stage that is made again and comes out the same therefore stops the work
// there: what follows is found under the key it had.
//
// The engine knows nothing of retrieval; package pipeline builds its graphs.
package engine
