package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// planRow measures plans of experiments of which nothing is known yet.
func planRow() row {
	return row{
		name: "plan", does: "raglab plan of 1,000, 10,000 and 100,000 stages",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			p, err := newPlanner(ctx, b)
			if err != nil {
				return nil, err
			}
			sizes := []int{1000, 10_000, 100_000}
			if b.o.quick {
				sizes = sizes[:2]
			}
			t := &trial{input: "bm25 over 20 documents, two free axes, empty cache"}
			specs := make([]string, len(sizes))
			goals := map[int]goal{10_000: under(1, seconds), 100_000: under(10, seconds)}
			for i, n := range sizes {
				stages := 0
				if specs[i], stages, err = p.spec(n); err != nil {
					return nil, err
				}
				s := step{tool: raglabTool, name: planStep(n)}
				t.comparisons = append(t.comparisons,
					comparison{figure: grouped(float64(stages)) + " stages", unit: seconds, own: s.wall(), goal: goals[n]},
					comparison{figure: grouped(float64(stages)) + " stages, peak memory", unit: mebibytes, own: s.peak()})
				if i > 0 {
					t.comparisons = append(t.comparisons, comparison{
						figure: "memory for ten times the stages", unit: times, goal: under(11, times),
						own: quotient(s.peak(), step{tool: raglabTool, name: planStep(sizes[i-1])}.peak()),
					})
				}
			}
			t.own = func(ctx context.Context) ([]sample, error) {
				var out []sample
				for i, n := range sizes {
					s, err := timed(ctx, "", nil, nil, b.raglab, "plan", "-cache", p.empty, specs[i])
					if err != nil {
						return nil, err
					}
					s.Step = planStep(n)
					out = append(out, s)
				}
				return out, nil
			}
			return t, nil
		},
	}
}

func planStep(stages int) string { return fmt.Sprintf("plan %d", stages) }

// noopRow measures an apply that finds everything done, beside build tools.
func noopRow() row {
	return row{
		name: "noop", does: "raglab apply -quiet with nothing to do, beside build tools over as many trivial stages",
		set: func(ctx context.Context, b *bench) (*trial, error) {
			p, err := newPlanner(ctx, b)
			if err != nil {
				return nil, err
			}
			sizes := []int{1000, 10_000}
			if b.o.quick {
				sizes = sizes[:1]
			}
			t := &trial{input: "bm25 over 20 documents, two free axes, everything cached"}
			limits := map[int]float64{1000: 0.05, 10_000: 1}
			applies := make([]func(context.Context) (sample, error), len(sizes))
			for i, n := range sizes {
				spec, stages, err := p.spec(n)
				if err != nil {
					return nil, err
				}
				cache, err := b.fresh(fmt.Sprintf("noop-cache-%d", n))
				if err != nil {
					return nil, err
				}
				applies[i] = func(ctx context.Context) (sample, error) {
					s, err := timed(ctx, "", nil, nil, b.raglab, "apply", "-quiet", "-cache", cache, spec)
					s.Step = noopStep(n)
					return s, err
				}
				fmt.Fprintf(os.Stderr, "  first apply of %s stages\n", grouped(float64(stages)))
				if _, err := applies[i](ctx); err != nil {
					return nil, fmt.Errorf("first apply: %w", err)
				}
				s := step{tool: raglabTool, name: noopStep(n)}
				t.comparisons = append(t.comparisons,
					comparison{figure: "nothing to do, " + grouped(float64(stages)) + " stages", unit: seconds, own: s.wall(), goal: under(limits[n], seconds)},
					comparison{figure: "peak memory, " + grouped(float64(stages)) + " stages", unit: mebibytes, own: s.peak()})
			}
			t.own = func(ctx context.Context) ([]sample, error) {
				var out []sample
				for i := range sizes {
					s, err := repeated(b.size(3, 1), func() (sample, error) { return applies[i](ctx) })
					if err != nil {
						return nil, err
					}
					out = append(out, s)
				}
				return out, nil
			}
			t.addBuildTools(b)
			return t, nil
		},
	}
}

func noopStep(stages int) string { return fmt.Sprintf("apply %d", stages) }

