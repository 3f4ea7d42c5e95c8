// Package shared is the tier of the cache that many machines read and write: a bucket of S3, Google
// Cloud Storage or Azure, or a shared folder. [Store] is that tier alone, [Tiered] the folder of
// this machine with such a store behind it. Objects have the names that a [cache.Local] gives its
// files, and the same bytes:
//
//	VERSION                 the format; a newer one is refused
//	cas/aa/<digest>         blobs
//	ac/aa/<key>             records, written last
//	pins/<name>             keys to keep
//	sessions/<id>           writers at work, renewed every hour
//	uses/<day>/<id>         keys that a writer found, a list for each day
//	gc/condemned, gc/known  what the last collection found
//
// # Writing
//
// An object is made on the condition that there is none of its name, so that the first writer wins
// without a lock. One that is there already is as good once its length has been compared: its name
// is its digest. The bytes are hashed as they go up, and a writer whose bytes turn out to be others
// than it said, or that is told to stop, ends the upload before it is whole: no short object is left.
// Only a store that was opened with [Write] writes; to all others the methods that do are
// [cache.ErrReadOnly].
//
// # Reading
//
// Whatever comes down is hashed too. Bytes that do not fit are asked for a second time, since it may
// have been the way and not the object; an object that is wrong twice is reported, and removed by a
// writer. A reader takes it for missing from then on. A download that is cut goes on where it was.
//
// # Failing
//
// What may pass (a cut connection, a server that is busy or restarting, a disk that is full, a folder
// that is not mounted any more) is tried again, ever less often. What still fails after that is a [cache.ErrUnavailable]. A [Tiered] that is not strict then
// warns once, leaves the store alone for a while, and goes on with what this machine has.
//
// # Collecting
//
// See [Store.GC]: it never trusts a listing alone, and takes two collections a grace period apart to
// remove anything.
//
// # Credentials
//
// They come from each provider's own environment, never from a URL, and show in no error, log or
// object name: see [Redact].
package shared
