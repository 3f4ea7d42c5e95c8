package metric_test

import (
	"bufio"
	"crypto/sha256"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"raglab/axes/metric"
	"raglab/internal/stats"
	"raglab/internal/testdata"
)

const italian = "data/rag-decision-lab/esperimenti/studio-embedding-retrieval/output/"

// resamplingNoise is how far two percentile intervals may lie apart that differ in
// their random numbers alone.
const resamplingNoise = 0.005

// atRanks is a question whose relevant items stand at the given ranks.
func atRanks(ranks []int, total int) metric.Judged {
	var j metric.Judged
	for range total {
		j.Ideal = append(j.Ideal, 1)
	}
	for rank := 1; len(ranks) > 0 && rank <= slices.Max(ranks); rank++ {
		grade := metric.Unjudged
		if slices.Contains(ranks, rank) {
			grade = 1
		}
		j.Grades = append(j.Grades, grade)
	}
	return j
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9 }

// The fusion study of rag-decision-lab: every value of every question, and the
// means, from the ranks of the relevant passages.
func TestItalian_fusionFromGoldRanks(t *testing.T) {
	t.Parallel()
	var study struct {
		PerQuery []struct {
			ID      string                    `json:"query_id"`
			Gold    int                       `json:"n_gold"`
			Schemes map[string]map[string]any `json:"schemes"`
			Alone   map[string]any            `json:"minilm_solo"`
		} `json:"per_query"`
		Summary map[string]map[string]float64 `json:"summary"`
	}
	readJSON(t, testdata.Shared(t, italian+"fusione_rrf.json"), &study)
	questions := map[string][]metric.Judged{}
	values := 0
	for _, q := range study.PerQuery {
		q.Schemes["minilm_solo"] = q.Alone
		for scheme, published := range q.Schemes {
			var ranks []int
			for _, r := range published["gold_ranks"].([]any) {
				ranks = append(ranks, int(r.(float64)))
			}
			j := atRanks(ranks, q.Gold)
			questions[scheme] = append(questions[scheme], j)
			for name, want := range published {
				if name == "gold_ranks" {
					continue
				}
				values++
				if got := parseAll(t, name)[0].Value(j); !near(got, want.(float64)) {
					t.Errorf("%s, %s: %s is %v, published %v", q.ID, scheme, name, got, want)
				}
			}
		}
	}
	for scheme, published := range study.Summary {
		for name, want := range published {
			values++
			if _, got := metric.Evaluate(parseAll(t, name), questions[scheme]); !near(got[0].Mean, want) {
				t.Errorf("%s: mean %s is %v, published %v", scheme, name, got[0].Mean, want)
			}
		}
	}
	if want := (12 + 1) * (3*5 + 4); values != want {
		t.Errorf("%d values were compared, want %d", values, want)
	}
}

// A ranked list with ids, and the values published for it elsewhere.
func TestItalian_rankingExample(t *testing.T) {
	t.Parallel()
	var example struct {
		ID     string   `json:"query_id"`
		Gold   []string `json:"gold_ids"`
		Models map[string]struct {
			Ranking []struct{ ID string }
			Recall  float64 `json:"recall_at_k"`
		}
	}
	readJSON(t, testdata.Shared(t, italian+"query_ranking_example.json"), &example)
	published := publishedQuestion(t, "metriche_12_domande.json", example.ID)
	for model, m := range example.Models {
		var ranks []int
		for i, r := range m.Ranking {
			if slices.Contains(example.Gold, r.ID) {
				ranks = append(ranks, i+1)
			}
		}
		j := atRanks(ranks, len(example.Gold))
		recall, ndcg := parseAll(t, "recall@10")[0].Value(j), parseAll(t, "ndcg@10")[0].Value(j)
		if !near(recall, m.Recall) || !near(recall, published[model+"_recall@10"].(float64)) {
			t.Errorf("%s: recall@10 is %v, published %v", model, recall, m.Recall)
		}
		if want := published[model+"_ndcg@10"].(float64); !near(ndcg, want) {
			t.Errorf("%s: ndcg@10 is %v, published %v", model, ndcg, want)
		}
	}
	if len(example.Models) != 2 {
		t.Errorf("%d models", len(example.Models))
	}
}

// pilot is a table of the study on 12 questions.
type pilot struct {
	PerQuery []map[string]any              `json:"per_query"`
	Means    map[string]map[string]float64 `json:"means"`
}

func publishedQuestion(t *testing.T, file, id string) map[string]any {
	t.Helper()
	var p pilot
	readJSON(t, testdata.Shared(t, italian+file), &p)
	for _, q := range p.PerQuery {
		if q["query_id"] == id {
			return q
		}
	}
	t.Fatalf("%s has no question %s", file, id)
	return nil
}