// addBuildTools adds the tools that pipeline_peer.py drives, over 1,000 stages.
func (t *trial) addBuildTools(b *bench) {
	jobs := fmt.Sprintf("make -j%d", b.o.cores)
	for _, tool := range []struct {
		name, step string
		once       bool
	}{{"make", jobs, false}, {"ninja", "ninja", false}, {"snakemake", "snakemake --cores*", true}, {"dvc", "dvc repro*", true}} {
		p := b.peers.tool(tool.name, "pipeline_peer.py", "1000", "--reps", b.inner(), "--limit", "1200")
		p.once = tool.once
		switch {
		case tool.name == "make":
			p = without(p, "make")
		case tool.name == "snakemake" && b.o.quick:
			p.missing = "left out: too slow for -quick"
		case tool.name == "dvc" && !b.o.dvc:
			p.missing = "left out: -dvc measures it, in a quarter of an hour"
		}
		t.peers = append(t.peers, p)
		t.comparisons = append(t.comparisons, comparison{
			figure: "nothing to do, 1,000 stages", unit: seconds, peer: tool.name,
			own: step{tool: raglabTool, name: noopStep(1000)}.wall(), theirs: step{tool: tool.name, name: tool.step}.wall(),
		})
	}
}

// planner makes specs of a wanted number of stages.
type planner struct {
	b     *bench
	ctx   context.Context
	empty string // a cache folder that stays empty
	dir   string // holds the corpus and the specs
	base  int    // stages whatever the number of configurations
	per   int    // stages of each configuration
}

func newPlanner(ctx context.Context, b *bench) (*planner, error) {
	dir, err := b.fresh("plans")
	if err != nil {
		return nil, err
	}
	if err := makeQuestions(dir, 20, 5); err != nil {
		return nil, err
	}
	p := &planner{b: b, ctx: ctx, dir: dir, empty: filepath.Join(dir, "no-cache")}
	few, err := p.stages(2, 2)
	if err != nil {
		return nil, err
	}
	more, err := p.stages(4, 4)
	if err != nil {
		return nil, err
	}
	p.per = (more - few) / (16 - 4)
	p.base = few - 4*p.per
	if p.per < 1 {
		return nil, fmt.Errorf("%d stages for 4 configurations and %d for 16: more configurations bring no more stages", few, more)
	}
	return p, nil
}

// spec writes a spec of about so many stages and returns its path and how many
// stages it has.
func (p *planner) spec(stages int) (string, int, error) {
	k1, b := factors((stages - p.base) / p.per)
	path, err := p.write(k1, b)
	return path, p.base + p.per*k1*b, err
}

// factors are two numbers, neither over 1,000, whose product is as near n as can
// be: range() in a spec gives no more values.
func factors(n int) (a, b int) {
	most := 1000
	a, b = most, most
	for x := max(1, int(math.Sqrt(float64(n)))); x <= most; x++ {
		y := min(most, max(1, (n+x/2)/x))
		if apart(x*y, n) < apart(a*b, n) {
			a, b = x, y
		}
	}
	return a, b
}

func apart(a, b int) int { return max(a-b, b-a) }

func (p *planner) write(k1, b int) (string, error) {
	path := filepath.Join(p.dir, fmt.Sprintf("free_%d_%d.hcl", k1, b))
	return path, os.WriteFile(path, []byte(freeAxesSpec(k1, b)), 0o644)
}

// stages asks raglab how many stages a spec has.
func (p *planner) stages(k1, b int) (int, error) {
	path, err := p.write(k1, b)
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	if _, err := timed(p.ctx, "", nil, &out, p.b.raglab, "plan", "-json", "-cache", p.empty, path); err != nil {
		return 0, err
	}
	for line := range bytes.Lines(out.Bytes()) {
		var said struct {
			Type    string `json:"type"`
			Changes struct{ Cached, Run, Maybe, Blocked int }
		}
		if err := json.Unmarshal(line, &said); err != nil {
			return 0, fmt.Errorf("read the plan: %w", err)
		}
		if c := said.Changes; said.Type == "change_summary" {
			return c.Cached + c.Run + c.Maybe + c.Blocked, nil
		}
	}
	return 0, fmt.Errorf("the plan of %s has no summary", path)
}
