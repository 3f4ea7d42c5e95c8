package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Store is what every tier of the cache promises. All methods are safe for concurrent use by
// goroutines, and a store that several processes open at once is safe between them too.
//
// Everything a store returns has been verified against its digest or checksum; what does not
// verify is set aside (unless the store is read-only), so that it is found missing afterwards and
// made again. No method takes a lock that a reader would have to wait for.
type Store interface {
	// Create begins a blob whose digest becomes known as it is written. The writer must be
	// committed or aborted. Once ctx is done, writes and Commit fail with its cause.
	Create(ctx context.Context) (Writer, error)

	// Open reads a blob. The bytes are hashed as they pass: whoever reads up to io.EOF has read
	// the very bytes the digest names; a damaged blob gives a *CorruptError instead of io.EOF, at
	// the latest, and is set aside. Bytes read before that are not verified yet: act on nothing
	// before io.EOF. ErrNotFound when there is no such blob.
	Open(ctx context.Context, d Digest) (io.ReadCloser, error)

	// ReadAll reads a whole blob, verified before the first byte is returned.
	ReadAll(ctx context.Context, d Digest) ([]byte, error)

	// Stat says whether a blob is there and how long it is, without reading it. ErrNotFound when
	// it is not.
	Stat(ctx context.Context, d Digest) (size int64, err error)

	// Get reads the record of an action and marks it as used. ErrNotFound when there is none. A
	// record that does not decode is set aside; the error is then both ErrNotFound and a
	// *CorruptError. Get does not look at the outputs: [Lookup] does.
	Get(ctx context.Context, k Key) (*Record, error)

	// Put stores a record. The first writer of a key wins: the record returned is the one in the
	// store now, r itself or an earlier one. A record there already stands only while all its
	// outputs are there; otherwise r replaces it. Every output of r must be in the store, else the
	// error is an *OutputMissingError and nothing is stored.
	Put(ctx context.Context, r *Record) (*Record, error)

	// Delete removes the record of an action; its blobs go when garbage is collected. Deleting
	// what is not there is no error.
	Delete(ctx context.Context, k Key) error
}

// Filer is a store that can show a blob as a file of this machine.
type Filer interface {
	Store

	// File is the path of a file that holds blob d, for mapping into memory or handing to a tool.
	// A store that keeps its blobs elsewhere brings it here first, verified; what is read at the
	// path later is not verified again. The file must not be written to. ErrNotFound when there
	// is no such blob.
	File(ctx context.Context, d Digest) (path string, err error)
}

// Writer takes the bytes of one blob. It belongs to one goroutine.
type Writer interface {
	io.Writer

	// Commit makes the blob durable and visible, and returns its digest and size; the name is for
	// the caller to fill in. After a failed or cancelled Write, Commit fails and nothing is kept.
	Commit() (Blob, error)

	// Abort drops the blob. It may be called any number of times; after Commit it does nothing,
	// so it can be deferred.
	Abort() error
}

// Blob is one output of an action: the name the stage gave it, what it is and how long.
type Blob struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
	Size   int64  `json:"size"`
}

// Record says what an action came to: its outputs, and beside them what is no part of the
// result. A record is immutable once stored; callers must not modify one they got from a Store.
type Record struct {
	Key Key
	// Outputs in the order the stage declares them; names are unique and not empty.
	Outputs []Blob
	// Manifest holds the fields the key was hashed from, so that a miss can be explained.
	Manifest json.RawMessage
	// Measurements are what was observed while the action ran; they enter no key.
	Measurements json.RawMessage
	// Provenance is who ran it: host, process, version, start, wall and CPU time.
	Provenance json.RawMessage
}

// Output finds an output by its name.
func (r *Record) Output(name string) (Blob, bool) {
	for _, b := range r.Outputs {
		if b.Name == name {
			return b, true
		}
	}
	return Blob{}, false
}

// MissReason says why [Lookup] found no hit.
type MissReason string

