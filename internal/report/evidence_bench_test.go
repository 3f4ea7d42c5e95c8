package report

import (
	"fmt"
	"testing"
)

// BenchmarkComplete is all that a first report computes; a second one remembers it.
func BenchmarkComplete(b *testing.B) {
	for _, size := range []struct{ xs, ys, questions int }{{3, 4, 10_000}, {12, 15, 500}} {
		labels := func(n int, prefix string) (out []string) {
			for i := range n {
				out = append(out, fmt.Sprint(prefix, i))
			}
			return out
		}
		tags := func(q int) []string { return []string{fmt.Sprint("kind:", q%6), fmt.Sprint("source:", q/7)} }
		r := crossed(labels(size.xs, "x"), labels(size.ys, "y"), size.questions, tags, func(x, y, q int) float64 {
			return 0.5 + 0.01*float64(x) + jitter(0.4, q) + jitter(0.3, x, y, q)
		})
		memory := ParseMemory(nil)
		r.Complete(memory)
		kept := memory.Encode()
		name := fmt.Sprintf("%dx%d", size.xs*size.ys, size.questions)
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				r.Complete(nil)
			}
		})
		b.Run(name+"/again", func(b *testing.B) {
			for b.Loop() {
				r.Complete(ParseMemory(kept))
			}
		})
	}
}
