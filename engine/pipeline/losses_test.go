package pipeline

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"raglab/axes"
	"raglab/cache"
	"raglab/engine"
	"raglab/engine/artifact"
	"raglab/golden"
	"raglab/internal/report"
	"raglab/spec"
)

func TestLostAt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		legs         []standing
		found, final standing
		want         string
	}{
		"one search, deep":                {[]standing{lowRanked}, lowRanked, lowRanked, "cutoff"},
		"one search, nothing":             {[]standing{absent}, absent, absent, "depth"},
		"no leg had it":                   {[]standing{absent, absent}, absent, absent, "depth"},
		"a leg without it pulled it down": {[]standing{topRanked, absent}, lowRanked, lowRanked, "leg"},
		"a leg without it dropped it":     {[]standing{lowRanked, absent}, absent, absent, "leg"},
		"fusing pulled it down":           {[]standing{topRanked, lowRanked}, lowRanked, lowRanked, "fusion"},
		"fusing dropped it":               {[]standing{lowRanked, lowRanked}, absent, absent, "fusion"},
		"fusing did not change it":        {[]standing{lowRanked, absent}, lowRanked, lowRanked, "cutoff"},
		"reranking pushed it down":        {[]standing{topRanked}, topRanked, lowRanked, "reranker"},
		"reranking cut it off":            {[]standing{lowRanked}, lowRanked, absent, "reranker"},
		"the last to make it worse":       {[]standing{topRanked, absent}, lowRanked, absent, "reranker"},
		"fusing, though it was reranked":  {[]standing{topRanked, lowRanked}, lowRanked, lowRanked, "fusion"},
		"fusing brought it up in vain":    {[]standing{lowRanked, lowRanked}, topRanked, lowRanked, "reranker"},
	} {
		if got := lostAt(tc.legs, tc.found, tc.final); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// Whatever the rankings are, there is one stage, and it is one that the row has.
func TestLostAt_blamesOnlyWhatIsThere(t *testing.T) {
	t.Parallel()
	standings := rapid.SampledFrom([]standing{absent, lowRanked, topRanked})
	rapid.Check(t, func(t *rapid.T) {
		legs := rapid.SliceOfN(standings, 1, 4).Draw(t, "legs")
		found := slices.Max(legs)
		if len(legs) > 1 {
			found = standings.Draw(t, "found")
		}
		final := found
		if reranked := rapid.Bool().Draw(t, "reranked"); reranked {
			final = standings.Draw(t, "final")
		}
		stage := lostAt(legs, found, final)
		switch {
		case !slices.Contains(report.LossStages, stage):
			t.Fatalf("stage %q", stage)
		case len(legs) == 1 && (stage == "leg" || stage == "fusion"):
			t.Fatalf("%s, with one search", stage)
		case final == found && stage == "reranker":
			t.Fatalf("the reranker, which made nothing worse")
		case (stage == "depth") != (slices.Max(legs) == absent):
			t.Fatalf("%s with %v", stage, legs)
		}
	})
}

// rowOf is a row whose stages are given by their results: two legs that are fused,
// and reranked.
type rowOf struct {
	relevance                    string
	order                        []string
	judgements                   []golden.Question
	chunks                       []axes.Chunk
	dense, lexical, found, final [][2]any // question, chunk names best first
	// collected is a stage whose result is no longer in the cache, by its place: the
	// legs, then the fused run.
	collected int
}

func runBytes(t *testing.T, rankings [][2]any) []byte {
	t.Helper()
	var all []byte
	for _, q := range rankings {
		all = append(all, ranked(t, q[0].(string), q[1].([]string)...)...)
	}
	return all
}

// losses makes the row's results, scores it, and finds its losses.
func (r rowOf) losses(t *testing.T, memory *report.LossMemory) *report.Losses {
	t.Helper()
	l, g := newLab(t), engine.NewGraph()
	kind := func(output string, b []byte) *engine.Stage {
		k := &engine.Kind{Name: "given", Version: "1", Outputs: []string{output}, Pure: true, Run: func(_ context.Context, t *engine.Task) error {
			return t.Write(output, b)
		}}
		return g.Add(&engine.Stage{
			Address: "given[" + output + cache.DigestOf(b).String() + "]", Kind: k,
			Fields: []engine.Field{{Class: engine.Source, Path: output, Value: cache.DigestOf(b).String()}},
		})
	}
	table := newTable(r.order, shardRange{0, 1, 1})
	for _, c := range r.chunks {
		if err := table.add(c); err != nil {
			t.Fatal(err)
		}
	}
	chunks := kind("chunks", lines(t, r.chunks...))
	index := kind("chunks", table.encode())
	final := kind("run", runBytes(t, r.final))
	score := g.Add(&engine.Stage{
		Address: "score[row]", Kind: scoreKind, Needs: engine.Resources{CPU: 1}, Work: scorer(t, r.relevance, "recall@2"),
		Inputs: []engine.Input{
			{Name: "run", From: final, Output: "run"},
			{Name: "judgements", From: kind("judgements", plainLines(t, r.judgements...)), Output: "judgements"},
			{Name: "chunks-000", From: chunks, Output: "chunks"},
		},
	})
	row := Row{
		Score: score, Run: final, Found: kind("run", runBytes(t, r.found)),
		Legs:    []*engine.Stage{kind("run", runBytes(t, r.dense)), kind("run", runBytes(t, r.lexical))},
		Ingest:  []*engine.Stage{chunks, index},
		Indexes: []*engine.Stage{index},
	}
	p := &Pipeline{
		Experiment: &spec.Experiment{Score: spec.Score{Primary: "recall@2"}}, Fetch: kind("order", plainLines(t, r.order...)), Lost: memory,
	}
	planner := &engine.Planner{Store: l.store, Ledger: engine.Ledger{}, Log: hclog.NewNullLogger()}
	plan, err := planner.Plan(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.executor().Apply(t.Context(), plan)
	if err != nil || out.Err() != nil {
		t.Fatal(err, out.Err())
	}
	c := &collector{ctx: t.Context(), store: l.store, out: out, p: p, scores: map[*engine.Stage]*Scores{}, traced: map[*engine.Stage]*tracing{}}
	raw, err := c.read(score, "scores")
	if err != nil {
		t.Fatal(err)
	}
	if c.scores[score], err = ReadScores(raw); err != nil {
		t.Fatal(err)
	}
	if r.collected > 0 {
		gone := append(slices.Clone(row.Legs), row.Found)[r.collected-1]
		out.Outputs[gone.Index()] = nil
	}
	p.Rows = []Row{row}
	made := &report.Report{Configurations: make([]report.Configuration, 1)}
	if err := c.losses(made); err != nil {
		t.Fatal(err)
	}
	return made.Configurations[0].Losses
}

func judgedAs(id string, relevant ...golden.Relevant) golden.Question {
	return golden.Question{ID: id, Relevant: relevant}
}

func oneChunk(doc string) axes.Chunk { return axes.Chunk{Doc: doc, N: 0, Text: "text of " + doc} }

// sampleRow has one question for each stage, and one that is solved.
func sampleRow() rowOf {
	q := func(id string, chunks ...string) [2]any { return [2]any{id, chunks} }
	r := rowOf{
		relevance: "document",
		order:     []string{"a", "b", "c", "d", "e", "empty"},
		chunks:    []axes.Chunk{oneChunk("a"), oneChunk("b"), oneChunk("c"), oneChunk("d"), oneChunk("e")},
		dense: [][2]any{
			q("solved", "a#0", "b#0"), q("depth", "b#0"), q("leg", "a#0", "b#0"), q("fusion", "a#0", "b#0"), q("reranker", "a#0", "b#0"), q("cut", "b#0", "c#0", "a#0"), q("cutoff", "b#0", "c#0", "a#0"),
		},
		lexical: [][2]any{
			q("solved", "a#0"), q("depth", "c#0"), q("leg", "b#0", "c#0"), q("fusion", "b#0", "c#0", "a#0"), q("reranker", "a#0"), q("cut", "d#0"), q("cutoff", "d#0"),
		},
		found: [][2]any{
			q("solved", "a#0"), q("depth", "b#0", "c#0"), q("leg", "b#0", "c#0", "a#0"), q("fusion", "b#0", "c#0", "a#0"), q("reranker", "a#0", "b#0", "c#0"), q("cut", "b#0", "c#0", "a#0"), q("cutoff", "b#0", "d#0", "a#0"),
		},
		final: [][2]any{
			q("solved", "a#0"), q("depth", "c#0", "b#0"), q("leg", "c#0", "b#0", "a#0"), q("fusion", "c#0", "b#0", "a#0"), q("reranker", "b#0", "c#0", "a#0"), q("cut", "c#0"), q("cutoff", "d#0", "b#0", "a#0"),
		},
	}
	for _, id := range []string{"solved", "depth", "leg", "fusion", "reranker", "cut", "cutoff"} {
		r.judgements = append(r.judgements, judgedAs(id, golden.Relevant{Doc: "a", Grade: 1}, golden.Relevant{Doc: "e", Grade: 0}))
	}
	r.judgements = append(r.judgements,
		judgedAs("corpus", golden.Relevant{Doc: "gone", Grade: 1}, golden.Relevant{Doc: "b", Grade: 0}),
		judgedAs("chunker", golden.Relevant{Doc: "empty", Grade: 2}),
		judgedAs("out", golden.Relevant{Doc: "b", Grade: 0}))
	return r
}

func TestLosses_everyStageByHand(t *testing.T) {
	t.Parallel()
	got := sampleRow().losses(t, nil)
	want := map[string]string{
		"corpus": "corpus", "chunker": "chunker", "depth": "depth", "leg": "leg", "fusion": "fusion", "reranker": "reranker", "cut": "reranker", "cutoff": "cutoff",
	}
	if !maps.Equal(got.Questions, want) {
		t.Errorf("got  %v\nwant %v", got.Questions, want)
	}
	if got.Counts["reranker"] != 2 || got.Counts["corpus"] != 1 || len(got.Counts) != len(report.LossStages) {
		t.Errorf("counts %v", got.Counts)
	}
}

// A span that no chunk holds is the chunker's loss, one in a chunk that no search
// ranks is not.
func TestLosses_bySpan(t *testing.T) {
	t.Parallel()
	r := rowOf{
		relevance: "span", order: []string{"a", "b"},
		chunks: []axes.Chunk{{Doc: "a", N: 0, Text: "one two"}, {Doc: "a", N: 1, Text: "three four"}, {Doc: "b", N: 0, Text: "five"}},
		judgements: []golden.Question{
			judgedAs("cut in two", relevantTo("a", "two three")),
			judgedAs("not ranked", relevantTo("a", "three four")),
			judgedAs("another chunk", relevantTo("a", "one two")),
			judgedAs("no such document", relevantTo("c", "six")),
		},
	}
	r.dense = [][2]any{{"cut in two", []string{"a#0", "a#1"}}, {"not ranked", []string{"b#0"}}, {"another chunk", []string{"b#0", "a#1", "a#0"}}}
	r.lexical, r.found, r.final = r.dense, r.dense, r.dense
	want := map[string]string{"cut in two": "chunker", "not ranked": "depth", "another chunk": "cutoff", "no such document": "corpus"}
	if got := r.losses(t, nil); !maps.Equal(got.Questions, want) {
		t.Errorf("got %v", got.Questions)
	}
}

func TestLosses_byChunk(t *testing.T) {
	t.Parallel()
	r := rowOf{
		relevance: "chunk", order: []string{"a", "b"},
		chunks: []axes.Chunk{{Doc: "a", N: 0, Text: "one"}, {Doc: "a", N: 1, Text: "two"}, {Doc: "b", N: 0, Text: "three"}},
		judgements: []golden.Question{
			judgedAs("no such chunk", golden.Relevant{Doc: "a#7", Grade: 1}),
			judgedAs("no such document", golden.Relevant{Doc: "c#0", Grade: 1}),
			judgedAs("not ranked", golden.Relevant{Doc: "a#1", Grade: 1}),
		},
	}
	r.dense = [][2]any{{"not ranked", []string{"a#0", "b#0"}}}
	r.lexical, r.found, r.final = r.dense, r.dense, r.dense
	want := map[string]string{"no such chunk": "chunker", "no such document": "corpus", "not ranked": "depth"}
	if got := r.losses(t, nil); !maps.Equal(got.Questions, want) {
		t.Errorf("got %v", got.Questions)
	}
}

// What is remembered is what was found; another result is found anew.
func TestLosses_remembered(t *testing.T) {
	t.Parallel()
	first := report.ParseLossMemory(nil)
	found := sampleRow().losses(t, first)
	raw := first.Encode()
	if raw == nil {
		t.Fatal("nothing is remembered")
	}
	second := report.ParseLossMemory(raw)
	if again := sampleRow().losses(t, second); !maps.Equal(again.Questions, found.Questions) || !maps.Equal(again.Counts, found.Counts) {
		t.Errorf("got %v, then %v", found, again)
	}
	if second.Encode() != nil {
		t.Error("the same results were looked at again")
	}
	third, other := report.ParseLossMemory(raw), sampleRow()
	other.lexical[2][1] = []string{"b#0", "c#0", "a#0"} // the second leg has it after all
	if got := other.losses(t, third); got.Questions["leg"] != "fusion" || third.Encode() == nil {
		t.Errorf("with another run of a leg: %v", got.Questions)
	}
}

// A score may outlive the rankings that it was made from: then nothing is told, and
// nothing fails.
func TestLosses_unmeasuredWithoutTheRankings(t *testing.T) {
	t.Parallel()
	for collected := 1; collected <= 3; collected++ {
		r := sampleRow()
		r.collected = collected
		if got := r.losses(t, nil); got != nil {
			t.Errorf("without ranking %d: %+v", collected, got)
		}
	}
}

// A row that solved all lost none, which is measured.
func TestLosses_noneIsMeasured(t *testing.T) {
	t.Parallel()
	r := sampleRow()
	r.judgements = r.judgements[:1]
	if got := r.losses(t, nil); got == nil || len(got.Questions) != 0 || got.Counts["depth"] != 0 || len(got.Counts) != len(report.LossStages) {
		t.Errorf("got %+v", got)
	}
}

func TestLinesWhere(t *testing.T) {
	t.Parallel()
	run := runBytes(t, [][2]any{{"a", []string{"x#0", "y#0"}}, {"a b", []string{"x#0"}}, {"ab", []string{"z#0"}}})
	for _, tc := range []struct{ wanted, want []string }{
		{nil, nil}, {[]string{"a"}, []string{"a"}}, {[]string{"a b", "ab"}, []string{"a b", "ab"}}, {[]string{"a", "ab", "c"}, []string{"a", "ab"}},
	} {
		got, err := artifact.ReadRun(linesWhere(run, func(id string) bool { return slices.Contains(tc.wanted, id) }))
		if err != nil || !slices.Equal(got.Questions, tc.want) {
			t.Errorf("of %q: %q, %v", tc.wanted, got.Questions, err)
		}
	}
	if _, err := artifact.ReadRun(linesWhere([]byte("a Q0 x#0 1 1 c0"), func(string) bool { return true })); err == nil {
		t.Error("a line that is cut short is read")
	}
}
