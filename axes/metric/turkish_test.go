package metric_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"raglab/axes/metric"
	"raglab/internal/stats"
	"raglab/internal/testdata"
)

// The published tables of turkish-rag-eval: 12 configurations, 13 metrics.
func TestTurkish_publishedMeansComeOutEqual(t *testing.T) {
	t.Parallel()
	var rows []map[string]any
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/results/summary.json"), &rows)
	names := map[string]string{"mrr": "mrr@10"}
	for _, k := range []int{1, 3, 5, 10} {
		for _, kind := range []string{"recall", "precision", "ndcg"} {
			name := fmt.Sprintf("%s@%d", kind, k)
			names[name] = name
		}
	}
	cells, bitEqual := 0, 0
	for _, row := range rows {
		config := fmt.Sprintf("%s_%s", row["chunking"], row["retriever"])
		questions := turkishQuestions(t, config)
		for theirs, ours := range names {
			_, summaries := metric.Evaluate(parseAll(t, ours), questions)
			want, got := row[theirs].(float64), summaries[0]
			if !(math.Abs(got.Mean-want) <= 1e-9) || float64(got.Scored) != row["queries_scored"] {
				t.Errorf("%s: %s: got %+v, published %v over %v", config, ours, got, want, row["queries_scored"])
			}
			cells++
			if got.Mean == want {
				bitEqual++
			}
		}
	}
	if cells != 156 || bitEqual != cells {
		t.Errorf("%d cells, of which %d equal to the last bit; want 156", cells, bitEqual)
	}
}

// turkishQuestions reads which of the ranked chunks were relevant, and how many
// relevant chunks there are in all.
func turkishQuestions(t *testing.T, config string) []metric.Judged {
	t.Helper()
	var questions []struct {
		TotalRelevant int `json:"total_relevant"`
		Relevance     []bool
	}
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/results/perquery_"+config+".json"), &questions)
	out := make([]metric.Judged, len(questions))
	for i, q := range questions {
		for _, relevant := range q.Relevance {
			grade := metric.Unjudged
			if relevant {
				grade = 1
			}
			out[i].Grades = append(out[i].Grades, grade)
		}
		for range q.TotalRelevant {
			out[i].Ideal = append(out[i].Ideal, 1)
		}
	}
	return out
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// The intervals of nDCG@10 of its 12 configurations, by a bootstrap with another
// generator of random numbers.
func TestTurkish_intervals(t *testing.T) {
	t.Parallel()
	var published struct {
		Intervals map[string]struct {
			Mean float64
			CI95 [2]float64
		}
	}
	readJSON(t, testdata.Shared(t, "data/turkish-rag-eval/derived/bootstrap-ndcg10.json"), &published)
	if len(published.Intervals) != 12 {
		t.Fatalf("%d intervals", len(published.Intervals))
	}
	for config, want := range published.Intervals {
		values, summaries := metric.Evaluate(parseAll(t, "ndcg@10"), turkishQuestions(t, config))
		low, high := stats.NewBootstrap(values, 10_000, 1).Mean(0, 0.95)
		if math.Abs(summaries[0].Mean-want.Mean) > 1e-9 {
			t.Errorf("%s: mean %v, published %v", config, summaries[0].Mean, want.Mean)
		}
		if math.Abs(low-want.CI95[0]) > resamplingNoise || math.Abs(high-want.CI95[1]) > resamplingNoise {
			t.Errorf("%s: interval %.4f to %.4f, published %.4f", config, low, high, want.CI95)
		}
	}
}
