// Package cache is a content-addressed store of what was computed, with a table of who computed it.
//
// A blob is named by the SHA-256 of its bytes. An action, the work of one stage, is named by a key
// that its caller hashes from everything that can change the result; its [Record] says which blobs
// came out. [Lookup] finds a hit when the record is there and every blob it names is there in its
// size. [Store] is what every tier promises; [Local] is the tier in a folder of this machine:
//
//	VERSION                     the format; a newer one is refused
//	cas/aa/<digest>             blobs, read-only
//	ac/aa/<key>                 records, read-only, written last
//	leases/k-<key>, s-…         locks of keys being made, and of processes at work
//	memo/<space>/<n>-<m>.seg    vectors by the hash of their text
//	runs/<experiment>/<id>.jsonl
//	state/<experiment>/<name>   small files, replaced in one step
//	pins/<name>                 keys to keep
//	quarantine/…bad             what was found damaged
//
// # Writing
//
// Every file is drafted under a name that begins with ".tmp-" in the folder it goes to (a blob too
// long to hold in memory, whose folder is not known before its last byte, in the folder above),
// compared in length, synced, closed, and then given its name by link(2), which fails when the name
// is taken: so the first writer wins between any number of processes, without a lock. What may be
// replaced takes its name by rename(2). Then the folder is synced; for blobs at the latest before a
// record names them. A process killed at any instant leaves the old state or the new one, and at
// most a draft, which collection removes.
//
// # Reading
//
// Whatever is read is verified: blobs against their names, all else against checksums. What does
// not verify is moved to the quarantine and reported to Options.OnCorrupt; from then on it is
// missing, and made again. Only the very file that was seen is moved, under the lock of its folder,
// so that nothing that took its place in the meantime goes with it.
//
// # Collecting
//
// [Local.GC] may run beside anything. It never removes a blob that was just written and has no
// record yet, nor anything a Lookup has said yes to in a process that is still at work. That rests
// on four rules:
//
//  1. Every store open for writing holds a session: a locked file that says since when. The lock
//     dies with the process.
//  2. Whoever uses an entry sees to it that its modification time is at most an hour old: Get
//     before it returns a record, Commit for a blob that is there already, Put for every output.
//     A renewed time is written under the shared lock of the folder.
//  3. A collection first looks which sessions and leases are alive, takes the beginning of the
//     oldest (or now, if that is earlier), and goes back an hour and a margin for clocks. Nothing
//     with a time after this floor is removed, nor any blob that a remaining record names.
//  4. It removes an entry under the exclusive lock of the folder, after it has seen again that the
//     time is the one it decided on. Records go first; those that were used meanwhile stay, and
//     their blobs are counted again before any blob goes.
//
// A session seen in (3) began before the floor was taken, so all it used has, by (2), a time after
// the floor. One not seen began later, and so did its uses: an entry it used either had a time
// after the floor already, or gets one under the lock, and (4) sees that; if the removal came
// first, the use finds the entry missing and says so. A blob of a hit is named by a record that
// Get marked before anybody looked at the blob, so it remains for that record's sake. A new record
// that names old blobs marks them, in Put, before it is visible.
//
// Clocks of machines that share a folder may differ by five minutes. The locks are flock(2)'s (or
// LockFileEx's); a network file system must carry them to all machines for this to hold.
package cache
