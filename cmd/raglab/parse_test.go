package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"raglab/engine"
	"raglab/engine/workspace"
)

func TestParseShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "1": 1, "100%": 1, "0": 0, "12.5%": 0.125} {
		if got, err := parseShare(text); err != nil || got != want {
			t.Errorf("parseShare(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "5", "-1%", "101%", "NaN", "much", "5 %"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("parseShare(%q) = %v, want an error", text, got)
		}
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "0.5d": 12 * time.Hour, "90m": 90 * time.Minute, "0s": 0} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("parseAge(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "-1h", "30", "NaNd", "a day"} {
		if got, err := parseAge(text); err == nil {
			t.Errorf("parseAge(%q) = %v, want an error", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"20GB": 20e9, "1.5 MB": 1.5e6, "3kB": 3000, "7B": 7, "1TB": 1e12} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "20", "-1GB", "NaNGB", "20 GiB", "huge"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %v, want an error", text, got)
		}
	}
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_234_567: "1.2 MB", 5e9: "5.0 GB"} {
		if got := sizeText(bytes); got != want {
			t.Errorf("sizeText(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{0: "0.1s", 0.04: "0.1s", 0.26: "300ms", 3.14159: "3.1s", 12.6: "13s", 61: "1m1s", 3601: "1h0m1s"} {
		if got := rounded(seconds); got != want {
			t.Errorf("rounded(%v) = %q, want %q", seconds, got, want)
		}
	}
}

// stagesOf plans stages under addresses, each run for the reason given with it.
func stagesOf(addresses []string, reasons ...engine.Reason) *engine.Plan {
	p := &engine.Plan{}
	for i, a := range addresses {
		p.Stages = append(p.Stages, engine.PlannedStage{
			Stage:   &engine.Stage{Address: a, Kind: &engine.Kind{Name: strings.Split(a, "[")[0]}},
			Outcome: engine.WillRun, Reason: reasons[i%len(reasons)],
			Forecast: &engine.Forecast{New: 1, Total: 10, Unit: "texts"},
		})
	}
	return p
}

func lineTexts(lines []planLine) []string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, fmt.Sprintf("%s ×%d %s %d/%d", l.address, l.stages, l.reason, l.fresh, l.total))
	}
	return texts
}

func TestPlanLines(t *testing.T) {
	t.Parallel()
	isNew := engine.Reason{Kind: engine.ReasonNew}
	missing := engine.Reason{Kind: engine.ReasonOutputMissing, Field: "record 0123456789ab"}
	missing2 := engine.Reason{Kind: engine.ReasonOutputMissing, Field: "record ba9876543210"}
	var many []string
	for i := range manyLines + 1 {
		many = append(many, fmt.Sprintf("score[%d]", i))
	}
	var most []string
	var follows []engine.Reason
	for i := range mostLines + 1 {
		most = append(most, fmt.Sprintf("score[%d]", i))
		follows = append(follows, engine.Reason{Kind: engine.ReasonDerived, Field: fmt.Sprintf("search[%d]", i)})
	}
	for _, c := range []struct {
		name string
		plan *engine.Plan
		all  bool
		want []string
	}{
		{"shards are one line", stagesOf([]string{"embed[a]#000", "embed[a]#001", "embed[b]#000"}, isNew), false, []string{"embed[a] ×2 never run 2/20", "embed[b] ×1 never run 1/10"}},
		{"but not with all", stagesOf([]string{"embed[a]#000", "embed[a]#001"}, isNew), true, []string{"embed[a]#000 ×1 never run 1/10", "embed[a]#001 ×1 never run 1/10"}},
		{"nor for several reasons", stagesOf([]string{"embed[a]#000", "embed[a]#001"}, isNew, missing), false, []string{"embed[a] ×1 never run 1/10", "embed[a] ×1 result missing: record 1/10"}},
		{"keys tell no reasons apart", stagesOf([]string{"embed[a]#000", "embed[a]#001"}, missing, missing2), false, []string{"embed[a] ×2 result missing: record 2/20"}},
		{"many of a kind are one line", stagesOf(many, isNew), false, []string{fmt.Sprintf("score[…] ×%d never run %d/%d", len(many), len(many), 10*len(many))}},
		{"few are not", stagesOf(many[:2], isNew), false, []string{"score[0] ×1 never run 1/10", "score[1] ×1 never run 1/10"}},
		{"many that follow each another are one", stagesOf(most, follows...), false, []string{fmt.Sprintf("score[…] ×%d follows search[…] %d/%d", len(most), len(most), 10*len(most))}},
		{"nothing", &engine.Plan{}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, lineTexts(linesOf(c.plan, c.all))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	stages := []workspace.LogLine{
		{Address: "a", WallMS: 5},
		{Address: "b", WallMS: 9},
		{Address: "c", WallMS: 3, Inputs: []string{"a"}},
		{Address: "d", WallMS: 4, Inputs: []string{"c", "b"}},
		{Address: "e", WallMS: 1, Inputs: []string{"d"}},
	}
	var got []string
	for _, s := range criticalPath(stages) {
		got = append(got, s.Address)
	}
	if diff := cmp.Diff([]string{"b", "d", "e"}, got); diff != "" {
		t.Error(diff)
	}
	if got := criticalPath(nil); got != nil {
		t.Errorf("the path through nothing is %v", got)
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	long := map[string]int{}
	for i := range 30 {
		long[fmt.Sprintf("question %d", i)] = i
	}
	b, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`12`: "12", `{"a":1}`: `{"a":1}`, string(b): "30 values (see -json)"} {
		if got := brief(json.RawMessage(text)); got != want {
			t.Errorf("brief(%s) = %q, want %q", text, got, want)
		}
	}
}

func TestHider(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	h := hider{&b, strings.NewReplacer("hunter2", "(sensitive)").Replace}
	if n, err := h.Write([]byte("password hunter2\n")); n != 17 || err != nil {
		t.Errorf("Write = %d, %v; want 17, nil", n, err)
	}
	if got := b.String(); got != "password (sensitive)\n" {
		t.Errorf("wrote %q", got)
	}
}
