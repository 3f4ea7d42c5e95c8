// Package sim runs plans on simulated workers: the queue of package memory with its
// policies as they are, on a virtual clock, so that a day of a thousand workers passes
// in seconds.
//
// Workers die, come and leave; the store loses results; some runs take ten times as
// long as they should. A simulation checks what must hold whatever happens, and tells
// how long the work took beside what no scheduler can beat: the longest path, and the
// work divided by the workers.
package sim
