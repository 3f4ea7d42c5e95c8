// Package cachetest holds the suite that every tier of the cache must pass.
package cachetest

import (
	"testing"

	"raglab/cache"
)

// Subject is a tier under test. All fields must be set.
type Subject struct {
	// New makes an empty store that lives as long as t.
	New func(t *testing.T) cache.Store
	// Reopen opens the content of s once more, as another process would.
	Reopen func(t *testing.T, s cache.Store) cache.Store
	// RewriteBlob replaces the bytes of a blob at rest, behind the store's back; nil bytes remove
	// it.
	RewriteBlob func(t *testing.T, s cache.Store, d cache.Digest, change func([]byte) []byte)
	// RewriteRecord does the same to a record.
	RewriteRecord func(t *testing.T, s cache.Store, k cache.Key, change func([]byte) []byte)
}

// Run checks that a tier keeps what [cache.Store] promises: round trips, verified reads, first
// writer wins, recovery from damage, and all of that between several who use it at once.
func Run(t *testing.T, s Subject) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"blob round trip", blobRoundTrip},
		{"blob is named by its bytes however they come", blobInPieces},
		{"writer after its end", writerAfterEnd},
		{"aborted blob leaves nothing", abortedBlob},
		{"cancelled blob leaves nothing", cancelledBlob},
		{"missing blob", missingBlob},
		{"damaged blob is never served", damagedBlob},
		{"damaged blob can be written again", damagedBlobRewritten},
		{"one blob from many writers", sameBlobAtOnce},
		{"record round trip", recordRoundTrip},
		{"missing record", missingRecord},
		{"first record wins", firstRecordWins},
		{"first record wins between many", oneWinner},
		{"record needs its outputs", recordNeedsOutputs},
		{"record that lost an output is replaced", incompleteRecordReplaced},
		{"damaged record is a miss and goes away", damagedRecord},
		{"record under another key is damaged", misplacedRecord},
		{"malformed record is refused", malformedRecord},
		{"deleted record is a miss", deletedRecord},
		{"lookup", lookup},
		{"another handle sees everything", otherHandle},
		{"any loss converges", lossConverges},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, s)
		})
	}
}
