package main

import (
	"context"
	"fmt"
	"strconv"
)

// stagesRow measures what planning and handing out a million stages takes.
func stagesRow() row {
	return row{
		name: "million-stages", does: "a graph of 1,000,000 stages: planned, submitted to the queues in memory and on Postgres, claimed and finished",
		needs: func(o options) bool { return o.million },
		set: func(ctx context.Context, b *bench) (*trial, error) {
			stages, claims := b.size(1_000_000, 10_000), b.size(20_000, 500)
			t := &trial{input: fmt.Sprintf("%s stages: two fifths are shards, the rest configurations over eight indexes that read a shard each fifth", grouped(float64(stages)))}
			p, err := newPlanner(ctx, b)
			if err != nil {
				return nil, err
			}
			spec, _, err := p.spec(stages)
			if err != nil {
				return nil, err
			}
			folder, missing := assetsFolder()
			if missing == "" {
				missing = noPostgres(folder)
			}
			t.own = func(ctx context.Context) ([]sample, error) {
				command, err := timed(ctx, "", nil, nil, b.raglab, "plan", "-cache", p.empty, spec)
				if err != nil {
					return nil, err
				}
				command.Step = stagesCommand
				out, err := b.driver("stages", strconv.Itoa(stages))(ctx)
				out = append(out, command)
				if err != nil || missing != "" {
					return out, err
				}
				dir, err := b.fresh("stages-postgres")
				if err != nil {
					return nil, err
				}
				more, err := b.driver("stages-postgres", dir, folder, strconv.Itoa(stages), strconv.Itoa(claims))(ctx)
				return append(out, more...), err
			}
			t.comparisons = stagesComparisons(claims)
			return t, nil
		},
	}
}

func stagesComparisons(claims int) []comparison {
	at := func(name string) step { return step{tool: raglabTool, name: name} }
	planned := sumOf(at(stagesGraph).wall(), at(stagesNew).wall())
	gib := unit{name: "GiB"}
	gibibytes := func(s sample) float64 { return s.PeakMB / 1024 }
	out := []comparison{
		{figure: "raglab plan of a spec of two free axes", unit: seconds, own: at(stagesCommand).wall()},
		{figure: "the same, processor time", unit: seconds, own: at(stagesCommand).of(func(s sample) float64 { return s.CPU }), goal: under(21, seconds)},
		{figure: "the same, peak memory", unit: gib, own: at(stagesCommand).of(gibibytes), goal: under(3, gib)},
		{figure: "build the graph and plan it, nothing known", unit: seconds, own: planned, goal: under(15, seconds)},
		{figure: "that, peak memory", unit: gib, own: at(stagesNew).of(gibibytes), goal: under(3, gib)},
	}
	for _, name := range []string{stagesCached, stagesLedger, stagesSubmit, stagesDrain} {
		out = append(out, comparison{figure: name, unit: seconds, own: at(name).wall()})
	}
	return append(
		out,
		comparison{figure: "in memory, peak with all the rest", unit: gib, own: at(stagesDrain).of(gibibytes)},
		comparison{figure: stagesSubmitPostgres, unit: seconds, own: at(stagesSubmitPostgres).wall()},
		comparison{figure: "tables on Postgres", unit: megabytes, own: at(stagesSubmitPostgres).index()},
		comparison{figure: stagesFinishPostgres, unit: seconds, own: at(stagesFinishPostgres).wall(), goal: under(2, seconds)},
		comparison{figure: stagesReleasePostgres, unit: seconds, own: at(stagesReleasePostgres).wall()},
		comparison{figure: fmt.Sprintf("claim and finish on Postgres, %s of them", grouped(float64(claims))), unit: perSecond("stages"), own: at(stagesDrainPostgres).rate()},
	)
}

// sumOf is two figures together.
func sumOf(a, b reading) reading {
	return func(samples []sample) (value, bool) {
		x, okX := a(samples)
		y, okY := b(samples)
		return value{x.value + y.value, x.cpu + y.cpu}, okX && okY
	}
}
