package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNewLosses_counts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		questions := rapid.MapOf(rapid.StringMatching(`q[0-9]+`), rapid.SampledFrom(LossStages)).Draw(t, "questions")
		l := NewLosses(questions)
		sum := 0
		for _, stage := range LossStages {
			n, there := l.Counts[stage]
			if !there {
				t.Fatalf("%s has no count", stage)
			}
			sum += n
		}
		if sum != len(questions) || len(l.Counts) != len(LossStages) {
			t.Fatalf("%d questions, counts %v", len(questions), l.Counts)
		}
	})
}

func TestCountLosses_byTag(t *testing.T) {
	t.Parallel()
	r := &Report{
		Golden: []GoldenQuestion{{ID: "1", Tags: []string{"x", "y"}}, {ID: "2", Tags: []string{"x"}}, {ID: "3", Tags: []string{"z"}}, {ID: "4"}},
		Configurations: []Configuration{
			{Losses: NewLosses(map[string]string{"1": "depth", "2": "cutoff", "4": "depth"})},
			{Losses: NewLosses(nil)},
			{},
		},
	}
	r.countLosses()
	r.countLosses() // counts anew, and adds nothing
	want := map[string]map[string]int{"x": {"depth": 1, "cutoff": 1}, "y": {"depth": 1}}
	if got := r.Configurations[0].Losses.ByTag; !maps.EqualFunc(got, want, maps.Equal) {
		t.Errorf("got %v", got)
	}
	if r.Configurations[1].Losses.ByTag != nil || r.Configurations[2].Losses != nil {
		t.Errorf("got %v and %v", r.Configurations[1].Losses, r.Configurations[2].Losses)
	}
}

func TestLossTables(t *testing.T) {
	t.Parallel()
	r := sample()
	if tables := r.lossTables(r.Ranked()); len(tables) != 0 {
		t.Errorf("%d tables of losses that nobody measured", len(tables))
	}
	r.Golden = []GoldenQuestion{{ID: "q1", Tags: []string{"kind:hard"}}, {ID: "q2"}, {ID: "q3", Tags: []string{"kind:hard"}}}
	for i, lost := range []map[string]string{{"q1": "cutoff", "q2": "leg"}, nil, {"q1": "depth", "q2": "depth", "q3": "leg"}} {
		r.Configurations[i].Losses = NewLosses(lost)
	}
	r.Configurations[3].Losses = r.Configurations[2].Losses // one measurement
	r.countLosses()
	tables := r.lossTables(r.Ranked())
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	var head []string
	for _, c := range tables[0].Columns {
		head = append(head, c.Name)
	}
	if want := []string{"chunker", "text", "lost", "depth", "leg", "cutoff"}; !slices.Equal(head, want) {
		t.Errorf("columns %v, want %v: stages that lost nothing have none", head, want)
	}
	want := [][]string{{"a", "x", "2", "0", "1", "1"}, {"a", "y", "0", "0", "0", "0"}, {"b", "x*", "3", "2", "1", "0"}}
	if !slices.EqualFunc(tables[0].Rows, want, slices.Equal) {
		t.Errorf("rows %v", tables[0].Rows)
	}
	if tables[1].Title != "Where a / x lost questions, by tag" || !slices.Equal(tables[1].Rows[0], []string{"kind:hard", "1", "0", "0", "1"}) {
		t.Errorf("by tag: %s %v", tables[1].Title, tables[1].Rows)
	}
	for _, table := range tables {
		if table.Name != "losses" {
			t.Errorf("a table is called %s", table.Name)
		}
	}
}

func TestLossMemory_keepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	calls := 0
	ask := func(m *LossMemory, keys ...string) {
		for _, k := range keys {
			l, ok := m.Known(k)
			if !ok {
				calls++
				m.Keep(k, NewLosses(map[string]string{"q": "depth"}))
				l, ok = m.Known(k)
			}
			if m != nil && (!ok || l.Questions["q"] != "depth" || l.Counts["depth"] != 1) {
				t.Fatalf("%s: %+v", k, l)
			}
		}
	}
	first := ParseLossMemory([]byte("no JSON"))
	ask(first, "a", "b")
	second := ParseLossMemory(first.Encode())
	ask(second, "b", "c")
	third := ParseLossMemory(second.Encode())
	ask(third, "a", "b", "c")
	if calls != 4 {
		t.Errorf("looked %d times, want 4: a is forgotten where it was not asked for", calls)
	}
	ask(nil, "a")
	if calls != 5 {
		t.Error("nil remembers")
	}
	if (*LossMemory)(nil).Encode() != nil {
		t.Error("nil remembers")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(r)
	if err != nil || string(again) != string(raw) {
		t.Errorf("it is another after it was read: %v\n%s\n%s", err, raw, again)
	}
	for text, want := range map[string]string{
		"[]": ErrNoResults.Error(), "{}": ErrNoResults.Error(), "": ErrNoResults.Error(), `{"version": 1, "experiment": "e"}`: ErrNoResults.Error(),
		`{"version": 9, "experiment": "e", "configurations": []}`:            "the results have form 9, and this raglab reads form 1",
		`{"version": 1, "experiment": "e", "configurations": [{"name": 1}]}`: ErrNoResults.Error(),
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	raw, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"version": 1, "experiment": "e", "configurations": [{"name": "a", "metrics": {"m": null}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := Read(raw); err == nil && (r.Version != Version || r.Experiment == "") {
			t.Errorf("read %+v", r)
		}
	})
}
