package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// largeSteps are what is measured one by one, each a process of its own: what
// -target names, and at the end what is left of the apply and its report.
var largeSteps = []string{"fetch", "chunk", "index", "search", "report"}

// largeRow measures how time and memory grow with the corpus.
func largeRow() row {
	return row{
		name: "large", does: "made passages through chunk, bm25, search and report: 50,000, 500,000 and, with -million, 5,000,000",
		needs: func(o options) bool { return o.million },
		set: func(_ context.Context, b *bench) (*trial, error) {
			sizes := []int{50_000, 500_000}
			switch {
			case b.o.quick:
				sizes = []int{5_000, 50_000}
			case b.o.million:
				sizes = append(sizes, 5_000_000)
			}
			dirs := make([]string, len(sizes))
			for i, n := range sizes {
				var err error
				if dirs[i], err = b.made(fmt.Sprintf("large-%d", n), func(dir string) error { return makePassages(dir, n) }); err != nil {
					return nil, err
				}
			}
			return &trial{
				input: fmt.Sprintf("passages of %d words of %s, %d to a document, %d questions of %d words; each step a process",
					passageWords, grouped(largeWords), passagesPerDoc, questionsOfLarge, wordsOfAQuestion),
				own:         func(ctx context.Context) ([]sample, error) { return b.large(ctx, sizes, dirs) },
				comparisons: largeComparisons(sizes),
			}, nil
		},
	}
}

func largeStep(name string, passages int) step {
	return step{tool: raglabTool, name: fmt.Sprintf("%s %d", name, passages)}
}

// largeComparisons are a step's time and memory at each size, then what the whole
// takes beside a size before: in proportion to the passages or less.
func largeComparisons(sizes []int) []comparison {
	var out []comparison
	for i, n := range sizes {
		for _, name := range append(largeSteps, "all") {
			s, what := largeStep(name, n), fmt.Sprintf("%s passages, %s", grouped(float64(n)), name)
			out = append(out, comparison{figure: what, unit: seconds, own: s.wall()},
				comparison{figure: what + ", peak memory", unit: mebibytes, own: s.peak(), goal: under(2<<30>>20, mebibytes)})
		}
		for _, before := range sizes[:i] {
			out = append(out, comparison{
				figure: fmt.Sprintf("processor time of %s ÷ %s passages", grouped(float64(n)), grouped(float64(before))), unit: times,
				own:  quotient(largeStep("all", n).cpu(), largeStep("all", before).cpu()),
				goal: under(1.15*float64(n/before), times),
			})
		}
	}
	return out
}

// cpu is the processor time of a step.
func (w step) cpu() reading { return w.of(func(s sample) float64 { return s.CPU }) }

// large applies the spec at each size, step by step, each from what the one before
// left, and adds them up.
func (b *bench) large(ctx context.Context, sizes []int, dirs []string) ([]sample, error) {
	var out []sample
	for i, n := range sizes {
		cache, err := b.fresh("large-cache")
		if err != nil {
			return nil, err
		}
		spec := filepath.Join(dirs[i], "large.hcl")
		if err := os.WriteFile(spec, []byte(largeSpec), 0o644); err != nil {
			return nil, err
		}
		all := sample{Tool: raglabTool, Step: largeStep("all", n).name}
		for _, name := range largeSteps {
			argv := []string{b.raglab, "apply", "-quiet", "-cache", cache, "-threads", digits(b.o.cores)}
			if name != "report" {
				argv = append(argv, "-target", name)
			}
			s, err := timed(ctx, "", nil, nil, append(argv, spec)...)
			if err != nil {
				return nil, fmt.Errorf("%s of %d passages: %w", name, n, err)
			}
			s.Step = largeStep(name, n).name
			fmt.Fprintf(os.Stderr, "  %-16s %7.1f s, %7.1f s cpu, %5.0f MiB\n", s.Step, s.Wall, s.CPU, s.PeakMB)
			out = append(out, s)
			all.Wall, all.CPU, all.PeakMB = all.Wall+s.Wall, all.CPU+s.CPU, max(all.PeakMB, s.PeakMB)
		}
		if err := os.RemoveAll(cache); err != nil {
			return nil, err
		}
		out = append(out, all)
	}
	return out, nil
}
