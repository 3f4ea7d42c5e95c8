package engine

import (
	"fmt"
	"testing"
	"time"

	"raglab/cache"
)

// BenchmarkLedger writes and reads ledgers.
func BenchmarkLedger(b *testing.B) {
	for _, n := range benchSizes {
		l := make(Ledger, n)
		for i := range n {
			a := fmt.Sprintf("search[text %d, retriever %d]#%d", i, i%40, i%16)
			l[a] = LedgerEntry{cache.Key(cache.DigestOf([]byte(a))), time.Duration(i) * time.Millisecond}
		}
		raw := l.Encode()
		b.Run(fmt.Sprint("write/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Encode()
			}
		})
		b.Run(fmt.Sprint("read/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseLedger(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
