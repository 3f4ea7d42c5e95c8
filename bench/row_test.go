package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// told is a runner whose samples a test prescribes, and which keeps a log.
func told(log *[]string, name string, samples ...sample) runner {
	return func(context.Context) ([]sample, error) {
		*log = append(*log, name)
		return samples, nil
	}
}

// figure is a comparison of wall times of the step work with a peer.
func figure(peer string) comparison {
	return comparison{figure: "work", unit: seconds, peer: peer, own: step{raglabTool, "work", 0}.wall(), theirs: step{peer, "work", 0}.wall()}
}

func measureTrial(t *testing.T, reps int, ready *trial) rowResult {
	t.Helper()
	b := &bench{o: options{reps: reps}}
	return b.measure(t.Context(), row{name: "test", set: func(context.Context, *bench) (*trial, error) { return ready, nil }})
}

func TestMeasure_sidesTakeTurns(t *testing.T) {
	t.Parallel()
	var log []string
	got := measureTrial(t, 3, &trial{
		own: told(&log, "raglab", sample{Tool: raglabTool, Step: "work", Wall: 2, CPU: 1}),
		peers: []peer{
			{name: "a", run: told(&log, "a", sample{Tool: "a", Step: "work", Wall: 4, CPU: 3})},
			{name: "slow", once: true, run: told(&log, "slow", sample{Tool: "slow", Step: "work", Wall: 8})},
			{name: "absent", missing: "not set up: no Java"},
		},
		comparisons: []comparison{figure("a"), figure("slow"), figure("absent"), figure("")},
	})
	if want := strings.Fields("raglab a raglab slow raglab a raglab a"); !slices.Equal(log, want) {
		t.Errorf("the order was %v, want %v", log, want)
	}
	if got.err != nil || len(got.results) != 4 {
		t.Fatalf("measured %+v", got)
	}
	for i, want := range []struct {
		own, ratios int
		ratio       float64
	}{{3, 3, 2}, {1, 1, 4}, {4, 0, 0}, {4, 0, 0}} {
		r := got.results[i]
		if len(r.raglab) != want.own || len(r.ratio) != want.ratios {
			t.Errorf("%q has %d figures and %d ratios, want %d and %d", r.peer, len(r.raglab), len(r.ratio), want.own, want.ratios)
		}
		if want.ratios > 0 && r.ratio.median() != want.ratio {
			t.Errorf("%q: ratio %v, want %v", r.peer, r.ratio.median(), want.ratio)
		}
	}
	if want := []string{"absent: not set up: no Java"}; !slices.Equal(got.unmeasured, want) {
		t.Errorf("unmeasured: %v, want %v", got.unmeasured, want)
	}
}

func TestMeasure_peerThatFailsIsNoError(t *testing.T) {
	t.Parallel()
	var log []string
	calls := 0
	got := measureTrial(t, 2, &trial{
		own: told(&log, "raglab", sample{Tool: raglabTool, Step: "work", Wall: 2}),
		peers: []peer{{name: "a", run: func(context.Context) ([]sample, error) {
			calls++
			return nil, errors.New("it broke")
		}}},
		comparisons: []comparison{figure("a")},
	})
	if got.err != nil || calls != 1 || len(got.results) != 1 || len(got.results[0].raglab) != 2 {
		t.Errorf("after %d calls: %+v", calls, got)
	}
	if want := []string{"a: it broke"}; !slices.Equal(got.unmeasured, want) {
		t.Errorf("unmeasured: %v, want %v", got.unmeasured, want)
	}
}

func TestMeasure_ownFailureIsTheRowsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got := measureTrial(t, 2, &trial{
		own:         func(context.Context) ([]sample, error) { return nil, broken },
		comparisons: []comparison{figure("")},
	})
	if !errors.Is(got.err, broken) {
		t.Errorf("the row's error is %v", got.err)
	}
}

func TestMeasure_disagreementStays(t *testing.T) {
	t.Parallel()
	var log []string
	same := []bool{false, true}
	c := figure("a")
	c.agree = func(_, _ []sample) (string, bool) {
		ok := same[0]
		same = same[1:]
		return "note", ok
	}
	got := measureTrial(t, 2, &trial{
		own:         told(&log, "raglab", sample{Tool: raglabTool, Step: "work", Wall: 2}),
		peers:       []peer{{name: "a", run: told(&log, "a", sample{Tool: "a", Step: "work", Wall: 4})}},
		comparisons: []comparison{c},
	})
	if r := got.results[0]; !r.disagree || r.note != "note" {
		t.Errorf("a turn with other results was forgotten: %+v", r.figures)
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	names := func(args ...string) string {
		o, err := parseOptions(args)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range chosen(allRows(), o) {
			out = append(out, r.name)
		}
		return strings.Join(out, " ")
	}
	if got := names("-cores", "2"); strings.Contains(got, "million") || !strings.Contains(got, "embed-2") {
		t.Errorf("by default: %s", got)
	}
	if got := names("-million"); !strings.Contains(got, "million") {
		t.Errorf("with -million: %s", got)
	}
	if got := names("-quick"); strings.Contains(got, "quickstart") {
		t.Errorf("with -quick: %s", got)
	}
	if got := names("-only", "^(bm25|million)$"); got != "bm25 million" {
		t.Errorf("by name: %s", got)
	}
	for _, args := range [][]string{{"-only", "("}, {"-reps", "0"}, {"rows"}} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v were taken", args)
		}
	}
}
