package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCostTable(t *testing.T) {
	t.Parallel()
	usd := func(v float64) *float64 { return &v }
	score := 0.5
	row := func(name string, cost *Cost) Configuration {
		return Configuration{Name: name, Options: map[string]string{"embedder": name}, Metrics: map[string]*float64{"ndcg@10": &score}, Cost: cost}
	}
	r := &Report{
		Primary: "ndcg@10", Factors: []Factor{{Name: "embedder", Axis: true, Labels: []string{"a", "b", "c", "d"}}},
		Configurations: []Configuration{
			row("a", nil),
			row("b", &Cost{Ingest: usd(12.345), Questions: usd(0.00012345)}),
			row("c", &Cost{Ingest: usd(0.5), Questions: usd(0), Estimated: true}),
			row("d", &Cost{}),
		},
	}
	var ranked []*Configuration
	for i := range r.Configurations {
		ranked = append(ranked, &r.Configurations[i])
	}
	table := r.costTable(ranked)
	want := [][]string{
		{"a", "0.500", "–", "–"},
		{"b", "0.500", "12.35", "0.000123"},
		{"c", "0.500", "~0.500", "0.00"},
		{"d", "0.500", "unmeasured", "unmeasured"},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" || !strings.HasPrefix(table.Foot, "~ ") {
		t.Errorf("%s\n%s", diff, table.Foot)
	}
	if columns := r.costColumns(); len(columns) != 2 || columns[0].value(&r.Configurations[3]) != "" || columns[0].value(&r.Configurations[1]) != "12.345" {
		t.Errorf("columns %v", columns)
	}
	// Nothing is said of costs where nothing is known to cost something.
	r.Configurations = []Configuration{row("a", nil), row("c", &Cost{Ingest: usd(0)}), row("d", &Cost{})}
	if r.costs() || r.costColumns() != nil {
		t.Error("costs are shown where there are none")
	}
}
