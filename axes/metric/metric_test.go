package metric_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"raglab/axes/metric"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"recall@5", "precision@10", "ndcg@10", "ndcg", "mrr", "mrr@10", "map", "map@100", "hit@1",
		"success@5", "ndcg_exp@10", "recall_cap@10", "judged@10", "rprec", "f1@3", "recall@1000000",
	} {
		m, err := metric.Parse(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		k, cut := m.Cutoff()
		if m.Name() != name || cut != strings.Contains(name, "@") || cut && k < 1 {
			t.Errorf("%s: name %s, cut-off %d %v", name, m.Name(), k, cut)
		}
	}
}

func TestParse_errorSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ndgc@10":                   `there is no metric "ndgc@10"; did you mean ndcg@10?`,
		"nDCG@10":                   "did you mean ndcg@10?",
		"ndcg_cut_10":               "did you mean ndcg?",
		"ndcg-exp@5":                "did you mean ndcg_exp@5?",
		"R@100":                     "did you mean recall@100?",
		"P@5":                       "did you mean precision@5?",
		"P_5":                       "did you mean precision@10?",
		"recip_rank":                "did you mean mrr?",
		"hit_rate@3":                "did you mean hit@3?",
		"recal@5":                   "did you mean recall@5?",
		"latency":                   "the metrics are recall@k, precision@k, ndcg[@k], mrr[@k], map[@k],",
		"":                          `there is no metric ""; the metrics are`,
		"recall":                    `metric "recall" lacks a cut-off: write recall@10`,
		"rprec@5":                   `metric "rprec@5" takes no cut-off: write rprec`,
		"ndcg@0":                    `the cut-off "0" is not a whole number from 1 up, as in ndcg@10`,
		"ndcg@":                     `the cut-off "" is not`,
		"ndcg@-3":                   `the cut-off "-3" is not`,
		"ndcg@+3":                   `the cut-off "+3" is not`,
		"ndcg@010":                  `the cut-off "010" is not`,
		"ndcg@1e3":                  `the cut-off "1e3" is not`,
		"ndcg@5@5":                  `the cut-off "5@5" is not`,
		"ndcg@99999999999999999999": `is not a whole number`,
	} {
		if _, err := metric.Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
	if _, err := metric.ParseAll([]string{"map", "mrr", "map"}); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("a metric named twice: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"ndcg@10", "mrr", "_", "a_1", "ndcg_cut_10", "@", "recall@９"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if m, err := metric.Parse(name); err == nil && m.Name() != name {
			t.Errorf("%q became %q", name, m.Name())
		}
	})
}

