// Package fleet runs the stages of plans on many machines.
//
// A [Queue] holds the graph of what is to be made, by plan key, and hands stages that
// are ready to whoever claims them; when one is finished, those that waited for it
// become ready in the same transaction, so that the work goes on whether or not
// anybody watches. [Executor] hands a plan to a queue and tells its events as the local
// executor tells its own; [Worker] claims stages and makes them with
// [engine.Local.Make]. Artifacts move through a shared store by digest; a queue holds
// keys, digests and words, never data or secrets.
//
// Execution is at least once: a worker that vanished may have been nearly done. That is
// enough, for the first writer of a key wins and results are functions of their keys.
//
// A worker runs at a time what its machine has room for, in the order in which an apply
// would; what it claims ahead it fetches the inputs of, and gives back when that has
// waited for a while and others may be idle. A stage that its program does not have, or
// has in another version, it leaves to others, less and less often.
//
// Package memory holds the queue of one process, package river the one on Postgres.
// Both pass the suite queuetest, and all executors pass executortest. Package fleettest
// runs workers within a test.
package fleet
