//go:build unix

package dense

import (
	"bytes"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"
)

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func BenchmarkSearch(b *testing.B) {
	const n, dim, questions, depth = 100_000, 384, 1000, 100
	m, err := New(embeddings(n, dim, 1), dim)
	if err != nil {
		b.Fatal(err)
	}
	qs := split(embeddings(questions, dim, 2), dim)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("batch/threads=%d", threads), func(b *testing.B) {
			start := cpuSeconds(b)
			for b.Loop() {
				if _, err := m.Search(b.Context(), qs, depth, threads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*questions)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(float64(b.N*questions)/(cpuSeconds(b)-start), "queries/cpu-s")
		})
	}
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := m.Search(b.Context(), qs[i%questions:][:1], depth, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	const n, dim = 100_000, 384
	rows := embeddings(n, dim, 1)
	for name, write := range map[string]func(io.Writer, []float32, int) error{"single": Write, "half": WriteHalf} {
		var file bytes.Buffer
		if err := write(&file, rows, dim); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