// The closed set of reasons. Hit is the zero value.
const (
	Hit               MissReason = ""
	MissNoRecord      MissReason = "no_record"
	MissRecordCorrupt MissReason = "record_corrupt"
	MissOutputMissing MissReason = "output_missing"
)

// Miss explains a lookup that is no hit. The zero Miss is a hit.
type Miss struct {
	Reason MissReason
	// Output is the first output that is not there or has another size (MissOutputMissing).
	Output Blob
	// Corrupt is what was wrong with the record (MissRecordCorrupt).
	Corrupt *CorruptError
}

// Lookup is the hit check: the record is there and every blob it names is there with the right
// size. On a hit the Miss is zero, and the outputs stay readable for as long as the session of
// the store that answered lives (see the package comment). With MissOutputMissing the record is
// returned too, for its manifest. The error is for what went wrong with the store itself.
func Lookup(ctx context.Context, s Store, k Key) (*Record, Miss, error) {
	r, err := s.Get(ctx, k)
	if err != nil {
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			return nil, Miss{Reason: MissRecordCorrupt, Corrupt: corrupt}, nil
		case errors.Is(err, ErrNotFound):
			return nil, Miss{Reason: MissNoRecord}, nil
		}
		return nil, Miss{Reason: MissNoRecord}, err
	}
	missing, err := firstMissing(ctx, s, r)
	if err != nil {
		return r, Miss{Reason: MissOutputMissing, Output: missing}, err
	}
	if missing.Name != "" {
		return r, Miss{Reason: MissOutputMissing, Output: missing}, nil
	}
	return r, Miss{}, nil
}

// firstMissing is the first output of r that s does not hold in its right size; a Blob without a
// name when all are there.
func firstMissing(ctx context.Context, s Store, r *Record) (Blob, error) {
	for _, b := range r.Outputs {
		size, err := s.Stat(ctx, b.Digest)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return b, err
		}
		if err != nil || size != b.Size {
			return b, nil
		}
	}
	return Blob{}, nil
}

var (
	// ErrNotFound says that a blob, record, run or state is not in the store.
	ErrNotFound = errors.New("not in the cache")
	// ErrReadOnly says that the store was opened to be read only.
	ErrReadOnly = errors.New("cache is opened read-only")
	// ErrUnavailable says that a store cannot be reached just now: what was asked may be there, and
	// asking again later may help. A folder of this machine never is.
	ErrUnavailable = errors.New("store is not available")
	// ErrLocked is what every *LockedError is.
	ErrLocked = errors.New("locked by another process")
	// ErrLeaseLost is the cause with which a lease's context ends when somebody else may hold it.
	ErrLeaseLost = errors.New("lease lost: its lock file was removed or replaced")
	// ErrLeaseReleased is the cause with which a lease's context ends after Release.
	ErrLeaseReleased = errors.New("lease released")
)

// CorruptError says that something in the store is not what its name or checksum says.
type CorruptError struct {
	// What is damaged: "blob", "record", "memo segment", "state", "pin".
	What string `json:"what"`
	// Name is the digest, key or file name it was stored under.
	Name string `json:"name"`
	// Path is where it was found, MovedTo where it was set aside; empty when it was left in
	// place (a read-only store) or had gone already.
	Path    string `json:"path"`
	MovedTo string `json:"moved_to,omitempty"`
	// Detail says what does not fit.
	Detail string `json:"detail"`
}

// Error says what is damaged, how, and where it is now.
func (e *CorruptError) Error() string {
	where := e.Path
	if e.MovedTo != "" {
		where = "moved to " + e.MovedTo
	}
	return fmt.Sprintf("%s %s is damaged: %s (%s)", e.What, e.Name, e.Detail, where)
}

// OutputMissingError says that a record names an output the store does not hold.
type OutputMissingError struct {
	Key    Key
	Output Blob
}

// Error names the output and the action.
func (e *OutputMissingError) Error() string {
	return fmt.Sprintf("record %s: output %q (%s, %d bytes) is not in the cache", e.Key.Short(), e.Output.Name, e.Output.Digest.Short(), e.Output.Size)
}
