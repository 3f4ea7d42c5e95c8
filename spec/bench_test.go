package spec

import (
	"fmt"
	"testing"
)

// wide is a spec of 10·10·10·n configurations, in which fusers, free axes,
// exclude blocks and tunes take part.
func wide(n int) string {
	return head + fmt.Sprintf(`
axis "a" { values = range(10) }
axis "b" { values = range(10) }
axis "depth" { values = range(1, 11) }
axis "chunker" {
  option "fixed" { tokens = 32 + axis.a }
  option "other" {
    kind   = "fixed"
    tokens = 64 + axis.b
  }
}
axis "retriever" {
  option "bm25" {}
  option "rrf" {
    legs = ["bm25", "lexical"]
    k    = tune.k
  }
  leg "lexical" { kind = "tsvector" }
}
axis "n" { values = range(%d) }
axis "reranker" {
  use = "none"
  option "cross_encoder" { depth = axis.depth + axis.n }
}
tune "k" { grid = [10, 60] }
exclude { when = axis.a == 3 && axis.reranker == "cross_encoder" }
`, n)
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 10} {
		text := []byte(wide(n))
		b.Run(fmt.Sprintf("%d", 8000*n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, diags := LoadSources("", []Source{{Name: "s", Bytes: text}}, LoadOptions{Catalog: newCatalog(), Env: noEnv})
				if diags.HasErrors() {
					b.Fatal(diags)
				}
				if got := e.Cross().Accounting.Product; got != 8000*n {
					b.Fatal(got)
				}
			}
		})
	}
}
