// Package river is the queue of a fleet on Postgres. Queueing, claiming in order and
// trying again are River's; the graph, and who may say what about a stage, are this
// package's, in tables beside River's in raglab's schema.
//
// # Nodes and jobs
//
// A node that is ready has a job of River's, whose arguments are its plan key and whose
// queue is its class. The transaction that finishes a node counts down the nodes that
// wait for it, inserts the jobs of those that are ready, completes its own job and adds
// the notices: work goes on whether or not anybody watches. Where thousands wait for one
// node, the rest of them follows by further transactions, which any process goes on with
// that works or follows. One key has one job that is
// not ended; a node that is not to be begun any more leaves its job for whoever meets
// it. A node that counts in limits gets its job with its places in them.
//
// # Claims
//
// River pushes and [Queue.Claim] pulls: a job is fetched for somebody who waits, its
// Work claims the node under a token and lasts as long as the claim. Every word about a
// claim goes by its token, so that a worker that was given up changes nothing.
//
// # Who is alive
//
// River knows of no dead workers, only of jobs that took long. Here each process that
// claims holds the advisory lock of its id on a session of its own, takes it before it
// registers, and looks at the session each second. Whoever works or follows looks, one
// at a time, for registered workers whose lock nobody holds. After [Options.Patience]
// their claims are ended as deaths, with error rows at River's jobs. A session that
// breaks, as when the server is restarted, is found again within that time and nothing
// is lost; a process that does not find it stops fetching and gives its claims up, and
// returns them once it is back if nobody has missed it. Claims that are not renewed for
// [Options.Silence], and jobs that were fetched by nobody known, are queued again too; a
// process that cannot renew gives up by its own clock. No transaction of a process that
// fell silent keeps its locks for longer than [idleMost]. River's own rescue stands behind
// all that, with a bound of a day: it brings back jobs, and no node that is claimed.
//
// # News
//
// Notices are ordered by transaction, then by number; who follows reads none while one
// before it may still come.
package river
