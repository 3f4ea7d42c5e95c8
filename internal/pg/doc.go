// Package pg is raglab's way to Postgres: which server is used, the schema with
// raglab's tables, the building and finding of index tables, settings that hold for
// a search session, and errors that say what went wrong without saying how to log
// in.
//
// # Which server
//
// The first of these: the DSN of the spec's store block, the variable RAGLAB_DSN, a
// private server of raglab's own (package [raglab/internal/pg/private]). [Connect]
// brings the schema up to date and refuses, with the SQL that an administrator must
// run, a server that lacks what is needed.
//
// # Index tables
//
// An index is one table, named by its content key. [DB.Build] makes the table,
// fills it, builds its indexes and writes its manifest in one transaction: whatever
// dies on the way, the server forgets all of it. A manifest is believed only while
// its table has the size that it had then ([DB.Exists]).
//
// # Names
//
// All SQL of this package names tables with their schema, so that it holds through
// a transaction pooler too, where search_path does not. Sessions of [DB.OpenSession]
// cannot be had through one.
package pg