// The recall of a question is a number of hits over that of its relevant passages,
// and the means are those published.
func TestItalian_pilotTables(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"metriche_12_domande.json", "metriche_corpus_completo.json"} {
		var p pilot
		readJSON(t, testdata.Shared(t, italian+file), &p)
		for model, means := range p.Means {
			var recalls, ndcgs []float64
			var judged []metric.Judged
			for _, q := range p.PerQuery {
				gold, recall := int(q["n_gold"].(float64)), q[model+"_recall@10"].(float64)
				judged = append(judged, atRanks(firstRanks(recall, gold), gold))
				recalls = append(recalls, recall)
				ndcgs = append(ndcgs, q[model+"_ndcg@10"].(float64))
			}
			values, summaries := metric.Evaluate(parseAll(t, "recall@10"), judged)
			for i, want := range recalls {
				if !near(values[0][i], want) {
					t.Errorf("%s, %s, question %d: recall@10 %v, published %v", file, model, i, values[0][i], want)
				}
			}
			if !near(summaries[0].Mean, means["recall"]) || !near(stats.Mean(ndcgs), means["ndcg"]) {
				t.Errorf("%s, %s: means %v and %v, published %v", file, model, summaries[0].Mean, stats.Mean(ndcgs), means)
			}
		}
	}
}

// firstRanks are as many ranks as a recall comes from: it does not matter which.
func firstRanks(recall float64, total int) []int {
	var ranks []int
	for r := range int(math.Round(recall * float64(total))) {
		ranks = append(ranks, r+1)
	}
	return ranks
}

// The recall table over 180 questions and 6 methods: each value from whole hits,
// the means, the pilot's means, and the intervals.
func TestItalian_baselineTable(t *testing.T) {
	t.Parallel()
	var b struct {
		IDs     []string             `json:"query_ids"`
		Recall  map[string][]float64 `json:"per_query_recall@10"`
		Pilot   map[string]float64   `json:"summary_pilot12_recall@10"`
		Summary map[string]map[string]struct {
			Media float64
			IC95  [2]float64
		} `json:"summary_180"`
	}
	readJSON(t, testdata.Shared(t, italian+"baseline_180.json"), &b)
	gold := goldCounts(t)
	inPilot := pilotQuestions(b.IDs)
	if len(b.Recall) != 6 || len(b.IDs) != 180 {
		t.Fatalf("%d methods over %d questions", len(b.Recall), len(b.IDs))
	}
	for method, published := range b.Recall {
		judged := make([]metric.Judged, len(b.IDs))
		for i, id := range b.IDs {
			judged[i] = atRanks(firstRanks(published[i], gold[id]), gold[id])
		}
		values, summaries := metric.Evaluate(parseAll(t, "recall@10"), judged)
		var pilot []float64
		for i, want := range published {
			if !near(values[0][i], want) {
				t.Errorf("%s, %s: recall@10 %v, published %v", method, b.IDs[i], values[0][i], want)
			}
			if inPilot[b.IDs[i]] {
				pilot = append(pilot, values[0][i])
			}
		}
		want := b.Summary[method]["recall@10"]
		if !near(summaries[0].Mean, want.Media) || !near(stats.Mean(pilot), b.Pilot[method]) {
			t.Errorf("%s: means %v and %v, published %v and %v", method, summaries[0].Mean, stats.Mean(pilot), want.Media, b.Pilot[method])
		}
		low, high := stats.NewBootstrap(values[:1], 2_000, 1).Mean(0, 0.95)
		if math.Abs(low-want.IC95[0]) > resamplingNoise || math.Abs(high-want.IC95[1]) > resamplingNoise {
			t.Errorf("%s: interval %.4f to %.4f, published %.4f", method, low, high, want.IC95)
		}
	}
}

// goldCounts are the numbers of relevant passages by question.
func goldCounts(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(testdata.Shared(t, "data/mtrag/fiqa-human/qrels/dev.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, _, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			t.Fatalf("line %q", lines.Text())
		}
		counts[id]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return counts
}

// pilotQuestions are the 12 with the smallest digests.
func pilotQuestions(ids []string) map[string]bool {
	digest := func(id string) string {
		sum := sha256.Sum256([]byte("E001-D1-fiqa-pilot-v1:" + id))
		return string(sum[:])
	}
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(digest(a), digest(b)) })
	out := map[string]bool{}
	for _, id := range sorted[:12] {
		out[id] = true
	}
	return out
}