func TestKinds_areDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range metric.Kinds() {
		if seen[k.Name] || k.Version == "" || k.Summary == "" || k.Formula == "" || k.Source == "" || !strings.HasPrefix(k.Pattern(), k.Name) {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
}

// A value by hand for each metric: grades 0, 3, unjudged, 1 on the four ranks,
// and one more relevant document of grade 2 that was not found.
func TestValue_byHand(t *testing.T) {
	t.Parallel()
	j := metric.Judged{Grades: []int32{0, 3, metric.Unjudged, 1}, Ideal: []int32{3, 2, 1}}
	log2 := math.Log2
	for name, want := range map[string]float64{
		"recall@1": 0, "recall@2": 1.0 / 3, "recall@10": 2.0 / 3,
		"precision@2": 0.5, "precision@10": 0.2,
		"recall_cap@2": 0.5, "recall_cap@10": 2.0 / 3,
		"hit@1": 0, "hit@2": 1, "success@4": 1,
		"mrr": 0.5, "mrr@1": 0, "mrr@2": 0.5,
		"map": (1.0/2 + 2.0/4) / 3, "map@3": 0.5 / 3,
		"rprec": 1.0 / 3, "f1@4": 2 * 0.5 * (2.0 / 3) / (0.5 + 2.0/3),
		"judged@3": 2.0 / 3, "judged@10": 3.0 / 4,
		"ndcg":       (3/log2(3) + 1/log2(5)) / (3 + 2/log2(3) + 1/log2(4)),
		"ndcg@2":     (3 / log2(3)) / (3 + 2/log2(3)),
		"ndcg_exp@2": (7 / log2(3)) / (7 + 3/log2(3)),
	} {
		if got := parseAll(t, name)[0].Value(j); !(math.Abs(got-want) < 1e-15) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func TestNDCGExp_highGradesStayFinite(t *testing.T) {
	t.Parallel()
	j := metric.Judged{Grades: []int32{4999, 5000}, Ideal: []int32{5000, 4999}}
	want := (0.5 + 1/math.Log2(3)) / (1 + 0.5/math.Log2(3))
	if got := parseAll(t, "ndcg_exp@10")[0].Value(j); !(math.Abs(got-want) < 1e-12) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// drawJudged draws a ranking with its judgements.
func drawJudged(t *rapid.T) metric.Judged {
	pool := rapid.SliceOfN(rapid.Int32Range(-2, 5), 1, 40).Draw(t, "judged")
	grades := make([]metric.Grade, len(pool))
	for i, g := range pool {
		grades[i] = metric.Grade{Item: uint32(i), Grade: g}
	}
	items := 60
	ranking := rapid.Permutation(order(items)).Draw(t, "ranking")[:rapid.IntRange(0, items).Draw(t, "depth")]
	j, err := metric.NewJudge(items).Judge(ranking, grades)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func order(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

func TestValue_properties(t *testing.T) {
	t.Parallel()
	names := []string{}
	for _, k := range metric.Kinds() {
		if k.Cut != metric.CutRequired {
			names = append(names, k.Name)
		}
		if k.Cut != metric.CutNone {
			names = append(names, k.Name+"@1", k.Name+"@7", k.Name+"@100")
		}
	}
	metrics := parseAll(t, names...)
	rapid.Check(t, func(t *rapid.T) {
		j := drawJudged(t)
		best := metric.Judged{Grades: j.Ideal, Ideal: j.Ideal}
		for _, m := range metrics {
			v := m.Value(j)
			if len(j.Ideal) == 0 {
				if !math.IsNaN(v) {
					t.Fatalf("%s is %v though nothing is relevant", m.Name(), v)
				}
				continue
			}
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%s is %v", m.Name(), v)
			}
			if top := m.Value(best); m.Kind().Name != "judged" && v > top+1e-12 {
				t.Fatalf("%s is %v, above the best ranking's %v", m.Name(), v, top)
			}
			switch m.Kind().Name {
			case "ndcg", "ndcg_exp", "recall_cap", "hit", "mrr", "rprec":
				if top := m.Value(best); top != 1 {
					t.Fatalf("%s of the best ranking is %v", m.Name(), top)
				}
			}
		}
	})
}

// Putting a higher grade further up never lowers a metric.
func TestValue_betterOrderIsNotWorse(t *testing.T) {
	t.Parallel()
	metrics := parseAll(t, "ndcg@5", "ndcg", "ndcg_exp@5", "map", "map@5", "mrr", "mrr@5", "recall@5", "precision@5", "rprec")
	rapid.Check(t, func(t *rapid.T) {
		j := drawJudged(t)
		if len(j.Grades) < 2 || len(j.Ideal) == 0 {
			return
		}
		i := rapid.IntRange(1, len(j.Grades)-1).Draw(t, "rank")
		swapped := metric.Judged{Grades: append([]int32(nil), j.Grades...), Ideal: j.Ideal}
		swapped.Grades[i-1], swapped.Grades[i] = max(j.Grades[i-1], j.Grades[i]), min(j.Grades[i-1], j.Grades[i])
		for _, m := range metrics {
			if before, after := m.Value(j), m.Value(swapped); after < before-1e-12 {
				t.Fatalf("%s fell from %v to %v when rank %d was put in order", m.Name(), before, after, i)
			}
		}
	})
}

// The digests fail when a metric's values change and its version does not.
func TestKinds_outputBelongsToVersion(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"recall 1":     "3c1ec8ba066a563b",
		"precision 1":  "28722dd719c25c26",
		"ndcg 1":       "cd4f701c30968731",
		"mrr 1":        "df7668028e1a878c",
		"map 1":        "09d437ae9c7c8934",
		"hit 1":        "d87f46758c56208b",
		"success 1":    "d87f46758c56208b",
		"rprec 1":      "fee9c41bca5d1f20",
		"f1 1":         "07447e1c6c3640d8",
		"ndcg_exp 1":   "9c57dde9861db1ac",
		"recall_cap 1": "43e5a19f107f8780",
		"judged 1":     "c19e9a2a71e61889",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	questions := make([]metric.Judged, 50)
	for i := range questions {
		grades := make([]metric.Grade, 1+rng.IntN(30))
		for g := range grades {
			grades[g] = metric.Grade{Item: uint32(g * 2), Grade: int32(rng.IntN(5) - 1)}
		}
		ranking := make([]uint32, 0, 50)
		for _, item := range rng.Perm(50)[:rng.IntN(50)] {
			ranking = append(ranking, uint32(item))
		}
		var err error
		if questions[i], err = metric.NewJudge(50).Judge(ranking, grades); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range metric.Kinds() {
		names := map[metric.Cut][]string{
			metric.CutRequired: {k.Name + "@3", k.Name + "@10"},
			metric.CutOptional: {k.Name, k.Name + "@3", k.Name + "@10"},
			metric.CutNone:     {k.Name},
		}[k.Cut]
		values, _ := metric.Evaluate(parseAll(t, names...), questions)
		h := sha256.New()
		for _, row := range values {
			for _, v := range row {
				if math.IsNaN(v) {
					v = -1
				}
				h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
			}
		}
		got := hex.EncodeToString(h.Sum(nil)[:8])
		if got != want[k.Name+" "+k.Version] {
			t.Errorf("%q: %q,", k.Name+" "+k.Version, got)
		}
	}
}

func TestSummary_countsWhatTheMeanHides(t *testing.T) {
	t.Parallel()
	questions := []metric.Judged{
		{Grades: []int32{1}, Ideal: []int32{1}},
		{Grades: nil, Ideal: []int32{1}},
		{Ideal: []int32{2}, Missing: true},
		{Grades: []int32{0}},
		{Missing: true},
	}
	values, summaries := metric.Evaluate(parseAll(t, "recall@5"), questions)
	if want := (metric.Summary{Mean: 1.0 / 3, Scored: 3, Excluded: 2, Empty: 1, Missing: 1}); summaries[0] != want {
		t.Errorf("got %+v, want %+v", summaries[0], want)
	}
	if !math.IsNaN(values[0][3]) || values[0][1] != 0 {
		t.Errorf("values %v", values[0])
	}
}

func TestSummary_unmeasuredIsNotZero(t *testing.T) {
	t.Parallel()
	_, summaries := metric.Evaluate(parseAll(t, "map"), []metric.Judged{{Grades: []int32{0}}})
	s := summaries[0]
	if s.Measured() || !math.IsNaN(s.Mean) {
		t.Errorf("%+v", s)
	}
	data, err := json.Marshal(s)
	if err != nil || string(data) != `{"mean":null,"scored":0,"excluded":1,"empty":0,"missing":0}` {
		t.Errorf("%s, %v", data, err)
	}
	var back metric.Summary
	if err := json.Unmarshal(data, &back); err != nil || back.Measured() || !math.IsNaN(back.Mean) || back.Excluded != 1 {
		t.Errorf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"mean":0.25,"scored":4}`), &back); err != nil || back.Mean != 0.25 || back.Scored != 4 {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestMetric_concurrentUse(t *testing.T) {
	t.Parallel()
	m := parseAll(t, "ndcg")[0]
	want := parseAll(t, "ndcg")[0]
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for depth := 1; depth < 400; depth += 7 + n {
				j := metric.Judged{Grades: make([]int32, depth), Ideal: []int32{2, 1}}
				j.Grades[depth-1] = 1
				if got := m.Value(j); got != want.Value(j) {
					t.Errorf("depth %d: %v", depth, got)
				}
			}
		})
	}
	group.Wait()
}
