package pipeline

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"raglab/engine"
	"raglab/internal/report"
)

// A report has what text handling found of its dictionary, and nothing of text
// handling without one.
func TestIngest_words(t *testing.T) {
	t.Parallel()
	n := func(v int) *int { return &v }
	size := int64(33_000_000)
	tests := []struct {
		measured string
		want     report.Ingest
	}{
		{`{"words": 400, "unknown_words": 0, "text_bytes": 33000000}`, report.Ingest{Words: n(400), UnknownWords: n(0), TextBytes: &size}},
		{`{"normalise_seconds": 1.5}`, report.Ingest{}},
	}
	for _, test := range tests {
		m := &measurement{}
		if err := json.Unmarshal([]byte(test.measured), &m.values); err != nil {
			t.Fatal(err)
		}
		index := &engine.Stage{Kind: indexKindPure}
		c := &collector{measured: map[*engine.Stage]*measurement{index: m}}
		var all report.Ingest
		c.indexCost(&all, index)
		got := report.Ingest{Words: all.Words, UnknownWords: all.UnknownWords, TextBytes: all.TextBytes}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.measured, diff)
		}
	}
}
