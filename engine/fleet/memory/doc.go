// Package memory is the queue of a fleet within one process: for tests, for the
// simulator, and as the plainest statement of what the queue on Postgres does.
//
// It starts no goroutines. What happens later, such as another attempt, hangs on
// timers of its [Clock], which may be a virtual one. Submitting takes time linear in
// nodes and needs; a claim, and the end of one, takes O(log n) and what it releases.
package memory
